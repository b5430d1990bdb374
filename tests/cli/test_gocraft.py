"""The commands on a namespace of gocraft/work: what is listed, changed and added there, and what the hints say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.cli.conftest import Ran, Run
from tests.servers import Server
from workkit import schedule
from workkit.jobs.outcome import Again, Dead, Failure
from workkit.verbs.bulk import CHUNK

FAILURE = Failure(type="OSError", message="disk full")
LAYOUT = ("--layout", "gocraft")


@pytest.fixture
def ns(server: Server, name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Namespace]:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    monkeypatch.setenv("WORKKIT_LAYOUT", "native")  # --layout sets it; so it is taken back after the test
    with closing(Namespace(server, name)) as opened:
        yield opened


def records(ran: Ran) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def states(run: Run, ns: Namespace) -> list[str]:
    return [record["state"] for record in records(run("list", ns.name, "--json", *LAYOUT))]


def dead(ns: Namespace, n: int) -> list[str]:
    """Let jobs fail for good; the last one first."""
    pool = ns.pool("export")
    for i in range(n):
        ns.add("export", {"i": i})
    claims = pool.claim(n).claims
    end(pool, claims, Dead(failure=FAILURE))
    for claim in claims:  # not all in one second
        score = 1e9 + claim.kwargs["i"] if claim.kwargs else 0
        ns.raw.zadd(
            ns.keys.dead, {text: score for text in ns.raw.zrange(ns.keys.dead, 0, -1) if claim.id.encode() in text}
        )
    pool.leave()
    return [job.id for job in ns.producer.inspector.jobs(state="dead")]


def test_jobs_are_listed_with_what_they_are_given(run: Run, ns: Namespace) -> None:
    assert run("now", ns.name, "send_email", "--kwarg", "address=a@b.c", *LAYOUT).status == 0
    assert 'send_email(address="a@b.c")' in run("list", ns.name, *LAYOUT).out
    (record,) = records(run("list", ns.name, "--json", *LAYOUT))
    assert (record["fn"], record["kwargs"], record["state"]) == ("send_email", {"address": "a@b.c"}, "due")
    assert json.loads(run("show", ns.name, record["id"][:8], "--json", *LAYOUT).out) == record
    assert records(run("stats", ns.name, "--json", *LAYOUT))[0]["due"] == 1


def test_hints_name_the_layout_where_it_was_typed(run: Run, ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    ns.add("export")
    said = run("pause", ns.name, "--fn", "export", "--reason", "disk full", *LAYOUT)
    assert said.out == (
        f"paused export in {ns.name} (disk full), resume: workkit resume {ns.name} --fn export --layout gocraft\n"
    )
    listed = run("list", ns.name, *LAYOUT).out
    assert f"\nPaused: export (disk full). Resume: workkit resume {ns.name} --fn export --layout gocraft\n" in listed
    assert states(run, ns) == ["paused"]
    monkeypatch.setenv("WORKKIT_LAYOUT", "gocraft")
    assert "--layout" not in run("list", ns.name).out
    assert run("resume", ns.name, "--fn", "export").out == f"resumed export in {ns.name}\n"
    assert states(run, ns) == ["due"]


def test_a_namespace_is_paused(run: Run, ns: Namespace) -> None:
    ns.add("export")
    assert run("pause", ns.name, *LAYOUT).status == 0
    assert states(run, ns) == ["paused"]
    assert run("resume", ns.name, *LAYOUT).status == 0
    assert states(run, ns) == ["due"]


def test_a_job_is_run_now_and_cancelled(run: Run, ns: Namespace) -> None:
    due_ms = ns.producer.now_ms() + 3_600_000
    first, second = (ns.add("export", {"i": i}, due_ms=due_ms) for i in range(2))
    assert run("run", ns.name, first[:8], *LAYOUT).out == f"due now {first[:8]}  export(i=0)\n"
    assert states(run, ns) == ["due", "waiting"]
    assert run("cancel", ns.name, first[:8], second[:8], *LAYOUT).status == 0
    assert states(run, ns) == []


def test_what_a_namespace_cannot_do_is_said_for_each_job(run: Run, ns: Namespace) -> None:
    id, other = ns.add("export", {"i": 0}), ns.add("send_email")
    pool = ns.go_pool("export")
    ns.raw.rpoplpush(ns.keys.queue("export"), ns.keys.in_progress("export", pool))
    refused = run("cancel", ns.name, id[:8], *LAYOUT)
    assert (refused.status, refused.out) == (4, "")
    assert f"error: {id[:8]} export runs in a Go pool, which cannot be told. Wait until it has ended." in refused.err
    both = run("cancel", ns.name, id[:8], other[:8], *LAYOUT)
    assert (both.status, both.out) == (1, f"cancelled {other[:8]}  send_email()\n")
    one = run("pause", ns.name, id[:8], *LAYOUT)
    assert one.status == 4
    assert "is not known to gocraft pools. Pause all jobs of its name (--fn), or cancel this one." in one.err


def test_dead_jobs_are_chosen_retried_and_discarded(run: Run, ns: Namespace) -> None:
    ids = dead(ns, 4)
    listed = run("dead", ns.name, *LAYOUT)
    assert listed.err == f"retry: workkit retry {ns.name} {ids[0][:8]} --layout gocraft\n"
    assert listed.out.count("OSError: disk full") == 4
    dry = run("retry", ns.name, "--where", "export", "--dry-run", *LAYOUT)
    assert (dry.status, dry.out.count("export(")) == (0, 4)
    one = run("retry", ns.name, "--where", "i=2", "--dry-run", *LAYOUT)
    assert one.out.count("export(i=2)") == len(one.out.splitlines()) == 1
    assert run("retry", ns.name, "--all", *LAYOUT).status == 4, "nobody is there to be asked"
    assert run("retry", ns.name, ids[0][:8], *LAYOUT).out == f"retried {ids[0][:8]}  export(i=3)\n"
    assert run("retry", ns.name, ids[1][:8], "--args", '{"i": 9}', *LAYOUT).status == 0
    listed_args = run("retry", ns.name, ids[2][:8], "--args", "[9]", *LAYOUT)
    assert listed_args.status == 2
    assert "a gocraft job takes keyword arguments" in listed_args.err
    assert run("discard", ns.name, ids[2][:8], *LAYOUT).status == 0
    assert run("retry", ns.name, "--all", "--yes", "--rate", "1/minute", *LAYOUT).out == "retried 1, 1/minute\n"
    found = records(run("list", ns.name, "--json", *LAYOUT))
    assert sorted(record["kwargs"]["i"] for record in found) == [0, 3, 9]


def test_a_failed_job_shows_its_error_and_its_attempt(run: Run, ns: Namespace) -> None:
    id, pool = ns.add("export"), ns.pool("export")
    end(pool, pool.claim(1).claims, Again(delay_ms=60_000, attempt=1, failure=FAILURE))
    shown = run("show", ns.name, id[:8], *LAYOUT).out
    assert "state     retrying\n" in shown
    assert "error     OSError: disk full\n" in shown


ROWS = [
    {"fn": "export", "kwargs": {"i": n}}
    | ({"at": "now"} if n % 2 else {"in_": "1 hour"})
    | ({"unique_key": f"key-{n}"} if n % 7 == 0 else {"unique": True} if n % 5 == 0 else {})
    for n in range(2 * CHUNK + 7)
]


def test_a_file_of_rows_is_added_once_though_it_is_interrupted(run: Run, ns: Namespace, folder: Path) -> None:
    def write(*rows: Any) -> None:
        (folder / "jobs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def numbers() -> list[int]:
        s = schedule.create(ns.name, layout="gocraft")
        return sorted(job.kwargs["i"] for job in schedule.jobs(s) if job.kwargs)

    write(*ROWS[:CHUNK], {"fn": "export", "every": "day at 9am"}, *ROWS[CHUNK:])
    refused = run("add-many", ns.name, "jobs.jsonl", *LAYOUT)
    assert (refused.status, refused.out, numbers()) == (4, "", list(range(CHUNK)))
    assert f'error: row {CHUNK + 1} of jobs.jsonl: "export" cannot recur here' in refused.err
    assert f"Rows 1 to {CHUNK} are added." in refused.err
    found = re.search(r"bulk ([0-9a-f]{8}): .*--resume \1 --layout gocraft\n", refused.err)
    assert found
    write(*ROWS)
    added = run("add-many", ns.name, "jobs.jsonl", "--resume", found[1], *LAYOUT)
    assert (added.status, numbers()) == (0, list(range(len(ROWS))))
    again = run("add-many", ns.name, "jobs.jsonl", "--resume", found[1], *LAYOUT)
    assert again.out == f"added 0 jobs to {ns.name}, after {len(ROWS):,} rows before\n"
    assert numbers() == list(range(len(ROWS)))


def test_periodic_jobs_of_go_are_told_apart(run: Run, ns: Namespace) -> None:
    text = '{"name":"export","id":"periodic:export:0 * * * *:%d","t":1,"args":null,"fails":4,"err":"boom"}'
    ns.raw.zadd(ns.keys.dead, {text % at: at for at in (1, 2)})
    ns.raw.zadd(ns.keys.scheduled, {text % at: at for at in (3, 4)})
    shown = re.findall(r"^\S+ +\S+ +([0-9a-f]{8})  export", run("list", ns.name, *LAYOUT).out, re.MULTILINE)
    assert len({*shown}) == 4
    by_id = {record["id"]: record for record in records(run("list", ns.name, "--json", *LAYOUT))}
    for short in shown:
        assert json.loads(run("show", ns.name, short, "--json", *LAYOUT).out)["id"] in by_id
    assert run("cancel", ns.name, *shown[:2], *LAYOUT).status == 0
    assert run("retry", ns.name, shown[2], *LAYOUT).status == 0
    assert run("discard", ns.name, "periodic:export:0 * * * *:1", *LAYOUT).status == 0
    assert states(run, ns) == ["due"]


def test_a_name_of_any_text_is_paused_and_a_python_name_is_refused(run: Run, ns: Namespace) -> None:
    ns.push("my job", {"name": "my job", "id": "a" * 24, "t": 1, "args": None})
    assert run("pause", ns.name, "--fn", "my job", *LAYOUT).status == 0
    assert states(run, ns) == ["paused"]
    assert run("resume", ns.name, "--fn", "my job", *LAYOUT).status == 0
    assert states(run, ns) == ["due"]
    refused = run("pause", ns.name, "--fn", "json:dumps", *LAYOUT)
    assert refused.status == 2
    assert not ns.raw.exists(ns.keys.paused_names)


def test_what_cannot_be_read_is_dead_until_it_is_discarded(run: Run, ns: Namespace) -> None:
    ns.raw.zadd(ns.keys.dead, {"{oops": 1.6e9})
    listed = run("dead", ns.name, *LAYOUT)
    assert re.search(r"2020-09-13 .* the text of this job cannot be read\n", listed.out)
    assert "cannot be run again: its record cannot be read." in run("retry", ns.name, "--all", "--yes", *LAYOUT).err
    assert run("discard", ns.name, "--all", "--yes", *LAYOUT).out == "discarded 1\n"


@pytest.mark.parametrize("fn", ["resize image", "mail:send", "app.mail:send", "images/resize", "a[1], b", "größe"])
def test_a_job_name_of_any_text_is_typed_and_shown_as_it_is(run: Run, ns: Namespace, fn: str) -> None:
    assert f"{fn}()" in run("now", ns.name, fn, *LAYOUT).out
    assert f"  {fn}()" in run("list", ns.name, *LAYOUT).out
    assert f"paused {fn} in" in run("pause", ns.name, "--fn", fn, *LAYOUT).out
    assert states(run, ns) == ["paused"]
    assert run("resume", ns.name, "--fn", fn, *LAYOUT).out == f"resumed {fn} in {ns.name}\n"
    assert run("add", ns.name, "in 1 hour", fn, *LAYOUT).status == 0


@pytest.mark.parametrize("words", [["runs"], ["result", "export"], ["changes"], ["mark", "x"], ["queues"]])
def test_a_command_that_needs_what_a_namespace_does_not_keep_is_refused(
    run: Run, ns: Namespace, words: list[str]
) -> None:
    ns.add("export")
    if words[0] == "result":
        words = ["result", next(iter(ns.producer.inspector.jobs())).id]
    refused = run(words[0], ns.name, *words[1:], *LAYOUT)
    assert (refused.status, refused.out) == (4, "")


def test_a_dead_job_that_never_started_has_no_attempts(run: Run, ns: Namespace) -> None:
    text = '{"name":"export","id":"%s","t":1,"args":null,"err":"unknown job when requeueing","failed_at":9%s}'
    ns.raw.zadd(ns.keys.dead, {text % ("a" * 24, ""): 2, text % ("b" * 24, ',"fails":4'): 1})
    assert [row.split()[4] for row in run("dead", ns.name, *LAYOUT).out.splitlines()[1:]] == ["0", "4"]
    assert [record["attempt"] for record in records(run("dead", ns.name, "--json", *LAYOUT))] == [0, 4]
    assert "attempts  0\n" in run("show", ns.name, "a" * 24, *LAYOUT).out


@pytest.mark.parametrize("score", ["inf", "-inf", "1e300", "-1e300", "8640000000000000000"])
def test_a_time_that_no_calendar_has_is_shown_as_none(run: Run, ns: Namespace, score: str) -> None:
    made = '{"name":"export","id":"%s","t":1600000000,"args":null}'
    for place, key in enumerate((ns.keys.scheduled, ns.keys.retry, ns.keys.dead)):
        ns.raw.zadd(key, {made % (f"{place}" * 24): score})
    ns.raw.zadd(ns.keys.scheduled, {made % ("9" * 24): 4e9})
    found = records(run("list", ns.name, "--json", *LAYOUT))
    assert {record["id"][0]: record["due"] for record in found} == {
        "9": "2096-10-02T07:06:40.000Z", "0": None, "1": None, "2": None
    }  # fmt: skip
    assert run("dead", ns.name, *LAYOUT).out.splitlines()[1].split()[0] == "-"
    assert run("retry", ns.name, "--all", "--yes", *LAYOUT).out == "retried 1\n"


def write_no_text(ns: Namespace) -> None:
    """Have pools, names, texts and values that are no UTF-8, as another program may."""
    for pool in (b"\xff\xfe", b"caf\xe9"):
        ns.raw.sadd(ns.keys.worker_pools, pool)
        beat: dict[Any, Any] = {"heartbeat_at": 1, "job_names": b"a,\xff", "concurrency": b"\xff", b"\xff\x00": b"x"}
        ns.raw.hset(ns.keys.worker_pool("").encode() + pool, mapping=beat)
    queue = ns.keys.queue("").encode() + b"\xff"
    ns.raw.sadd(ns.keys.known_jobs, b"\xff", "a")
    ns.raw.lpush(queue, b'{"name":"a","id":"1","t":1,"args":null}', b"\xff")
    ns.raw.set(queue + b":paused", b"\xff")
    ns.raw.lpush(ns.keys.queue("a").encode() + b":caf\xe9:inprogress", b'{"name":"a","id":"2","t":1,"args":null}')
    ns.raw.zadd(ns.keys.dead, {b"\xff\xff": 1})


@pytest.mark.parametrize("command", ["list", "stats", "listeners", "dead", "cancel", "pause"])
def test_bytes_that_are_no_text_stop_no_command(run: Run, ns: Namespace, command: str) -> None:
    write_no_text(ns)
    which = {"cancel": ["1"], "pause": ["--fn", "a"]}.get(command, [])
    said = run(command, ns.name, *which, *LAYOUT)
    assert said.status == 0, said.err
    if not which:
        json.loads(run(command, ns.name, "--json", *LAYOUT).out)
