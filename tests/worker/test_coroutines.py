"""The room for coroutines, beside that for functions in threads: neither kind waits for the other."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import named
from workkit import schedule
from workkit.errors import InvalidOptions
from workkit.events import Event

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def add(s: schedule.Schedule, fn: Any, jobs: int) -> None:
    schedule.add_many(s, [{"fn": fn, "args": [n], "when": "now", "unique": False} for n in range(jobs)])


def begun() -> int:
    return len([call for call in handlers.calls if call[0] == "begun"])


def noted(s: schedule.Schedule, fn: Any, jobs: int) -> None:
    """Add jobs behind those that wait, and wait until they have run."""
    add(s, fn, jobs)
    until(lambda: len([call for call in handlers.calls if call[0] not in ("begun", "ended", "b")]) >= jobs)


def wait_in_thread(number: int) -> None:
    handlers.calls.append(("begun", number))
    handlers.gate.wait(30)


def is_settled(s: schedule.Schedule) -> bool:
    return not schedule.counts(s).due + schedule.counts(s).running


@pytest.fixture
def here(s: schedule.Schedule) -> dict[str, Any]:
    return {**HOW, "imports": ["tests.handlers", __name__]}


def test_as_many_coroutines_run_at_once_as_there_is_room_for_and_no_more(
    s: schedule.Schedule, here: dict[str, Any]
) -> None:
    add(s, handlers.await_gate, 250)
    with schedule.listener(s, threads=2, coroutines=200, **here):
        until(lambda: begun() == 200)
        until(lambda: schedule.counts(s).running == 200, what="the rest goes back")
        until(lambda: [(one.busy, one.threads, one.awaited, one.coroutines) for one in schedule.listeners(s)]
              == [(0, 2, 200, 200)])  # fmt: skip
        handlers.gate.set()
        until(lambda: is_settled(s))
    assert Counter(call[1] for call in handlers.calls if call[0] == "begun") == Counter(range(250))


def test_plain_jobs_behind_many_coroutines_do_not_wait_for_them(s: schedule.Schedule, here: dict[str, Any]) -> None:
    add(s, handlers.await_gate, 300)
    with schedule.listener(s, threads=2, coroutines=3, **here):
        until(lambda: begun() == 3)
        noted(s, handlers.note, 20)
        assert begun() == 3
        handlers.gate.set()
        until(lambda: is_settled(s))
    assert begun() == 300


def test_coroutines_behind_many_plain_jobs_do_not_wait_for_them(s: schedule.Schedule, here: dict[str, Any]) -> None:
    add(s, wait_in_thread, 300)
    with schedule.listener(s, threads=2, coroutines=3, **here):
        until(lambda: begun() == 2)
        noted(s, handlers.note_async, 20)
        assert begun() == 2
        handlers.gate.set()
        until(lambda: is_settled(s))
    assert begun() == 300


def test_plain_jobs_behind_many_short_coroutines_do_not_wait_for_all_of_them(
    s: schedule.Schedule, here: dict[str, Any]
) -> None:
    add(s, handlers.pause_async, 400)  # 20 s of work
    add(s, handlers.note, 5)
    with schedule.listener(s, threads=2, coroutines=2, **here):
        until(lambda: len([call for call in handlers.calls if call != "paused"]) == 5)
        assert len(handlers.calls) < 200
        until(lambda: len(handlers.calls) > 50, what="coroutines that were passed by")


def test_another_listener_with_room_takes_the_coroutines_that_have_none_here(
    s: schedule.Schedule, here: dict[str, Any]
) -> None:
    add(s, handlers.await_gate, 12)
    with schedule.listener(s, threads=2, coroutines=2, **here):
        until(lambda: begun() == 2)
        with schedule.listener(s, threads=2, coroutines=10, **here):
            until(lambda: begun() == 12)
            handlers.gate.set()
            until(lambda: is_settled(s))


def test_a_coroutine_begins_soon_after_another_has_made_room(s: schedule.Schedule, here: dict[str, Any]) -> None:
    """Work that was passed by is offered again at once, not with the next heartbeat."""
    add(s, handlers.pause_async, 60)
    with schedule.listener(s, threads=5, coroutines=2, **here):
        until(lambda: len(handlers.calls) >= 20)
        until(lambda: len(handlers.calls) == 60, timeout=6)


def test_coroutines_within_plain_middleware_have_the_same_room(s: schedule.Schedule, here: dict[str, Any]) -> None:
    names: list[str] = []

    @s.middleware
    def around() -> Iterator[None]:
        names.append(threading.current_thread().name)
        yield

    add(s, handlers.await_gate, 30)
    with schedule.listener(s, threads=2, coroutines=20, **here):
        until(lambda: begun() == 20)
        noted(s, handlers.note, 5)
        handlers.gate.set()
        until(lambda: is_settled(s))
    assert names.count("workkit-coroutine") == 30


def test_all_of_many_coroutines_are_cancelled_or_end_by_their_timeouts(
    s: schedule.Schedule, here: dict[str, Any], seen: list[Event]
) -> None:
    jobs = [schedule.add_now(s, handlers.await_gate, args=[n], unique=False) for n in range(20)]
    schedule.add_many(
        s, [{"fn": handlers.await_gate, "args": [n], "when": "now", "timeout": "0.2s"} for n in range(50)]
    )
    with schedule.listener(s, threads=1, coroutines=40, **here):
        until(lambda: len(named(seen, "failed")) == 50)
        assert {event.fields["error_type"] for event in named(seen, "failed")} == {"JobTimeout"}
        for job in jobs:
            schedule.cancel(s, job)
        until(lambda: is_settled(s))
    assert not [call for call in handlers.calls if call[0] == "ended"]


def test_a_stop_gives_back_what_has_not_begun_and_at_the_deadline_the_rest(
    s: schedule.Schedule, here: dict[str, Any]
) -> None:
    add(s, handlers.await_gate, 40)
    with schedule.listener(s, threads=1, coroutines=30, **here) as listener:
        until(lambda: begun() == 30)
        tally = listener.stop("0.2s")
    assert tally.given_back >= 30
    assert schedule.counts(s).due == 40
    handlers.gate.set()
    with schedule.listener(s, threads=1, coroutines=30, **here):
        until(lambda: is_settled(s))


def test_a_limit_of_a_coroutine_holds_beside_the_room(s: schedule.Schedule, here: dict[str, Any]) -> None:
    handlers.gate.set()
    most = 0
    add(s, handlers.one_of_three, 30)
    with schedule.listener(s, threads=1, coroutines=50, **here):
        until(lambda: is_settled(s))
    at_once = 0
    for call in handlers.calls:
        at_once += 1 if call == "begun" else -1
        most = max(most, at_once)
    assert most == 3


def test_a_burst_runs_all_coroutines_beyond_its_room(s: schedule.Schedule, here: dict[str, Any]) -> None:
    add(s, handlers.pause_async, 60)
    add(s, handlers.note, 10)
    assert schedule.listen(s, threads=2, coroutines=5, burst=True, **here).ran == 70


@pytest.mark.parametrize("number", [0, 10_001, "many", True])
def test_a_wrong_number_of_coroutines_is_refused(s: schedule.Schedule, number: Any) -> None:
    with pytest.raises(InvalidOptions, match="coroutines"):
        schedule.listener(s, coroutines=number)


APP = """
import asyncio
import time

async def mail(number):
    await asyncio.sleep(0.1)

def wait(number):
    time.sleep(30)
"""


def test_many_coroutines_take_the_time_of_a_few_beside_busy_threads(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    """One after the other, ten at a time, they would take 10 s. The functions are found by the folder."""
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "app:mail", args=[-1])
    listening = processes.workkit("listen", name, "--coroutines", "200", "--threads", "2", "--redis", server.url)
    listening.wait_for("2 threads, 200 coroutines")
    until(lambda: is_settled(s), what="the first coroutine, by which the listener knows the function")
    schedule.add_many(s, [{"fn": "app:wait", "args": [n], "when": "now"} for n in range(4)])
    until(lambda: schedule.counts(s).running >= 2)
    begun_at = time.monotonic()
    schedule.add_many(s, [{"fn": "app:mail", "args": [n], "when": "now"} for n in range(1000)])
    until(lambda: schedule.counts(s).due + schedule.counts(s).running == 4)
    assert time.monotonic() - begun_at < 8
    listening.send(signal.SIGKILL)
