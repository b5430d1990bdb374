"""A rate holds for the starts of a real listener, also after a moment in which it could start nothing."""

from __future__ import annotations

import bisect
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from tests import handlers
from tests.metronome import Metronome
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import calls
from workkit import current_job, job, schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers", __name__], "folder": None}
PACED, RATE, BURST = 40, 20, 2


@job(rate=f"{RATE}/s")
def paced(number: int) -> None:
    handlers.calls.append(time.monotonic())


@job(rate="100/minute", limit_key="who")
def rare(who: str, number: int) -> None:
    handlers.calls.append((who, number))


@job(rate="4/s", retries=1, base="0s", jitter=False)
def steady(label: str) -> None:
    handlers.calls.append((label, current_job().due))
    if label == "fails" and current_job().attempt == 0:
        raise OSError("disk full")


@job(rate={"gold": "1000/s", "": "2/minute", "silver": "20/s"}, limit_key="who")
def classed(who: Any, number: int) -> None:
    handlers.calls.append((who, number))


@job(rate={"gold": "1/minute"}, limit_key="who")
def partly(who: str, number: int) -> None:
    handlers.calls.append((who, number))


def most_within(seconds: float, times: list[float]) -> int:
    """The most of these times in any span of so many seconds."""
    times = sorted(times)
    return max(bisect.bisect_left(times, at + seconds) - n for n, at in enumerate(times))


def test_starts_keep_their_rate_after_a_busy_moment(server: Server, name: str, machine: Metronome) -> None:
    s = schedule.create(name, redis=server.url)
    client = server.client()
    with schedule.listener(s, threads=3, **HOW):
        for number in range(PACED):
            schedule.add_now(s, paced, args=[number])
        until(lambda: client.zcard(f"{name}:again") >= PACED - 10, what="turns to be taken")
        for _ in range(3):
            schedule.add_now(s, handlers.wait_for_gate, priority=3)
        until(lambda: handlers.calls.count("begun") == 3, what="the listener to be busy")
        last = client.zrange(f"{name}:again", -1, -1, withscores=True)[0][1]
        until(lambda: time.time() * 1000 > last, what="all turns to pass")
        opened, before = time.monotonic(), len(handlers.calls)
        handlers.gate.set()
        until(calls(PACED + 3), what="all to run")
    late = sorted(handlers.calls[before:])
    assert len(late) > PACED / 2
    assert [n for n, at in enumerate(late) if at < opened + (n - BURST) / RATE] == []
    # Whoever was held up may start what it had in hand at once: in so much more time more turns come.
    times = [call for call in handlers.calls if call != "begun"]
    assert most_within(1.0, times) <= RATE * (1.0 + machine.slack) + BURST


def test_what_waits_for_its_turn_is_held_until_it_runs(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for number in range(3):
        schedule.add_now(s, rare, args=["ann", number])
    schedule.add_now(s, rare, args=["bob", 9])
    assert schedule.drain(s, **HOW).ran == 2
    counts = schedule.counts(s)
    assert (counts.held, counts.retrying, counts.due, counts.waiting) == (2, 0, 0, 0)
    why = 'tests.worker.test_rate.rare is held by its rate 100/minute for "ann"'
    assert [(job.state, job.why, job.attempt) for job in schedule.jobs(s)] == [("held", why, 0)] * 2
    with schedule.listener(s, **HOW):
        until(lambda: not any(schedule.jobs(s)), what="all to run")
    assert sorted(handlers.calls) == [("ann", 0), ("ann", 1), ("ann", 2), ("bob", 9)]
    assert not server.client().exists(f"{name}:turns")


def test_a_drain_that_pretends_the_time_leaves_nothing_held(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for number in range(3):
        schedule.add_now(s, rare, args=["ann", number])
    assert schedule.drain(s, **HOW).ran == 1
    assert schedule.drain(s, now=datetime.now(UTC) + timedelta(hours=1), **HOW).ran == 2
    assert schedule.counts(s).held == 0
    assert not server.client().exists(f"{name}:turns")


def test_an_urgent_job_and_a_retry_start_before_those_that_came_earlier(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    client = server.client()
    schedule.add_now(s, steady, args=["fails"])
    for number in range(12):
        schedule.add_now(s, steady, args=[str(number)])
    with schedule.listener(s, threads=3, **HOW):
        until(lambda: client.zcard(f"{name}:again") >= 11, what="turns to be taken")
        schedule.add_now(s, steady, args=["urgent"], priority=3)
        until(calls(15), what="all to run")
    labels = [label for label, _ in handlers.calls]
    assert all(label.isdigit() for label in labels[-4:]), labels
    dues = [due for label, due in handlers.calls if label.isdigit()]
    assert dues == sorted(dues)
    assert not client.exists(f"{name}:order", f"{name}:again")


def test_each_class_of_a_limit_key_has_its_own_rate(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for who in ("gold:acme", "gold", "gold:acme", "silver:x", "bob", "bob", "goldie", "goldie", 5, 5):
        schedule.add_now(s, classed, args=[who, 1], unique=False)
    with schedule.listener(s, **HOW):
        until(calls(7), what="those with a turn to run")
        until(lambda: schedule.counts(s).running == 0, what="the listener to rest")
        held = sorted((str(job.args[0]), job.why) for job in schedule.jobs(s))
    function = "tests.worker.test_rate.classed"
    assert held == [
        ("5", f"{function} is held by its rate 2/minute for 5"),
        ("bob", f'{function} is held by its rate 2/minute for "bob"'),
        ("goldie", f'{function} is held by its rate 2/minute for "goldie"'),
    ]


def test_keys_of_no_named_class_have_no_rate(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    for who in ("gold:a", "bob", "bob", "bob", "gold:a", "bob"):
        schedule.add_now(s, partly, args=[who, 1], unique=False)
    with schedule.listener(s, **HOW):
        until(calls(5), what="those without a rate to run")
        assert [job.args[0] for job in schedule.jobs(s, state="held")] == ["gold:a"]
    assert handlers.calls.count(("bob", 1)) == 4
