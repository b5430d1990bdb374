"""`workkit result`: values as text and JSON, failures, exit statuses."""

from __future__ import annotations

import json

import pytest

from tests import results
from tests.cli.conftest import Run
from tests.servers import Server
from workkit import schedule


@pytest.fixture
def s(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> schedule.Schedule:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    return schedule.create(name, redis=server.url)


def drained(s: schedule.Schedule) -> None:
    schedule.drain(s, imports=["tests.results"], folder=None, raise_errors=False)


def test_a_value_is_printed_as_text_or_json(run: Run, s: schedule.Schedule) -> None:
    text = schedule.add_now(s, results.echo, args=["two\nlines"], keep="1 hour")
    listed = schedule.add_now(s, results.echo, args=[{"a": "é"}], keep="1 hour")
    drained(s)
    assert run("result", s.name, text.id[:8]).out == "two\nlines\n"
    assert run("result", s.name, listed.id).out == '{\n  "a": "é"\n}\n'
    for job, value in ((text, "two\nlines"), (listed, {"a": "é"})):
        assert json.loads(run("result", s.name, job.id, "--json", "--wait", "1s").out) == value


def test_a_failure_prints_its_traceback_and_ends_with_1(run: Run, s: schedule.Schedule) -> None:
    assert (
        run("now", s.name, "tests.results:break_down", "--keep", "1h", "--keep-most", "5 kB", "--name", "n").status == 0
    )
    drained(s)
    ran = run("result", s.name, "n")
    assert (ran.status, ran.out) == (1, "")
    assert "raise OSError(text)" in ran.err
    assert f"error: job n in {s.name} failed: OSError: disk full (results.py:" in ran.err


def test_what_is_not_there_has_statuses_of_its_own(run: Run, s: schedule.Schedule) -> None:
    waits = schedule.add(s, results.double, in_="1 hour", args=[1])
    plain = schedule.add(s, results.echo, in_="1 hour")
    pending = run("result", s.name, waits.id)
    assert (pending.status, "has no result yet: it is waiting" in pending.err) == (4, True)
    assert "Give --wait" in pending.err
    assert run("result", s.name, waits.id, "--wait", "1s").status == 4
    assert run("result", s.name, plain.id).status == 3
    assert run("result", s.name, "nothing").status == 3
    assert run("result", s.name, waits.id, "--wait", "30").status == 2


def test_the_doctor_says_how_much_memory_results_take(run: Run, s: schedule.Schedule) -> None:
    for n in range(3):
        schedule.add_now(s, results.of_size, args=[900_000 - n], keep="1 minute")
    drained(s)
    assert f"{s.name}: kept results of 3 jobs take about " in run("doctor", s.name).err
    assert run("wire", "verify", s.name).status == 0
