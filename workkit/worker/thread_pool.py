"""Threads over one queue. Each submitted piece of work is done once, in some thread, unless it is withdrawn first."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadPool(Generic[T]):
    """A fixed number of daemon threads: a handler that never ends must not keep the process from ending.

    Idle threads are woken one by one and help themselves from the queue until it is empty, so that many short pieces
    cost one wake-up. All but the work itself is for one thread, the owner's.
    """

    def __init__(self, threads: int, do: Callable[[T], None]) -> None:
        self._do = do
        self._queue: deque[T] = deque()
        self._parked: deque[SimpleQueue[bool]] = deque()
        self._bells: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(threads)]
        self._threads = [
            threading.Thread(target=self._serve, args=(bell,), name=f"workkit-{n}", daemon=True)
            for n, bell in enumerate(self._bells, 1)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, work: Iterable[T]) -> None:
        """Add pieces of work; call `wake` to start threads on them. Doing a piece must not raise."""
        self._queue.extend(work)

    @property
    def unbegun(self) -> int:
        """How many pieces no thread has begun."""
        return len(self._queue)

    def wake(self, threads: int) -> None:
        """Wake up to so many idle threads, no more than there is work for."""
        for _ in range(min(threads, len(self._queue))):
            try:
                bell = self._parked.popleft()
            except IndexError:
                return
            bell.put(True)

    def withdraw(self) -> list[T]:
        """Take back what no thread has begun."""
        taken: list[T] = []
        while True:
            try:
                taken.append(self._queue.popleft())
            except IndexError:
                return taken

    def close(self) -> None:
        """Let each thread end after what it is doing."""
        for bell in self._bells:
            bell.put(False)

    def _serve(self, bell: SimpleQueue[bool]) -> None:
        take, do = self._queue.popleft, self._do
        while True:
            try:
                while True:
                    do(take())
            except IndexError:
                pass
            self._parked.append(bell)
            if self._queue:  # submitted after the last look, before this thread was parked
                try:
                    self._parked.remove(bell)
                except ValueError:
                    pass  # it is being woken anyway
                else:
                    continue
            if not bell.get():
                return
