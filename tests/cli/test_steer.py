"""`pause`, `resume`, `skip`, `run`, and how `list`, `show` and `stats` tell of them."""

from __future__ import annotations

import json
import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.test_native_order import held
from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule


@pytest.fixture(autouse=True)
def on(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    (folder / "app.py").write_text("def hi(*args):\n    print('hi')\n")
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def added(run: Run, name: str, when: str = "every day at 9am", *options: str) -> str:
    return str(json.loads(run("add", name, when, "app:hi", "--json", *options).out)["id"])


def states(run: Run, name: str) -> list[str]:
    return [record["state"] for record in json.loads(run("list", name, "--json").out)]


def test_a_schedule_is_paused_and_list_says_so(run: Run, name: str) -> None:
    added(run, name)
    said = run("pause", name, "--reason", "migration", "--until", "2090-01-02 9:00", "--tz", "Europe/Paris")
    until = "until Monday 2 January 2090 at 9:00 Europe/Paris = 8:00 UTC (migration)"
    assert said.out == f"paused {name} {until}, resume: workkit resume {name}\n"
    assert (said.status, said.err) == (0, "")
    listed = run("list", name, "--tz", "Europe/Paris").out
    assert f"\nPaused {until}. Resume: workkit resume {name}\n" in listed
    assert states(run, name) == ["paused"]
    assert run("resume", name).out == f"resumed {name}\n"
    assert "Paused" not in run("list", name).out
    assert states(run, name) == ["waiting"]


def test_a_function_is_paused(run: Run, name: str) -> None:
    added(run, name)
    assert run("pause", name, "--fn", "app:hi").out == (
        f"paused app:hi in {name}, resume: workkit resume {name} --fn app:hi\n"
    )
    assert f"Paused: app:hi. Resume: workkit resume {name} --fn app:hi\n" in run("list", name).out
    assert run("resume", name, "--fn", "app:hi").out == f"resumed app:hi in {name}\n"
    assert states(run, name) == ["waiting"]


def test_a_function_that_is_not_there_is_refused(run: Run, name: str) -> None:
    refused = run("pause", name, "--fn", "app:hy")
    assert refused.status == 2
    assert "nearest: hi" in refused.err


def test_jobs_are_paused_by_name_and_id(run: Run, name: str) -> None:
    named, other = added(run, name, "every day at 9am", "--name", "digest"), added(run, name, "every day at 5pm")
    said = run("pause", name, "digest", other[:8])
    assert said.out == (
        f"paused {named[:8]}  digest  app.hi(), resume: workkit resume {name} digest\n"
        f"paused {other[:8]}  app.hi(), resume: workkit resume {name} {other[:8]}\n"
    )
    shown = run("show", name, "digest").out
    assert "state     paused\nwhy       paused\n" in shown
    assert run("stats", name, "--json").out.count('"paused":2') == 1
    assert re.search(r"HELD +PAUSED", run("stats", name).out)
    assert run("list", name).out.startswith(f"{name}: 0 waiting, 2 paused.")
    resumed = run("resume", name, "digest", other[:8])
    assert resumed.out == f"resumed {named[:8]}  digest  app.hi()\nresumed {other[:8]}  app.hi()\n"
    assert states(run, name) == ["waiting", "waiting"]


def test_jobs_that_a_rate_holds_are_listed_and_counted_as_held(run: Run, name: str, server: Server) -> None:
    ids = [str(json.loads(run("now", name, "tests.handlers:rare", "--json").out)["id"]) for _ in range(3)]
    schedule.drain(schedule.create(name, redis=server.url), imports=["tests.handlers"], folder=None)
    why = "tests.handlers.rare is held by its rate 1/minute"
    listed = json.loads(run("list", name, "--state", "held", "--json").out)
    assert [(one["state"], one["why"], one["attempt"]) for one in listed] == [("held", why, 0)] * 2
    assert {one["id"] for one in listed} < set(ids)
    text = run("list", name, "--state", "held").out
    assert text.startswith(f"{name}: 0 waiting, 2 held.")
    assert re.search(r"STATE +WHY\n", text)
    assert text.count(f"held   {why}\n") == 2
    shown = run("show", name, listed[1]["id"]).out
    assert re.search(r"due +.*, in (1 min|2 min|59)", shown)
    assert f"state     held\nwhy       {why}\nattempts  0\n" in shown
    (counted,) = json.loads(run("stats", name, "--json").out)
    assert (counted["held"], counted["retrying"], counted["waiting"], counted["due"]) == (2, 0, 0, 0)


def test_skip_says_the_next_run(run: Run, name: str) -> None:
    id = added(run, name, "every 1 january at 9am")
    due = json.loads(run("list", name, "--json").out)[0]["due"]
    said = run("skip", name, id[:8]).out
    after = str(int(due[:4]) + 1)
    assert re.fullmatch(rf"skipped {id[:8]}  app\.hi\(\)  next \w+ 1 January {after} at 9:00 UTC, in .*\n", said)
    assert json.loads(run("list", name, "--json").out)[0]["due"] == after + due[4:]


def test_snooze_puts_the_next_run_off(run: Run, name: str) -> None:
    daily, once = added(run, name, "every 1 january at 9am"), added(run, name, "2090-01-01 10:00")
    before = run("list", name, "--json").out
    year = json.loads(before)[0]["due"][:4]
    dry = run("snooze", name, daily[:8], "30 minutes", "--dry-run").out
    assert re.fullmatch(rf"would snooze {daily[:8]}  app\.hi\(\)  next \w+ 1 January {year} at 9:30 UTC, .*\n", dry)
    assert run("list", name, "--json").out == before
    said = run("snooze", name, daily[:8], once, "1h")
    assert re.fullmatch(
        rf"snoozed {daily[:8]}  app\.hi\(\)  next \w+ 1 January {year} at 10:00 UTC, in .*, was .* at 9:00 UTC\n"
        rf"snoozed {once[:8]}  app\.hi\(\)  next .* 2090 at 11:00 UTC, in .*, was .* at 10:00 UTC\n",
        said.out,
    )
    after = run("list", name, "--json").out
    refused = run("snooze", name, daily, "nothere", "1h")
    assert (refused.status, refused.out) == (3, "")
    assert run("snooze", name, daily, "soon").status == 2
    assert run("list", name, "--json").out == after


def test_run_runs_now(run: Run, name: str) -> None:
    recurring, once = added(run, name), added(run, name, "2090-01-01")
    assert run("run", name, recurring, once[:8]).out == (
        f"due now {recurring[:8]}  app.hi(), beside its times\ndue now {once[:8]}  app.hi()\n"
    )
    assert sorted(states(run, name)) == ["due", "due", "waiting"]


@pytest.mark.parametrize("verb", ["pause", "resume", "skip", "run"])
def test_nothing_is_touched_where_one_word_names_no_job(run: Run, name: str, verb: str) -> None:
    id = added(run, name)
    if verb == "resume":
        run("pause", name, id)
    before = run("list", name, "--json").out
    missing = run(verb, name, "nothere")
    assert (missing.status, missing.out) == (3, "")
    assert missing.err.startswith(f'error: no job "nothere" in {name}.')
    some = run(verb, name, id[:8], "nothere", "either")
    assert (some.status, some.out) == (3, "")
    assert [word in some.err for word in ('"nothere"', '"either"', "Nothing was changed.")] == [True] * 3
    assert run("list", name, "--json").out == before


@pytest.mark.parametrize("verb", ["skip", "run"])
def test_nothing_is_touched_where_one_job_is_refused(run: Run, name: str, verb: str) -> None:
    id, other = added(run, name), added(run, name, "2090-01-01" if verb == "skip" else "every day at 5pm")
    if verb == "run":
        run("pause", name, other)
    before = run("list", name, "--json").out
    refused = run(verb, name, id, other)
    assert (refused.status, refused.out) == (2, "")
    assert run("list", name, "--json").out == before


def test_a_job_that_is_named_twice_runs_once(run: Run, name: str) -> None:
    id = added(run, name, "every day at 9am", "--name", "digest")
    assert run("run", name, "digest", id[:8]).out.count("due now") == 1
    assert sorted(states(run, name)) == ["due", "waiting"]


def test_run_takes_other_arguments_for_one_run(run: Run, name: str) -> None:
    id = added(run, name, "every day at 9am", "--name", "nightly")
    guessed = run("run", name, "nightly", "2026-11-05")
    assert guessed.status == 3
    assert guessed.err.endswith("Nothing was changed. Arguments of this run: --args '[...]'.\n")
    ran = run("run", name, "nightly", "--args", '["2026-11-05"]')
    assert ran.status == 0
    assert ran.out.endswith('app.hi("2026-11-05"), beside nightly, which keeps its times\n')
    jobs = json.loads(run("list", name, "--json").out)
    assert {(job["state"], tuple(job["args"]), job["name"]) for job in jobs} == {
        ("due", ("2026-11-05",), None),
        ("waiting", (), "nightly"),
    }
    assert next(job["id"] for job in jobs if job["name"]) == id


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nightly", "other", "--args", "[1]"), "--args belongs to one job, and 2 were named. Name one."),
        (("nightly", "--args", "7"), "--args 7: not a list. Write --args '[7]'."),
        (("nightly", "--kwargs", "[7]"), "--kwargs [7]: not an object."),
        (("nightly", "--kwargs", '{"top": 1}'), "hi(*args) in app.py cannot be called so"),
        (("other", "--args", "[7]"), "runs once, and keeps its arguments."),
    ],
)
def test_run_refuses_arguments_that_do_not_fit(run: Run, name: str, words: tuple[str, ...], said: str) -> None:
    added(run, name, "every day at 9am", "--name", "nightly")
    added(run, name, "2090-01-01", "--name", "other")
    refused = run("run", name, *words)
    assert (refused.status, refused.out) == (2, "")
    assert said in refused.err
    assert states(run, name) == ["waiting", "waiting"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("skip", "ONCE"), "runs once. Take it out: workkit cancel"),
        (("pause", "--until", "every day"), '--until "every day" recurs'),
        (("pause", "--until", "2001-01-01 9:00"), "has passed. Give a later time."),
        (("pause", "ONCE", "--fn", "app:hi"), "were both given. Keep one of them."),
        (("resume", "ONCE", "--fn", "app:hi"), "were both given. Keep one of them."),
    ],
)
def test_what_cannot_be_exits_2(run: Run, name: str, words: tuple[str, ...], said: str) -> None:
    id = added(run, name, "2090-01-01")
    verb, *rest = (id if word == "ONCE" else word for word in words)
    refused = run(verb, name, *rest)
    assert refused.status == 2
    assert said in refused.err
    assert states(run, name) == ["waiting"]


def test_list_takes_the_states(run: Run, name: str) -> None:
    id = added(run, name)
    added(run, name, "every day at 5pm")
    run("pause", name, id)
    records: list[dict[str, Any]] = json.loads(run("list", name, "--state", "paused", "--json").out)
    assert [record["id"] for record in records] == [id]
    assert run("list", name, "--state", "held").err.startswith(f"no held jobs in {name}.")


def test_list_and_show_name_the_rate_and_the_turn_of_held_jobs(run: Run, on: Server, name: str) -> None:
    held(on, name, [("a", 1, 0), ("b", 2, 0), ("c", 3, 3)])
    listed = json.loads(run("list", name, "--state", "held", "--json").out)
    assert [record["args"][0] for record in listed] == ["c", "a", "b"]
    dues = [datetime.fromisoformat(record["due"]).timestamp() for record in listed]
    assert [round(late - early) for early, late in pairwise(dues)] == [10, 10]
    shown = json.loads(run("show", name, listed[0]["id"], "--json").out)
    assert (shown["due"], shown["why"]) == (listed[0]["due"], "app.note is held by its rate 6/minute")
