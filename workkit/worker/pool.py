"""Threads over one queue. What is handed in is called once, in some thread, unless it is withdrawn before."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

Work = Callable[[], None]


class Pool:
    """A fixed number of daemon threads: a handler that never ends must not keep the process from ending."""

    def __init__(self, threads: int) -> None:
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"workkit-{n}", daemon=True) for n in range(1, threads + 1)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work) -> None:
        """Hand one piece of work to whichever thread is free first. It must not raise."""
        self._queue.put(work)

    def withdraw(self) -> list[Work]:
        """Take back what no thread has begun."""
        taken: list[Work] = []
        while True:
            try:
                work = self._queue.get_nowait()
            except Empty:
                return taken
            if work is not None:
                taken.append(work)

    def close(self) -> None:
        """Let each thread end after what it is doing."""
        for _ in self._threads:
            self._queue.put(None)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
