"""What other threads tell the loop: messages in order, and one bell for however many there are."""

from __future__ import annotations

from collections import deque
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """Any thread, or signal handler, puts; one thread takes. The bell is rung for the first message only, since each
    ring makes the taker wake up and ask for the interpreter.
    """

    def __init__(self) -> None:
        self._messages: deque[T] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._rung = False

    def put(self, message: T) -> None:
        """Leave a message."""
        self._messages.append(message)
        if not self._rung:
            self._rung = True
            self._bell.put(None)

    def take(self, wait: float) -> list[T]:
        """All messages so far; waits up to so many seconds for the first."""
        try:
            if wait > 0:
                self._bell.get(timeout=wait)
            else:
                self._bell.get_nowait()
        except Empty:
            return []
        self._rung = False  # before looking: what comes from here on rings again
        found: list[T] = []
        while True:
            try:
                found.append(self._messages.popleft())
            except IndexError:
                return found
