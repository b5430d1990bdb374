"""Threads over one queue, and the inbox: each piece of work is done once, and each message is taken once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, cast

from tests.processes import until
from workkit.jobs.registry import Registry
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox
from workkit.worker.runner import Threads


class Clockless:
    """A lane whose clock nobody reads."""

    def estimate_clock(self, now: float) -> None:
        """Do nothing."""


class Piece:
    """Work that has a number."""

    lane = Clockless()

    def __init__(self, number: int) -> None:
        self.number = number


class Pool(Threads):
    """Threads that do any work."""

    def __init__(self, threads: int, work: Callable[[int], None]) -> None:
        super().__init__(threads, executor=Executor(Registry()), inbox=Inbox())
        self.work = work
        self.open()

    def _do(self, task: Any) -> None:
        self.work(task.number)

    def begin(self, numbers: Iterable[int], *, is_short: bool = False) -> None:
        """Submit work; one thread is woken if it `is_short`, else all."""
        self._mean = 1e-9 if is_short else 0.0
        self.submit(cast(Any, [Piece(number) for number in numbers]))
        self.flush()


def test_every_piece_is_done_once_however_it_comes_in() -> None:
    done: list[int] = []
    pool = Pool(4, done.append)
    chance, n = random.Random(7), 0
    for _ in range(3000):
        batch = range(n, n + chance.choice((1, 1, 2, 30)))
        n = batch.stop
        pool.begin(batch, is_short=chance.random() < 0.5)
        if chance.random() < 0.1:
            time.sleep(0.0002)  # let threads park, so that the next piece finds them asleep
    until(lambda: len(done) >= n)
    assert Counter(done) == Counter(range(n))
    pool.close()


def test_work_submitted_while_a_thread_parks_is_done() -> None:
    done: SimpleQueue[int] = SimpleQueue()
    pool = Pool(1, done.put)
    for n in range(2000):
        pool.begin([n])
        assert done.get(timeout=10) == n
    pool.close()


def test_work_that_no_thread_has_begun_is_taken_back_once() -> None:
    begun, gate = threading.Event(), threading.Event()
    done: list[int] = []

    def do(n: int) -> None:
        begun.set()
        gate.wait(10)
        done.append(n)

    pool = Pool(1, do)
    pool.begin([1, 2, 3, 4])
    assert begun.wait(10)
    assert pool.unbegun == 3
    taken = pool.take_back(lambda task: cast(Any, task).number == 3)
    assert [cast(Any, task).number for task in taken] == [3]
    assert pool.unbegun == 2
    assert [cast(Any, task).number for task in pool.take_back()] == [2, 4]
    assert pool.take_back() == []
    assert len(pool.held) == 1
    gate.set()
    pool.close()
    until(lambda: done == [1])
    assert pool.unbegun == 0


def test_closing_ends_idle_threads_at_once_and_busy_ones_after_their_work() -> None:
    gate = threading.Event()
    before = threading.active_count()
    pool = Pool(3, lambda _: cast(None, gate.wait(10)))
    pool.begin([1], is_short=True)
    pool.close()
    until(lambda: threading.active_count() == before + 1)
    gate.set()
    until(lambda: threading.active_count() == before)


def test_no_message_is_left_in_the_inbox() -> None:
    inbox: Inbox[int] = Inbox()

    def send(first: int) -> None:
        for n in range(first, first + 5000):
            inbox.put(n)

    senders = [threading.Thread(target=send, args=(first,)) for first in range(0, 20_000, 5000)]
    for sender in senders:
        sender.start()
    found: list[int] = []
    while len(found) < 20_000:
        more = inbox.take(5.0)
        assert more or len(found) == 20_000, f"{20_000 - len(found)} messages wait, and no bell is rung"
        found += more
    assert sorted(found) == list(range(20_000))
    assert [n for n in found if n < 5000] == list(range(5000)), "one sender's messages changed places"
    assert inbox.take(0) == []
