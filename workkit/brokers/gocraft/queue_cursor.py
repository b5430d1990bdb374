"""Page through a queue, a list whose next job is its last element, while pools take jobs from it. A text that stays is
read once; a page that began at a number would pass over as many as were taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workkit.brokers.redis_server.pages import PAGE, piped
from workkit.brokers.redis_server.server import Server

_ASKED = 3  # texts of the last page that the server is asked for, if none of them is near


class QueueCursor:
    """A place in a queue: behind the texts of the last page. Numbers count from the next job, from 0.

    Each page is asked for from the last text on. Once that was not where it had been, it is asked for from a page
    earlier. If no text of the last page is there, the server looks for some of them. If it finds none, all that was
    read has been taken.
    """

    def __init__(self, server: Server, key: str) -> None:
        self.is_over = False  # whether the last page reached the end
        self._server, self._key = server, key
        self._page: list[bytes] = []  # the last one that was not empty
        self._at = 0  # the number of its last text, as far as it is known
        self._back = 0  # how many texts before that are asked for too

    def pages(self) -> Iterator[list[bytes]]:
        """Read the pages that are left, next job first."""
        while not self.is_over:
            (window,) = piped(self._server, self.ask)
            if page := self.take(window):
                yield page

    def ask(self, pipe: Any) -> None:
        """Ask for the next page, for a caller that asks for other things in the same step. `take` reads the answer."""
        pipe.lrange(self._key, -(self._start + self._size), -(self._start + 1))

    def take(self, window: list[bytes]) -> list[bytes] | None:
        """Read the answer to `ask`. None: the queue has changed too much; ask again."""
        start, is_end, texts = self._start, len(window) < self._size, window[::-1]
        place = self._last_of(texts, self._at - start) if self._page else -1
        if place is None and self._back:
            self._find()
        if place is None:
            self._back = PAGE
            return None
        fresh = texts[place + 1 :]
        self._at, self._page, self.is_over = max(0, start + len(texts) - 1), fresh or self._page, is_end
        return fresh

    @property
    def _start(self) -> int:
        return max(0, self._at - self._back)

    @property
    def _size(self) -> int:
        return PAGE + (self._at - self._start + 1 if self._page else 0)

    def _last_of(self, texts: list[bytes], expected: int) -> int | None:
        """Find the last text of the page that is there: if it is there more than once, by its old number."""
        if expected < len(texts) and texts[expected] == self._page[-1]:
            return expected
        there = set(texts)
        last = next((text for text in reversed(self._page) if text in there), None)
        if last is None:
            return None
        places = [place for place, text in enumerate(texts) if text == last]
        return max((place for place in places if place <= expected), default=places[0])

    def _find(self) -> None:
        """Ask the server for the number of the last text that is still there."""
        length, *found = piped(self._server, self._look_for, whole=True)
        numbers = [length - 1 - index for index in found if index is not None]
        if not numbers:
            self._page = []
        self._at = numbers[0] if numbers else 0

    def _look_for(self, pipe: Any) -> None:
        pipe.llen(self._key)
        for text in self._page[:: -(len(self._page) // _ASKED + 1)]:
            pipe.lpos(self._key, text, rank=-1, maxlen=self._at + PAGE)
