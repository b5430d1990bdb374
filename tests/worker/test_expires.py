"""`expires=`: a job that runs once does not start later than that after its due time (spec/features.md 5)."""

from __future__ import annotations

from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.errors import InvalidOptions, JobFailed, Unsupported
from workkit.events import Event
from workkit.worker.event_text import event_parts

HOUR = 3_600_000


def make_due(s: schedule.Schedule, client: Any, *, ago_ms: int) -> None:
    """Have all jobs that wait be due since so long."""
    now = int(client.time()[0]) * 1000
    for item in client.zrange(f"{s.name}:next", 0, -1):
        client.zadd(f"{s.name}:next", {item: now - ago_ms})


def test_a_job_that_nobody_started_in_time_ends_as_expired(
    server: Server, s: schedule.Schedule, seen: list[Event]
) -> None:
    late = schedule.add_now(s, handlers.note, args=["late"], expires="1h", keep="1 day", name="late")
    make_due(s, server.client(), ago_ms=2 * HOUR)
    schedule.add_now(s, handlers.note, args=["in time"], expires="1h")
    schedule.add_now(s, handlers.note, args=["plain"])
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: len(handlers.calls) == 2 and not list(schedule.jobs(s)))
    assert sorted(handlers.calls) == [("in time",), ("plain",)]
    counts = schedule.counts(s)
    assert (counts.dead, counts.totals["expired"]) == (0, 1)
    (event,) = named(seen, "expired")
    assert event.fields["job"].id == late.id
    assert event.fields["late_ms"] >= 2 * HOUR
    assert event_parts(event) == ["not started 2 h after due; it does not run."]
    (run,) = [run for run in schedule.runs(s) if run.ending == "expired"]
    assert (run.id, run.took_ms, run.error) == (
        late.id, 0, "expired: it was not started within 1 h of its due time"
    )  # fmt: skip
    assert [cell.missed for cell in _cells(s)] == [1]
    assert run.late_ms >= 2 * HOUR
    with pytest.raises(JobFailed, match="expired: it was not started within 1 h of its due time"):
        schedule.result(s, late.id, wait=None)


def _cells(s: schedule.Schedule) -> list[Any]:
    return until(lambda: [bucket.cell for bucket in schedule.history(s) if bucket.cell.missed], what="the counts")


@pytest.mark.parametrize("ago_ms", [0, HOUR - 60_000])
def test_one_that_is_late_but_within_the_time_runs(server: Server, s: schedule.Schedule, ago_ms: int) -> None:
    schedule.add(s, handlers.note, in_="1 second", args=[1], expires="1 hour")
    make_due(s, server.client(), ago_ms=ago_ms)
    schedule.drain(s, **HOW)
    assert handlers.calls == [(1,)]


def test_a_further_attempt_does_not_expire(server: Server, s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.retry_twice, expires="10s")
    with schedule.listener(s, threads=1, **HOW):
        until(lambda: not list(schedule.jobs(s)), timeout=60)
    assert len(handlers.calls) == 3


def test_one_that_waited_for_a_slot_expires(server: Server, s: schedule.Schedule, seen: list[Event]) -> None:
    client = server.client()
    with schedule.listener(s, threads=2, **HOW):
        schedule.add_now(s, handlers.wait_for_gate, unique_key="k")
        until(lambda: handlers.calls)
        waits = schedule.add_now(s, handlers.note, args=[1], unique_key="k", on_conflict="replace", expires="1s")
        until(lambda: schedule.job(s, waits.id).state == "held")
        due = waits.due
        assert due is not None
        until(lambda: client.time()[0] > due.timestamp() + 2)
        handlers.gate.set()
        until(lambda: named(seen, "expired"))
    assert handlers.calls == ["begun"]


def test_a_retry_by_hand_begins_anew(server: Server, s: schedule.Schedule) -> None:
    schedule.add_now(s, handlers.fail, expires="1h")
    schedule.drain(s, raise_errors=False, **HOW)
    handlers.calls.clear()
    schedule.retry(s)
    schedule.drain(s, raise_errors=False, **HOW)
    assert schedule.counts(s).dead == 1


@pytest.mark.parametrize("when", [{"every": "day at 9am"}, {"cron": "0 9 * * *"}, {"when": "every monday at 9am"}])
def test_a_job_that_recurs_has_catch_up_within(s: schedule.Schedule, when: Any) -> None:
    with pytest.raises(
        InvalidOptions, match=r'expires= with a job that recurs.*Write catch_up_within="1 hour"'
    ) as caught:
        schedule.add(s, handlers.note, expires="1h", **when)
    assert caught.value.where == "expires"
    with pytest.raises(InvalidOptions, match="catch_up_within"):
        schedule.sync(s, {"a": {"fn": handlers.note, "expires": "1h", **when}})


def test_a_job_with_expires_cannot_become_one_that_recurs(s: schedule.Schedule) -> None:
    one = schedule.add(s, handlers.note, in_="1 hour", expires="1h")
    assert schedule.reschedule(s, one.id, in_="2 hours").terms.expires_ms == HOUR
    with pytest.raises(InvalidOptions, match="catch_up_within"):
        schedule.reschedule(s, next(iter(schedule.jobs(s))).id, every="day at 9am")


def test_a_namespace_of_gocraft_refuses_it(server: Server, name: str) -> None:
    other = schedule.create(name, redis=server.url, layout="gocraft")
    with pytest.raises(Unsupported, match="expires="):
        schedule.add_now(other, "note", expires="1h")
