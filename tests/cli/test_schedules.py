"""A schedule that the server does not know: refused by what looks or changes, begun in the open by what adds. And
`workkit schedules`.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run, begin
from tests.processes import Processes
from tests.servers import Server
from workkit import schedule
from workkit.cli.tree import ENTRIES

REFUSING = (
    "list evening", "list evening --json", "show evening 54111adf", "dead evening", "dead evening --acknowledge",
    "listeners evening",
    "stats evening", 'stats evening --over "1 hour"', "runs evening", "runs evening --json", "result evening x",
    "changes evening", "cancel evening x", "pause evening", "pause evening x", "pause evening --fn app:hi",
    "resume evening", "skip evening x", "run evening x", "reschedule evening x 9am", "mark evening text",
    "snooze evening x 1h",
    "retry evening --all", "discard evening --all", "doctor evening", "doctor shop evening", "doctor evening --json",
    "wire dump evening",
    "batch list evening", "batch show evening x", "batch cancel evening x --yes", "batch resume evening x",
    "wire verify evening", "forward evening --to shop", "web evening", "web shop evening",
)  # fmt: skip
WITHOUT_CHECK = {
    "schedules", "queues",  # names none; only on RabbitMQ, which does not tell
    "listen", "demo", "add", "now", "add-many", "sync", "import",  # begin one, or name none
    "next", "explain", "schema", "completion", "help",
}  # fmt: skip


@pytest.fixture
def on(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    (folder / "app.py").write_text("def hi(*args):\n    print('hi')\n")
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def keys(server: Server, name: str = "") -> set[bytes]:
    return set(server.client().keys(f"{name}*"))


def listed(run: Run, *words: str) -> list[str]:
    return [one["schedule"] for one in json.loads(run("schedules", "--json", *words).out)]


def test_every_command_that_takes_a_schedule_is_among_these() -> None:
    assert {words.split()[0] for words in REFUSING} | WITHOUT_CHECK == set(ENTRIES)


def test_an_unknown_schedule_is_refused_with_those_that_are_there(run: Run, on: Server) -> None:
    begin(on, "app-tasks", "shop")
    before = keys(on)

    for words in REFUSING:
        ran = run(*shlex.split(words))
        assert ran.status == 2, (words, ran)
        assert "error: no schedule evening here; there are app-tasks, shop. " in ran.err, words
        assert words.startswith("doctor") or ran.out == "", words  # doctor shows its settings first
        assert keys(on) == before, words


def test_where_one_is_there_it_is_named_and_a_near_one_is_meant(run: Run, on: Server) -> None:
    begin(on, "evenings")
    assert run("list", "evening").err == (
        "error: no schedule evening here; there is evenings. Did you mean evenings?\n"
    )
    assert run("list", "shop").err == (
        "error: no schedule shop here; there is evenings. A new one begins with its first job, or its listener: "
        "workkit listen shop\n"
    )


def test_where_none_is_there_the_first_step_is_named(run: Run, server: Server) -> None:
    ran = run("list", "evening", "--redis", server.url)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == (
        "error: no schedule evening here; its server has no schedule yet. Add a first job: "
        f"workkit now evening MODULE:FUNCTION --redis {server.url}, or listen: "
        f"workkit listen evening --redis {server.url}\n"
    )


def test_of_many_some_are_named(run: Run, on: Server) -> None:
    begin(on, *(f"s{n:02}" for n in range(14)))
    said = run("list", "evening").err
    assert "there are s00, s01, s02, s03, s04, s05, s06, s07, s08, s09 and 4 more (workkit schedules). " in said


def test_a_schedule_of_the_settings_may_be_to_come(run: Run, on: Server, folder: Path) -> None:
    begin(on, "shop")
    (folder / "pyproject.toml").write_text('[tool.workkit]\nschedules = ["shop", "evening"]\n')
    ran = run("stats", "--json")
    assert (ran.status, [one["schedule"] for one in json.loads(ran.out)]) == (0, ["shop", "evening"])
    assert ran.err.startswith("note: no schedule evening here; there is shop. ")
    assert run("list", "evening").status == 2  # what is typed may be a slip
    assert run("list", "shop").err.startswith("nothing in shop.")


def test_an_addition_says_that_it_begins_a_schedule(run: Run, on: Server, folder: Path) -> None:
    assert re.match(
        r"added [0-9a-f]{8} in a new schedule a  app\.hi\(\)  ", run("add", "a", "2050-01-01", "app:hi").out
    )
    assert re.match(r"added [0-9a-f]{8}  app\.hi\(\)  ", run("add", "a", "2050-01-02", "app:hi").out)
    assert re.match(r"added [0-9a-f]{8} in a new schedule b  app\.hi\(\)  at once", run("now", "b", "app:hi").out)
    for words in (("add", "c", "2050-01-01", "app:hi"), ("now", "d", "app:hi")):
        assert json.loads(run(*words, "--json").out)["new_schedule"] is True
        assert json.loads(run(*words, "--json").out)["new_schedule"] is False
    (folder / "jobs.jsonl").write_text('{"fn": "app:hi", "at": "2050-01-01"}\n')
    assert run("add-many", "e", "jobs.jsonl").out == "added 1 job to a new schedule e\n"
    assert run("add-many", "e", "jobs.jsonl").out == "added 0 jobs to e, 1 already there\n"
    (folder / "plan.toml").write_text('[digest]\nfn = "app:hi"\nevery = "hour"\n')
    assert run("sync", "f", "plan.toml").out.endswith("\nf: 1 added, in a new schedule\n")
    assert run("sync", "f", "plan.toml").out == "= 1 unchanged\nf: 1 unchanged\n"
    assert run("add", "g", "2050-01-01", "app:hi", "--dry-run").out.startswith("would add  app.hi()")
    assert listed(run) == list("abcdef")


def test_pause_takes_a_schedule_to_come_with_new(run: Run, on: Server) -> None:
    begin(on, "shop")
    refused = run("pause", "evening")
    assert refused.err == ("error: no schedule evening here; there is shop. To pause one that is to come: --new.\n")
    assert run("pause", "evening", "--new").out == ("paused a new schedule evening, resume: workkit resume evening\n")
    assert run("pause", "evening", "--new").out == "paused evening, resume: workkit resume evening\n"
    assert run("list", "evening").status == 0
    assert listed(run) == ["evening", "shop"]


FORGOTTEN = (
    ("now jobs:hello bob", "workkit now SCHEDULE jobs:hello bob"),
    ("now app.jobs:hello bob 7", "workkit now SCHEDULE app.jobs:hello bob 7"),
    ('now "#\'app/f" bob', "workkit now SCHEDULE '#'\"'\"'app/f' bob"),
    ("now @orders.created app:hi", "workkit now SCHEDULE @orders.created app:hi"),
    ("now jobs:hello app:hi", "workkit now SCHEDULE jobs:hello app:hi"),
    ('add app:hi "7pm tomorrow" bob', 'workkit add SCHEDULE "7pm tomorrow" app:hi bob'),
    ("add-many jobs:hello jobs.jsonl", "workkit add-many SCHEDULE jobs.jsonl"),
    ("sync app.jobs:PLAN", "workkit sync SCHEDULE app.jobs:PLAN"),
    ("sync app.jobs:PLAN plan.toml", "workkit sync SCHEDULE plan.toml"),
)


def test_a_function_in_the_place_of_a_new_schedule_is_refused_with_the_right_order(run: Run, on: Server) -> None:
    for words, meant in FORGOTTEN:
        ran = run(*shlex.split(words))
        assert (ran.status, ran.out) == (2, ""), ran
        name = shlex.split(words)[1]
        assert ran.err == (
            f'error: schedule "{name}" looks like a function, and no schedule here has that name. SCHEDULE comes '
            f"first: {meant}. To begin a schedule of that name: workkit listen {shlex.quote(name)}\n"
        )
        assert keys(on) == set()


def test_a_schedule_that_is_there_may_be_named_like_a_function(run: Run, on: Server) -> None:
    begin(on, "shop:mails")
    assert run("now", "shop:mails", "app:hi").status == 0
    assert run("add", "shop:mails", "2050-01-01", "app:hi").status == 0
    assert [job["schedule"] for job in json.loads(run("list", "shop:mails", "--json").out)] == ["shop:mails"] * 2


def test_schedules_are_listed_with_what_is_in_them(run: Run, on: Server) -> None:
    assert run("schedules") == (
        0,
        "",
        "no schedule here yet. Add a first job: workkit now app-tasks MODULE:FUNCTION, or listen: "
        "workkit listen app-tasks\n",
    )
    assert run("schedules", "--json") == (0, "[]\n", "")
    client = on.client()
    client.set("other:jobs", 1)
    client.hset("my app:jobs", "a", 1)
    client.hset(":jobs", "a", 1)
    client.zadd("bull:next:1", {"a": 1})
    spread = schedule.create("spread", redis=on.url, shards=3)
    for n in range(20):
        schedule.add(spread, "app:hi", at="2050-01-01", args=[n])
    run("now", "shop", "app:hi")
    run("add", "shop", "2050-01-01", "app:hi")
    begin(on, "a:b")
    assert listed(run) == ["a:b", "shop", "spread"]
    records = json.loads(run("schedules", "--json").out)
    assert [(one["waiting"], one["due"], one["listeners"], one["shards"]) for one in records] == [
        (0, 0, 0, 1), (1, 1, 0, 1), (20, 0, 0, 3),
    ]  # fmt: skip
    head, *rows = run("schedules").out.splitlines()
    assert head.split()[:4] == ["SCHEDULE", "WAITING", "DUE", "LATE"]
    assert [row.split()[:3] for row in rows] == [["a:b", "0", "0"], ["shop", "1", "1"], ["spread", "20", "0"]]


def test_a_schedule_of_shards_is_named_by_its_shards(run: Run, on: Server) -> None:
    s = schedule.create("spread", redis=on.url, shards=2)
    for n in range(9):
        schedule.add(s, "app:hi", at="2050-01-01", args=[n])
    refused = run("list", "spread")
    assert (refused.status, refused.err) == (
        2,
        "error: no schedule spread here; it has 2 shards, each a schedule of the command line. "
        "Name one: {spread.0} or {spread.1}.\n",
    )
    assert run("list", "{spread.0}").status == 0


def test_a_schedule_whose_jobs_have_ended_is_known_by_what_is_left(run: Run, on: Server) -> None:
    s = schedule.create("shop", redis=on.url)
    schedule.add_now(s, "tests.handlers:note")
    assert schedule.drain(s, imports=["tests.handlers"], folder=None).ran == 1
    client, left = on.client(), keys(on, "shop:")
    assert b"shop:jobs" not in left
    assert b"shop:next" not in left
    assert listed(run) == ["shop"]
    client.delete(*(key for key in left if b":past:d:" not in key))  # as with history="counts", days later
    assert [key.rpartition(b":")[0] for key in keys(on)] == [b"shop:past:d"]
    assert listed(run) == ["shop"]
    assert run("list", "shop").err.startswith("nothing in shop.")


def test_a_user_who_may_not_scan_is_told_what_it_takes(run: Run, own_server: Server) -> None:
    begin(own_server, "shop", "secret")
    rights = "~shop:* ~evening:* +@read +@write +@scripting +@connection +time -@dangerous"
    client = own_server.client()
    client.execute_command("ACL", "SETUSER", "some", "on", ">pw", *rights.split(), "-scan")
    url = own_server.url.replace("redis://", "redis://some:pw@")
    assert run("list", "shop", "--redis", url).status == 0
    refused = run("list", "evening", "--redis", url)
    assert refused.status == 2
    assert refused.err.startswith(
        "error: no schedule evening here; this user of the server may not list the others: ACL SETUSER NAME +scan. "
    )
    assert "pw" not in refused.err.replace("+scan", "")
    ran = run("schedules", "--redis", url)
    assert (ran.status, ran.out) == (69, "")
    assert ran.err.endswith("It takes the command SCAN to find them: ACL SETUSER NAME +scan.\n")
    client.execute_command("ACL", "SETUSER", "some", "+scan")
    assert run("list", "evening", "--redis", url).err.startswith(
        "error: no schedule evening here; there are secret, shop. "
    )
    ran = run("schedules", "--redis", url, "--json")
    assert [(one["schedule"], one["waiting"]) for one in json.loads(ran.out)] == [("secret", None), ("shop", 0)]
    assert ran.err.startswith("secret: redis://")
    assert run("now", "shop", "app:hi", "--redis", url).status == 0


def test_namespaces_are_schedules_too(run: Run, on: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = ("--layout", "gocraft")
    begin(on, "native")
    refused = run("list", "evening", *layout)
    assert (refused.status, refused.err) == (
        2,
        "error: no schedule evening here; its server has no schedule yet. Add a first job: "
        "workkit now evening MODULE:FUNCTION --layout gocraft, or listen: workkit listen evening --layout gocraft\n",
    )
    assert run("now", "my_app", "send_email", *layout).out.startswith("added ")
    assert run("pause", "other", "--new", *layout).status == 0
    assert listed(run, *layout) == ["my_app", "other"]
    assert listed(run) == ["native"]
    assert run("list", "evening", *layout).err.startswith("error: no schedule evening here; there are my_app, other. ")
    assert run("list", "my_app", *layout).status == 0


def test_rabbitmq_does_not_tell_its_schedules(run: Run) -> None:
    ran = run("schedules", "--layout", "hutch")
    assert (ran.status, ran.out) == (4, "")
    assert ran.err == (
        "error: listing schedules cannot be done on RabbitMQ, which does not tell the exchanges of schedules from "
        "others. Look at one by its name: workkit queues NAME --layout hutch.\n"
    )


def test_a_listener_makes_its_schedule_known(run: Run, on: Server) -> None:
    s = schedule.create("evening", redis=on.url)
    with schedule.listener(s, imports=["tests.handlers"], folder=None):
        assert listed(run) == ["evening"]
        assert run("list", "evening").status == 0
        (one,) = json.loads(run("schedules", "--json").out)
        assert one["listeners"] == 1


def test_a_check_is_one_round_trip(run: Run, on: Server) -> None:
    """A schedule that is there costs one EXISTS, and no SCAN."""
    begin(on, "shop")
    client = on.client()
    client.config_resetstat()
    assert run("resume", "shop").status == 0
    calls: dict[str, Any] = client.info("commandstats")
    assert calls["cmdstat_exists"]["calls"] == 1
    assert "cmdstat_scan" not in calls
    assert "cmdstat_keys" not in calls


def test_the_doctor_looks_at_a_server_before_its_first_schedule(run: Run, on: Server) -> None:
    ran = run("doctor", "shop")
    assert ran.status in (0, 1)
    assert ran.out.endswith("\n\nshop: all is well\n")
    assert ran.err.startswith("note: no schedule shop here; its server has no schedule yet. Add a first job: ")
    begin(on, "evening")
    assert run("doctor", "shop").status == 2


def test_the_web_face_shows_what_the_settings_name_before_it_is_there(
    processes: Processes, server: Server, name: str
) -> None:
    begin(server, f"{name}-other")
    web = processes.workkit("web", "--redis", server.url, "--bind", "127.0.0.1:0", env={"WORKKIT_SCHEDULES": name})
    web.wait_for(rf"listening  {name} on \S+/, read and write")
    assert any(line.startswith(f"note: no schedule {name} here; ") for line in web.err)
