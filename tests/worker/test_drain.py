"""`drain` and a listener decide alike what becomes of a claim: one table, played through both."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from tests import handlers
from tests.servers import Server
from workkit import errors, events, job, schedule, wire
from workkit.contract.producer import Tally
from workkit.events import Event

HOW: dict[str, Any] = {"imports": ["tests.handlers", __name__], "folder": None}
OURS, THEIRS = "#'tests.handlers/note", "#'clj.app/f"
PAST = 1394012056000
DAILY, FOREIGN, BROKEN = "* * * * 9 0 0", "0 0 9 * ? MON-FRI 2030", "at noon"

Scene = Callable[[schedule.Schedule, Any], object]  # puts jobs into a schedule; has the client of its server
OF_PROGRAM = {"listening", "may_run", "stopped", "stopping"}


@job(limit=1)
def take_a_slot(number: int) -> None:
    handlers.calls.append(number)


def stored(s: schedule.Schedule, client: Any, *, fn: str = OURS, cron: str | None = "2014 3 5 * 9 34 16") -> str:
    """Store a job by hand, due in the past, as a foreign producer does; its id."""
    data = json.dumps({"args": [], "cron": cron, "job": fn}).encode()
    id = wire.job_id(data)
    client.hset(f"{s.name}:jobs", id, data)
    client.zadd(f"{s.name}:next", {wire.item(id): PAST})
    return id


def crashed(s: schedule.Schedule, client: Any, times: int, *, fn: str = OURS) -> None:
    """Store a job that so many listeners died with."""
    id = stored(s, client, fn=fn)
    client.hset(f"{s.name}:crashed", f"{id}@{PAST}", times)


def missing(s: schedule.Schedule, client: Any) -> None:
    client.hdel(f"{s.name}:jobs", stored(s, client))


def cancelled(s: schedule.Schedule, client: Any) -> None:
    client.zadd(f"{s.name}:cancelled", {stored(s, client): time.time() * 1000})


def corrupt(s: schedule.Schedule, client: Any) -> None:
    client.hset(f"{s.name}:jobs", stored(s, client), b'{"args": [')


def limited(s: schedule.Schedule, client: Any) -> None:
    for number in range(3):
        schedule.add_now(s, take_a_slot, args=[number])


def paused(s: schedule.Schedule, client: Any) -> None:
    schedule.add_now(s, handlers.note, args=[1])
    schedule.pause(s, fn=handlers.note)


def given_way(s: schedule.Schedule, client: Any) -> None:
    schedule.add_now(s, handlers.note, args=[1], priority=3)
    schedule.add_now(s, handlers.welcome, args=["a@b"], unique=True)


SCENES: dict[str, Scene] = {
    "plain": lambda s, client: stored(s, client),
    "coroutine": lambda s, client: schedule.add_now(s, handlers.note_async, args=[1]),
    "fails": lambda s, client: schedule.add_now(s, handlers.fail),
    "fails with retries": lambda s, client: schedule.add_now(s, handlers.fail, retries=1, base="0s"),
    "asks for a retry": lambda s, client: schedule.add_now(s, handlers.retry_twice),
    "discards": lambda s, client: schedule.add_now(s, handlers.discard),
    "exits": lambda s, client: schedule.add_now(s, handlers.leave),
    "takes other arguments": lambda s, client: schedule.add_now(s, handlers.welcome, args=["a@b"]),
    "corrupt": corrupt,
    "missing": missing,
    "cancelled": cancelled,
    "foreign": lambda s, client: stored(s, client, cron=FOREIGN),
    "broken, of ours": lambda s, client: stored(s, client, cron=BROKEN),
    "broken, of others": lambda s, client: stored(s, client, fn=THEIRS, cron=BROKEN),
    "unknown function": lambda s, client: [stored(s, client, fn=THEIRS), stored(s, client, fn=THEIRS, cron=DAILY)],
    "private function": lambda s, client: stored(s, client, fn="#'tests.handlers/_secret"),
    "no crash": lambda s, client: crashed(s, client, 0),
    "1 crash": lambda s, client: crashed(s, client, 1),
    "2 crashes": lambda s, client: crashed(s, client, 2),
    "3 crashes": lambda s, client: crashed(s, client, 3),
    "3 crashes, of others": lambda s, client: crashed(s, client, 3, fn=THEIRS),
    "recurring": lambda s, client: stored(s, client, cron=DAILY),
    "limited": limited,
    "paused": paused,
    "low priority, unique": given_way,
}


def listen(s: schedule.Schedule) -> Tally:
    return schedule.listen(s, burst=True, threads=1, **HOW)


def drain(s: schedule.Schedule) -> Tally:
    return schedule.drain(s, raise_errors=False, **HOW)


def played(scene: Scene, s: schedule.Schedule, client: Any, *, by: Callable[[Any], Any]) -> dict[str, Any]:
    """Play a scene, and tell everything that became of it."""
    seen: list[Event] = []
    handlers.calls.clear()
    scene(s, client)
    unsubscribe = events.subscribe(seen.append)
    try:
        tally = by(s)
    finally:
        unsubscribe()
    fields = ("reason", "error_type", "error", "attempt", "attempts", "again_ms")
    counts = schedule.counts(s)
    return {
        "runs": (tally.ran, tally.failed, tally.retried),
        "calls": sorted(str(call[0]) if call and isinstance(call, tuple) else str(call) for call in handlers.calls),
        "events": sorted(
            (event.name, *(str(event.fields.get(key)) for key in fields))
            for event in seen
            if event.name not in OF_PROGRAM
        ),  # jobs that are due in the same millisecond run in any order
        "jobs": sorted((one.state, one.fn, one.args, one.attempt, one.error) for one in schedule.jobs(s)),
        "keys": sorted(  # whatever minute it is
            {
                re.sub(rb"^(:past:\w+:)\d+$", rb"\1", key.removeprefix(s.name.encode()))
                for key in client.keys(f"{s.name}:*")
                if b"producer" not in key
            }
        ),
        "counts": (counts.due, counts.retrying, counts.held, counts.paused, counts.dead, counts.running),
    }


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_drain_and_a_listener_do_the_same_with_a_claim(server: Server, name: str, scene: Scene) -> None:
    client: Any = server.client()
    one, two = (schedule.create(f"{name}-{who}", redis=server.url) for who in ("l", "d"))
    assert played(scene, one, client, by=listen) == played(scene, two, client, by=drain)


def test_drain_buries_a_job_that_crashed_three_listeners(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    crashed(s, server.client(), 3)
    found = played(lambda s, client: None, s, server.client(), by=drain)
    assert found["calls"] == []
    assert [one.error for one in schedule.jobs(s, state="dead")] == ["Crashed: crashed its listener 3 times"]
    assert [event[0] for event in found["events"]] == ["dead"]


def test_drain_reports_a_function_that_it_cannot_run_once(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    found = played(SCENES["unknown function"], s, server.client(), by=drain)
    assert [event[0] for event in found["events"]] == ["cannot_run"]


def test_a_job_under_drain_knows_how_late_it_is_at_the_pretended_time(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    handlers.calls.clear()
    stored(s, server.client(), fn="#'tests.handlers/look")
    now = datetime.fromtimestamp(PAST / 1000, UTC) + timedelta(minutes=3)
    assert schedule.drain(s, now=now, **HOW).ran == 1
    assert handlers.calls[0][5] == timedelta(minutes=3)


@pytest.mark.parametrize("catch_up", ["once", "all", "skip"])
def test_drain_runs_each_occurrence_until_the_pretended_time_at_its_own(
    server: Server, name: str, catch_up: Literal["once", "all", "skip"]
) -> None:
    s = schedule.create(name, redis=server.url)
    handlers.calls.clear()
    first = schedule.add(s, handlers.look, every="day at 9am", catch_up=catch_up).due
    assert first is not None
    schedule.add(s, handlers.note, at=first + timedelta(days=2, hours=1), args=["once"])
    assert schedule.drain(s, now=first + timedelta(days=6), **HOW).ran == 8
    assert handlers.calls.pop(3) == ("once",), "in order of time, between the third and the fourth day"
    assert [call[3] for call in handlers.calls] == [first + timedelta(days=day) for day in range(7)]
    assert {call[5] for call in handlers.calls} == {timedelta()}
    assert next(schedule.jobs(s)).due == first + timedelta(days=7)
    assert list(schedule.missed(s)) == []


def test_drain_runs_the_jobs_of_all_shards_in_the_order_of_time(server: Server, name: str) -> None:
    s = schedule.create(f"{{{name}}}", redis=server.url, shards=3)
    handlers.calls.clear()
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    for number in (7, 2, 5, 0, 3, 6, 1, 4):
        schedule.add(s, handlers.note, at=start + timedelta(hours=number), args=[number])
    assert schedule.drain(s, now=start + timedelta(days=1), **HOW).ran == 8
    assert handlers.calls == [(number,) for number in range(8)]


def test_drain_ends_at_once_where_nothing_recurs_however_far_the_pretended_time(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, handlers.note, at=datetime(2080, 1, 1, tzinfo=UTC))
    before = server.client().info("commandstats")["cmdstat_evalsha"]["calls"]
    assert schedule.drain(s, now=datetime(2090, 1, 1, tzinfo=UTC), **HOW).ran == 1
    assert server.client().info("commandstats")["cmdstat_evalsha"]["calls"] - before < 20
    assert not server.client().exists(f"{name}:watch"), "no listener waits by a pretended time"


def test_drain_raises_the_error_of_an_attempt_that_another_follows(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.fail, retries=2, base="10s", jitter=False)
    with pytest.raises(OSError, match="disk full"):
        schedule.drain(s, **HOW)
    assert (schedule.counts(s).retrying, schedule.counts(s).dead) == (1, 0), "recorded before"


def test_drain_counts_attempts_that_fail_and_runs_those_that_follow_at_their_times(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add_now(s, handlers.fail, retries=2, base="10s", jitter=False)
    assert schedule.drain(s, raise_errors=False, **HOW) == Tally(retried=1)
    assert job.due is not None
    later = job.due + timedelta(minutes=1)
    assert schedule.drain(s, raise_errors=False, now=later, **HOW) == Tally(retried=1, failed=1)
    assert schedule.counts(s).dead == 1


def test_drain_does_not_raise_where_a_handler_asks_for_another_attempt(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.retry_twice)
    assert schedule.drain(s, **HOW) == Tally(ran=1, retried=2)


def test_an_attempt_that_another_follows_counts_against_the_limit_of_drain(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.fail, retries=5, base="0s")
    assert schedule.drain(s, limit=2, raise_errors=False, **HOW) == Tally(retried=2)


def test_drain_runs_no_more_than_its_limit_and_gives_back_the_rest(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for number in range(5):
        schedule.add_now(s, handlers.note, args=[number])
    assert schedule.drain(s, limit=2, **HOW).ran == 2
    assert (schedule.counts(s).due, schedule.counts(s).running, schedule.counts(s).listeners) == (3, 0, 0)


def test_an_error_that_drain_raises_is_recorded_before(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, handlers.fail, priority=1)  # first, though both may be due in the same millisecond
    schedule.add_now(s, handlers.note)
    with pytest.raises(OSError, match="disk full"):
        schedule.drain(s, **HOW)
    assert schedule.counts(s).dead == 1
    assert schedule.counts(s).listeners == 0
    assert schedule.drain(s, **HOW).ran == 1


def test_drain_refuses_a_time_without_a_zone(server: Server, name: str) -> None:
    with pytest.raises(errors.InvalidOptions, match="has no zone"):
        schedule.drain(schedule.create(name, redis=server.url), now=datetime(2030, 3, 1))
