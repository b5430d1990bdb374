"""Messages from other threads to the loop, in order, with one wake-up for any number of them."""

from __future__ import annotations

from collections import deque
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    """Any thread or signal handler puts messages in; one thread takes them. Only the first message rings the bell,
    since each ring wakes the taker, which then asks for the interpreter.
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
        self._rung = False  # before the read: any later message rings again
        found: list[T] = []
        while True:
            try:
                found.append(self._messages.popleft())
            except IndexError:
                return found
