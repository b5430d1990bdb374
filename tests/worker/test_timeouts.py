"""Timeouts: a function is interrupted in its thread, a coroutine is cancelled, no other run is hit."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from tests import handlers
from tests.metronome import Metronome
from tests.processes import until
from tests.worker.observation import HOW, named
from workkit import schedule
from workkit.errors import JobTimeout
from workkit.events import Event
from workkit.worker.run.interruption import Clock, Timeouts


@pytest.mark.parametrize("fn", [handlers.spin, handlers.sleep_async], ids=["function", "coroutine"])
def test_a_run_that_takes_too_long_fails(s: schedule.Schedule, seen: list[Event], fn: Any, machine: Metronome) -> None:
    with schedule.listener(s, threads=1, **HOW):
        schedule.add_now(s, fn, args=[20], timeout="0.3s")
        (failed,) = until(lambda: named(seen, "failed"))
        schedule.add_now(s, handlers.note, args=["the thread is free"])
        until(lambda: ("the thread is free",) in handlers.calls)
    assert failed.fields["error_type"] == "JobTimeout"
    assert failed.fields["error"] == "took longer than its timeout of 0.3 s"
    assert failed.fields["where"].startswith("handlers.py:")
    assert 300 <= failed.fields["took_ms"] < 3000 + 1000 * machine.slack
    assert [call for call in handlers.calls if call[0] == "cleaned up"]
    (dead,) = schedule.jobs(s, state="dead")
    assert dead.error is not None
    assert dead.error.startswith("JobTimeout: took longer")


def test_a_timeout_is_an_error_like_any_other_to_a_policy(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.spin, args=[20], timeout="0.1s", retries=1, base="0s")
        until(lambda: named(seen, "dead"))
    assert named(seen, "failed")[0].fields["again_ms"] == 0
    assert named(seen, "dead")[0].fields["attempt"] == 2


def test_the_timeout_of_a_job_wins_over_that_of_its_handler(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.spin_briefly, args=[0.5])
        until(lambda: named(seen, "failed"))
        schedule.add_now(s, handlers.spin_briefly, args=[0.5], timeout="20s")
        until(lambda: named(seen, "done"))


def test_extend_gives_more_time(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.extend_then_spin, args=["20s", 0.6], timeout="0.3s")
        until(lambda: named(seen, "done") or named(seen, "failed"))
    assert not named(seen, "failed")


def test_an_ended_run_is_never_interrupted() -> None:
    timeouts = Timeouts()
    struck: list[BaseException] = []

    def race(n: int) -> None:
        """End as near to the timeout as can be; then no exception may come."""
        clock = Clock(2)
        timeouts.watch(clock)
        try:
            try:
                until_over = clock.ends_at + n % 7 * 1e-5
                while time.monotonic() < until_over:
                    pass
            finally:
                clock.stop()
        except JobTimeout:
            clock.stop()
        timeouts.forget(clock)
        try:
            for _ in range(1000):
                pass
            time.sleep(0.001)
        except JobTimeout as error:
            struck.append(error)

    def races() -> None:
        for n in range(100):
            race(n)

    threads = [threading.Thread(target=races) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    timeouts.close()
    assert struck == []
    assert timeouts._clocks == set()


def test_a_coroutine_that_is_cancelled_by_itself_is_no_timeout(s: schedule.Schedule, seen: list[Event]) -> None:
    with schedule.listener(s, **HOW):
        schedule.add_now(s, handlers.cancel_itself, timeout="20s")
        (failed,) = until(lambda: named(seen, "failed"))
    assert failed.fields["error_type"] == asyncio.CancelledError.__name__
