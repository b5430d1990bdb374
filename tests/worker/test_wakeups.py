"""A listener wakes for what it has re-armed itself: the next occurrence of a recurring job, a further attempt."""

from __future__ import annotations

import statistics
import threading
from itertools import pairwise
from typing import Any

from tests import handlers
from tests.brokers.test_native_session import listening
from tests.metronome import Metronome
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.events import Event
from workkit.worker.lane import Lane

SOON = 100  # ms; without a wake-up of its own it would be the next look, up to a second later


def test_a_recurring_job_starts_in_time_every_time(
    server: Server, name: str, seen: list[Event], machine: Metronome
) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, **HOW):
        schedule.add(s, handlers.note, every="second", args=[1])
        until(lambda: len(named(seen, "done")) == 5, timeout=15)
    late = [event.fields["late_ms"] for event in named(seen, "done")]
    assert statistics.median(late) < SOON + 1000 * machine.slack, late


def test_a_further_attempt_starts_after_its_pause_and_not_long_after(
    server: Server, name: str, seen: list[Event], machine: Metronome
) -> None:
    s = schedule.create(name, redis=server.url)
    with schedule.listener(s, **HOW):
        how: dict[str, Any] = {"retries": 9, "backoff": "constant", "base": "0.15s", "jitter": False}
        schedule.add_now(s, handlers.fail, **how)
        until(lambda: named(seen, "dead"), timeout=15)
    times = [event.time for event in named(seen, "failed")]
    pauses = [(after - before) * 1000 for before, after in pairwise(times)]
    assert min(pauses) >= 149
    assert statistics.median(pauses) < 150 + SOON + 1000 * machine.slack, pauses


def test_the_answer_to_an_admission_bears_the_next_due_time(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add(s, "app:note", every="second")
    b, _ = listening(server, name)
    turn = b.admit([(c, None) for c in until(lambda: b.claim(1).claims)])
    assert turn.wake_in_ms is not None
    assert 0 < turn.wake_in_ms < 1000
    b.leave()


def test_a_listener_takes_no_further_wake_up_before_its_loop_has_looked(server: Server, name: str) -> None:
    broker, _ = listening(server, name)
    lane, over = Lane(broker), threading.Event()
    posted: list[Lane] = []
    server.client().lpush(f"{name}:wake", 1, 1)
    lane.listen_for_tokens(posted.append, over)
    try:
        for n in (1, 2):
            lane.room.set()
            until(lambda n=n: len(posted) == n)  # type: ignore[misc]
            assert not lane.room.is_set()
            assert server.client().llen(f"{name}:wake") == 2 - n
    finally:
        over.set()
        lane.close()
