"""The thread pool and the inbox: each piece of work is done once, and each message is taken once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from queue import SimpleQueue

from tests.processes import until
from workkit.worker.inbox import Inbox
from workkit.worker.thread_pool import ThreadPool


def test_every_piece_is_done_once_however_it_comes_in() -> None:
    done: list[int] = []
    pool: ThreadPool[int] = ThreadPool(4, done.append)
    pool.start()
    chance, n = random.Random(7), 0
    for _ in range(3000):
        batch = range(n, n + chance.choice((1, 1, 2, 30)))
        n = batch.stop
        pool.submit(batch)
        pool.wake(chance.choice((1, 4)))
        if chance.random() < 0.1:
            time.sleep(0.0002)  # let threads park, so that the next piece finds them asleep
    until(lambda: len(done) >= n)
    assert Counter(done) == Counter(range(n))
    pool.close()


def test_work_submitted_while_a_thread_parks_is_done() -> None:
    done: SimpleQueue[int] = SimpleQueue()
    pool: ThreadPool[int] = ThreadPool(1, done.put)
    pool.start()
    for n in range(2000):
        pool.submit([n])
        pool.wake(1)
        assert done.get(timeout=10) == n
    pool.close()


def test_work_that_no_thread_has_begun_is_taken_back_once() -> None:
    begun, gate = threading.Event(), threading.Event()
    done: list[int] = []

    def do(n: int) -> None:
        begun.set()
        gate.wait(10)
        done.append(n)

    pool: ThreadPool[int] = ThreadPool(1, do)
    pool.start()
    pool.submit([1, 2, 3])
    pool.wake(1)
    assert begun.wait(10)
    assert pool.unbegun == 2
    assert pool.withdraw() == [2, 3]
    gate.set()
    pool.close()
    until(lambda: done == [1])
    assert pool.unbegun == 0


def test_closing_ends_idle_threads_at_once_and_busy_ones_after_their_work() -> None:
    gate = threading.Event()
    before = threading.active_count()

    def do(_: int) -> None:
        gate.wait(10)

    pool: ThreadPool[int] = ThreadPool(3, do)
    pool.start()
    pool.submit([1])
    pool.wake(1)
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
