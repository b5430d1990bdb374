"""`workkit runs`, and `stats --over`: rows, JSON, and a job that is over."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import Run, begin
from tests.servers import PAST, Server
from workkit import schedule


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
    assert lines[0].split() == ["ENDED", "STATE", "FUNCTION", "NAME", "ID", "LATE", "TOOK", "ATTEMPT", "TIMES", "ERROR"]
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


def test_runs_as_json_have_every_field(run: Run, on: Server, name: str) -> None:
    ran(on, name)
    (record,) = json.loads(run("runs", name, "nightly", "--json").out)
    assert (record["ending"], record["attempt"], record["times"], record["by_hand"]) == ("dead", 1, 1, True)
    assert record["ended"].endswith("Z")
    assert record["listener"]
    assert record["error"] == "OSError: disk full"


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
    monkeypatch.setattr("workkit.cli.commands.looking.history.LEAST", 1)
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
