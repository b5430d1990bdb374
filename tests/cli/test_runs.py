"""`workkit runs`, and `stats --over`: rows, JSON, and a job that is over."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests import handlers
from tests.cli.conftest import Run, begin
from tests.servers import PAST, Server
from workkit import aio, schedule
from workkit.errors import InvalidOptions, Unsupported


@pytest.fixture
def on(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return server


def ran(on: Server, name: str) -> schedule.Schedule:
    s = schedule.create(name, redis=on.url)
    job = schedule.add(s, "tests.handlers:fail", every="hour", name="nightly")
    schedule.add_now(s, "tests.handlers:note", args=[1])
    schedule.run(s, job)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    return s


def test_runs_are_listed_the_last_one_first(run: Run, on: Server, name: str) -> None:
    ran(on, name)
    lines = run("runs", name).out.splitlines()
    assert lines[0].split() == ["ENDED", "STATE", "FUNCTION", "NAME", "ID", "LATE", "TOOK", "ATTEMPT", "TIMES", "ERROR",
                                "ARGUMENTS"]  # fmt: skip
    assert len(lines) == 3
    (mine,) = run("runs", name, "nightly").out.splitlines()[1:]
    assert " dead " in mine
    assert " nightly " in mine
    assert "OSError: disk full" in mine
    assert len(run("runs", name, "--limit", "1").out.splitlines()) == 2


def test_runs_are_chosen_by_a_filter(run: Run, on: Server, name: str) -> None:
    ran(on, name)
    assert len(run("runs", name, "--where", "ended:dead").out.splitlines()) == 2
    assert "tests.handlers.note" in run("runs", name, "--where", "fn:note took:<1h").out
    assert [one["name"] for one in json.loads(run("runs", name, "--where", "disk full", "--json").out)] == ["nightly"]
    assert len(run("runs", name, "--where", "ago:<1h", "--limit", "1").out.splitlines()) == 2
    assert len(run("runs", name, "nightly", "--where", "-ended:done").out.splitlines()) == 2
    none = run("runs", name, "nightly", "--where", "ended:done")
    assert (none.out, none.err) == ("", "history has no runs of nightly that fit: ending is done.\n")
    wrong = run("runs", name, "--where", "endet:dead")
    assert wrong.status == 2
    assert 'Did you mean "ended:"?' in wrong.err


def test_runs_are_chosen_by_function_and_state(run: Run, on: Server, name: str) -> None:
    s = ran(on, name)
    schedule.add_now(s, "tests.handlers:fail", args=["once"])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)

    def found(*words: str) -> list[str]:
        return [one["fn"].rpartition("/")[2] for one in json.loads(run("runs", name, *words, "--json").out)]

    assert found("--fn", "tests.handlers:fail") == found("--state", "failed") == ["fail", "fail"]
    assert found("--fn", "tests.handlers:note", "--state", "done") == ["note"]
    assert found("--fn", "tests.handlers:fail", "--state", "done") == found("--fn", "tests.handlers:fai") == []
    assert found("nightly", "--fn", "tests.handlers:fail", "--where", "took:<1h") == ["fail"]
    none = run("runs", name, "--fn", "tests.handlers:note", "--state", "dead")
    assert none.err == f'history has no runs of {name} that fit: function is "tests.handlers.note"; ending is dead.\n'
    assert run("runs", name, "--state", "fail").status == 2
    (last, first) = schedule.runs(s, fn="tests.handlers:fail")
    assert (last.name, first.name) == (None, "nightly")
    assert schedule.runs(s, state="failed", limit=1) == asyncio.run(aio.runs(s, fn=handlers.fail, limit=1)) == [last]
    assert [one.name for one in schedule.runs(s, "nightly", state="dead")] == ["nightly"]
    assert not schedule.runs(s, "nightly", fn=handlers.note)
    with pytest.raises(InvalidOptions, match=r"state='fail' is no ending of a run\. Accepted: done, late, failed, "):
        schedule.runs(s, state="fail")


@pytest.mark.parametrize("shards", [1, 2])
def test_runs_are_counted_by_function(run: Run, on: Server, name: str, shards: int) -> None:
    s = schedule.create(name, redis=on.url, shards=shards)
    schedule.add(s, handlers.note, every="hour", name="hourly")
    assert shards > 1 or run("stats", name, "--by", "function").err == "no runs in this time.\n"
    for n in range(5):
        schedule.add_now(s, "tests.handlers:note", args=[n])
        schedule.add_now(s, "tests.handlers:fail", args=[str(n)], retries=int(n == 1), base="1 hour")
    schedule.run(s, "hourly")
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    by = schedule.stats(s, by="function")
    assert list(by) == ["tests.handlers.note", "tests.handlers.fail"], "the one with most runs first"
    noted, failed = by.values()
    assert (noted.done, noted.runs, failed.dead, failed.retried, failed.runs) == (6, 6, 4, 1, 5)
    assert noted.durations.total == 6
    assert asyncio.run(aio.stats(s, over="7 days")) == by
    sums = {k: sum(b.cell.done for b in schedule.history(s, fn=k.replace(".note", ":note"))) for k in [*by][:1]}
    assert sums == {"tests.handlers.note": 6}, "as history counts it"
    with pytest.raises(InvalidOptions, match="by='name' is nothing by which runs are counted"):
        schedule.stats(s, by="name")  # type: ignore[arg-type]
    if shards > 1:
        return  # on the command line, each shard is a schedule
    titles, first, second = run("stats", name, "--by", "function").out.splitlines()
    assert titles.split()[:5] == ["SCHEDULE", "FUNCTION", "DONE", "RETRIED", "DEAD"]
    assert first.split()[:5] == [name, "tests.handlers.note", "6", "0", "0"]
    assert second.split()[:5] == [name, "tests.handlers.fail", "0", "1", "4"]
    records = json.loads(run("stats", name, "--by", "function", "--over", "1 hour", "--json").out)
    assert [(one["schedule"], one["function"], one["done"], one["dead"]) for one in records] == [
        (name, "tests.handlers.note", 6, 0), (name, "tests.handlers.fail", 0, 4),
    ]  # fmt: skip
    assert sum(n for _, n in records[0]["durations"]) == 6


def test_runs_by_function_are_refused_where_no_history_is_kept(on: Server, name: str) -> None:
    with pytest.raises(Unsupported, match="history is not kept in this layout"):
        schedule.stats(schedule.create(name, redis=on.url, layout="gocraft"))


def test_runs_as_json_have_every_field(run: Run, on: Server, name: str) -> None:
    ran(on, name)
    (record,) = json.loads(run("runs", name, "nightly", "--json").out)
    assert (record["ending"], record["attempt"], record["times"], record["by_hand"]) == ("dead", 1, 1, True)
    assert record["ended"].endswith("Z")
    assert record["listener"]
    assert record["error"] == "OSError: disk full"
    assert (record["args"], record["kwargs"]) == ([], {})


def test_runs_have_their_arguments_masked(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url)
    schedule.add_now(s, "tests.handlers:note", args=[7], kwargs={"password": "hunter2"})
    schedule.add_now(s, "tests.handlers:note", args=["x" * 2000])
    schedule.add_now(s, "tests.handlers:fail", args=["hunter2 and token=hunter2"])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    rows = run("runs", name).out
    assert '7, password="••••••"' in rows
    assert "not kept" in rows
    records = json.loads(run("runs", name, "--json").out)
    assert [(one["args"], one["kwargs"]) for one in records if one["args"] is None] == [(None, None)]
    assert [one["kwargs"] for one in records if one["args"] == [7]] == [{"password": "••••••"}]
    assert "token=••••••" in rows
    assert "password" in str(schedule.runs(s)), "Python has them as they are"


def test_show_says_of_a_job_that_is_over_which_arguments_it_had(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url)
    short = schedule.add_now(s, "tests.handlers:note", args=[7], kwargs={"token": "hunter2"})
    long = schedule.add_now(s, "tests.handlers:note", args=["x" * 2000])
    bare = schedule.add_now(s, "tests.handlers:note")
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    said = run("show", name, short.id).out
    assert 'function  tests.handlers.note(7, token="••••••")\n' in said
    assert "arguments" not in said
    record = json.loads(run("show", name, short.id, "--json").out)
    assert (record["args"], record["kwargs"], record["args_kept"]) == ([7], {"token": "••••••"}, True)
    said = run("show", name, long.id).out
    assert "function  tests.handlers.note(...)\n" in said
    assert "arguments not kept\n" in said
    assert json.loads(run("show", name, long.id, "--json").out)["args_kept"] is False
    assert "tests.handlers.note()\n" in run("show", name, bare.id).out


def test_show_has_what_a_failed_run_has_logged_masked(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url)
    job = schedule.add_now(s, "tests.logging_handlers:secret", kwargs={"password": "abc123456"})
    assert "\nlog" not in run("show", name, job.id).out
    assert json.loads(run("show", name, job.id, "--json").out)["log"] == []
    schedule.drain(s, imports=["tests.logging_handlers"], folder=None, raise_errors=False)
    said = run("show", name, job.id).out
    assert said.partition("\nlog\n    20")[2].endswith(" WARNING shop: login with token=•••••• of ••••••\n")
    (line,) = json.loads(run("show", name, job.id, "--json").out)["log"]
    assert line.endswith(" WARNING shop: login with token=•••••• of ••••••")
    assert schedule.log(s, job)[0].endswith(" login with token=hunter2 of abc123456"), "Python has it as it is"


def test_a_schedule_without_runs_says_so(run: Run, on: Server, name: str) -> None:
    begin(on, name)
    assert run("runs", name).err == f"history has no runs of {name}.\n"
    assert json.loads(run("runs", name, "--json").out) == []
    missing = run("runs", name, "nightly")
    assert missing.status != 0
    assert 'no job "nightly"' in missing.err


def test_show_tells_a_job_that_is_over(run: Run, on: Server, name: str) -> None:
    s = schedule.create(name, redis=on.url)
    job = schedule.add_now(s, "tests.handlers:note")
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    out = run("show", name, job.id[:8]).out
    assert "state     done" in out
    assert "ended     done" in out
    record = json.loads(run("show", name, job.id, "--json").out)
    assert (record["state"], record["ending"], record["attempt"]) == ("done", "done", 1)


def test_stats_over_a_span_counts_runs_by_their_end(run: Run, on: Server, name: str) -> None:
    ran(on, name)
    head, row = run("stats", name, "--over", "1 hour").out.splitlines()
    assert head.split()[:4] == ["SCHEDULE", "DONE", "RETRIED", "DEAD"]
    assert row.split()[1:4] == ["1", "0", "1"]
    (record,) = json.loads(run("stats", name, "--over", "1 hour", "--json").out)
    assert record["schedule"] == name
    assert sum(bucket["done"] for bucket in record["buckets"]) == 1
    assert sum(n for bucket in record["buckets"] for _, n in bucket["durations"]) == 2
    refused = run("stats", name, "--over", "401 days")
    assert refused.status != 0
    assert "400 days" in refused.err


def test_the_doctor_shows_the_memory_of_past_runs_and_removes_them(
    run: Run, on: Server, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(on, name)
    monkeypatch.setattr("workkit.cli.commands.history.LEAST", 1)
    assert f"{name}: past runs take about 0.0 MB. Remove them: workkit doctor {name} --purge-history" in (
        run("doctor", name).err
    )
    refused = run("doctor", name, "--purge-history")
    assert "--purge-history asks before it removes anything" in refused.err
    assert len(run("runs", name).out.splitlines()) == 3
    assert f"removed all that is kept of past runs in {name}" in run("doctor", name, "--purge-history", "--yes").err
    assert run("runs", name).out == ""
    left = {key.decode().split(":")[1] for key in on.client().scan_iter(f"{name}:*")}
    assert left.isdisjoint(set(PAST) - {"changes"})
    assert "no past runs are kept." in run("doctor", name, "--purge-history", "--yes").err
