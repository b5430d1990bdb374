"""What a schedule keeps of its runs, as its inspector reads it: rings, days, single runs and counts."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.brokers.native.history import DAYS_KEPT, HEAD, RUN, RUNS_KEPT, entry_of, read_ring
from workkit.contract.admin import Remembered
from workkit.contract.broker import Inspector
from workkit.contract.history import ALL, Bucket, Cell, PastRun

HOUR_MS = 3_600_000


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    handlers.calls.clear()


def drain(s: schedule.Schedule, **how: Any) -> None:
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False, **how)


def total(inspector: Inspector, subject: str = ALL, tier: Any = "h") -> Cell:
    now = round(datetime.now(UTC).timestamp() * 1000)
    buckets: list[Bucket] = inspector.history.past(subject, since_ms=now - HOUR_MS, until_ms=now + HOUR_MS, tier=tier)
    whole = Cell()
    for bucket in buckets:
        whole += bucket.cell
    return whole


def ends(runs: list[PastRun]) -> list[str]:
    return [run.ending for run in runs]


def test_a_recurring_job_leaves_each_run_in_its_ring_in_its_day_and_in_the_counts(
    s: schedule.Schedule, inspector: Inspector
) -> None:
    job = schedule.add(s, handlers.note, every="second", name="often")
    drain(s, now=datetime.now(UTC) + timedelta(seconds=4))
    ran = len(handlers.calls)
    assert ran >= 4
    runs = inspector.history.lately(["often"])["often"]
    assert ends(list(runs)) == ["done"] * ran
    assert [run.due for run in runs] == sorted({run.due for run in runs}, reverse=True)
    assert sum(day.runs for day in inspector.history.days("often")) == ran
    assert {day.worst for day in inspector.history.days("often")} == {"done"}
    for subject in (ALL, "fn:#'tests.handlers/note", "job:often"):
        assert total(inspector, subject).done == ran
    (kept,) = [run for run in inspector.history.runs() if run.id == job.id]  # others came within 30 s
    assert (kept.name, kept.fn, kept.times) == ("often", "#'tests.handlers/note", 1)


def test_a_recurring_job_without_a_name_is_known_by_its_id(s: schedule.Schedule, inspector: Inspector) -> None:
    job = schedule.add(s, handlers.note, every="hour")
    schedule.run(s, job)
    drain(s)
    (run,) = inspector.history.lately([job.id])[job.id]
    assert run.by_hand
    assert run.ending == "done"


def test_an_ending_that_is_not_done_is_kept_by_itself_with_its_error(
    s: schedule.Schedule, inspector: Inspector
) -> None:
    failed = schedule.add_now(s, handlers.fail, args=["e" * 300])
    schedule.add_now(s, handlers.discard)
    schedule.add_now(s, handlers.retry_twice)
    drain(s)
    found: dict[str, list[PastRun]] = {}
    for run in inspector.history.runs():
        found.setdefault(run.fn.rpartition("/")[2], []).append(run)  # type: ignore[union-attr]
    (dead,) = found["fail"]
    assert (dead.ending, dead.id, dead.attempt) == ("dead", failed.id, 0)
    assert dead.error == ("OSError: " + "e" * 300)[:200]
    assert ends(found["discard"]) == ["discarded"]
    assert [(run.ending, run.attempt) for run in found["retry_twice"]] == [("done", 2), ("retried", 1), ("retried", 0)]
    cell = total(inspector)
    assert (cell.done, cell.dead, cell.discarded, cell.retried) == (1, 1, 1, 2)
    assert cell.durations.total == cell.lateness.total == cell.runs == 5


def test_a_failed_run_of_a_recurring_job_is_the_worst_of_its_day(s: schedule.Schedule, inspector: Inspector) -> None:
    job = schedule.add(s, handlers.fail, every="hour", name="broken")
    schedule.run(s, job)
    drain(s)
    assert ends(list(inspector.history.lately(["broken"])["broken"])) == ["dead"]
    (day,) = inspector.history.days("broken")
    assert (day.runs, day.worst) == (1, "dead")


def test_plain_runs_are_counted_and_sampled(s: schedule.Schedule, server: Server, inspector: Inspector) -> None:
    schedule.add_many(s, [{"fn": handlers.note, "when": "now", "args": [n]} for n in range(200)])
    drain(s)
    assert total(inspector).done == 200
    for tier in ("1", "5", "d"):
        assert total(inspector, tier=tier).done == 200
    kept = list(inspector.history.runs())
    assert sum(run.times for run in kept) == 200
    assert 1 <= len(kept) <= 60
    assert server.client().exists(f"{s.name}:lately") == 0


def test_what_did_not_run_is_in_the_ring_and_counts_as_missed(s: schedule.Schedule, inspector: Inspector) -> None:
    schedule.add(s, handlers.note, every="second", name="late", catch_up="skip", catch_up_within="1s")
    drain(s, now=datetime.now(UTC) + timedelta(minutes=5))
    lately = list(inspector.history.lately(["late"])["late"])
    assert len(lately) >= 1
    skipped = schedule.add(s, handlers.note, every="day", name="left out")
    schedule.skip(s, skipped)
    (run,) = inspector.history.lately(["left out"])["left out"]
    assert (run.ending, run.due) == ("skipped", skipped.due)
    assert inspector.history.days("left out") == []


@pytest.mark.parametrize(("history", "cells", "runs"), [("counts", 1, 0), ("off", 0, 0)])
def test_a_schedule_keeps_as_much_as_it_is_told(
    server: Server, name: str, inspector: Inspector, history: Any, cells: int, runs: int
) -> None:
    s = schedule.create(name, redis=server.url)
    open_broker(name, redis=server.url).admin.steer(Remembered(history))
    assert inspector.control().history == history
    schedule.add_now(s, handlers.fail)
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.run(s, job)
    schedule.skip(s, job)
    drain(s)
    assert (total(inspector).dead, len(list(inspector.history.runs()))) == (cells, runs)
    assert inspector.history.lately(["hourly"]) == {"hourly": []}


def test_a_ring_holds_60_runs_and_a_job_400_days(s: schedule.Schedule, server: Server, inspector: Inspector) -> None:
    day_ms, client = 86_400_000, server.client()
    now = round(datetime.now(UTC).timestamp() * 1000) // day_ms * day_ms
    entries = b"".join(
        entry_of(now - n * 1000, late_ms=0, took_ms=1, ending="done").encode() for n in range(1, RUNS_KEPT + 1)
    )
    head = struct.pack(">HI", now // day_ms - 1, 1 << 28 | 5 << 8).ljust(HEAD, b"\0")
    client.hset(f"{s.name}:lately", "full", head + entries)
    client.hset(f"{s.name}:days", "full", b"\x10\0\x10\0\1" * DAYS_KEPT)
    job = schedule.add(s, handlers.note, every="hour", name="full")
    schedule.run(s, job)
    drain(s)
    ring = client.hget(f"{s.name}:lately", "full")
    assert len(ring) == HEAD + RUNS_KEPT * RUN
    assert read_ring(ring)[1:] == read_ring(head + entries)[:-1]
    days = client.hget(f"{s.name}:days", "full")
    assert len(days) == DAYS_KEPT * 5
    assert days[-5:] == head[:5]
    assert [(day.runs, day.worst) for day in inspector.history.days("full")][-2:] == [(5, "done"), (1, "done")]


def test_keys_of_another_type_and_other_bytes_stop_no_job(
    s: schedule.Schedule, server: Server, inspector: Inspector
) -> None:
    client = server.client()
    for key in ("lately", "days", "runs"):
        client.set(f"{s.name}:{key}", "x")
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.add_now(s, handlers.fail)
    schedule.run(s, job)
    drain(s)
    assert len(handlers.calls) == 1
    assert len(schedule.dead(s)) == 1
    assert inspector.history.lately(["hourly"]) == {"hourly": []}
    client.delete(f"{s.name}:lately")
    client.hset(f"{s.name}:lately", "hourly", "no ring")
    schedule.run(s, job)
    drain(s)
    assert ends(list(inspector.history.lately(["hourly"])["hourly"])) == ["done"]


def test_history_has_a_time_to_live(s: schedule.Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.run(s, job)
    drain(s)
    client = server.client()
    keys = [key for part in ("lately", "runs", "past:*") for key in client.scan_iter(f"{s.name}:{part}")]
    assert len(keys) == 6
    assert all(0 < client.ttl(key) <= 400 * 86_400 for key in keys)
