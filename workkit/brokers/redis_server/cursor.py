"""Page through a sorted set that changes meanwhile. A member that stays in its place is read once.

A page that began at a number would pass over as many members as have left the set before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workkit.brokers.redis_server.pages import PAGE, piped
from workkit.brokers.redis_server.server import Server

Scored = tuple[bytes, float]  # a member, and its score
_AT_FIRST = 20  # members before the last one that are asked for too, once it was not where it had been


class Cursor:
    """A place in a sorted set: behind the score and the bytes of the last member that was read.

    Each page is asked for from that member on. While the set changes, it is asked for from some members earlier. If
    even these do not reach the last one, the cursor looks for its place, also if that member has left, in a number of
    steps that grows with the logarithm of the number of equal scores.
    """

    def __init__(self, server: Server, key: str, *, latest_first: bool = False) -> None:
        self.is_over = False  # whether the last page reached the end
        self._server, self._key, self._latest_first = server, key, latest_first
        self._last: Scored | None = None
        self._at = 0  # the number of the last member, as far as it is known
        self._back = 0  # how many members before it are asked for too

    @property
    def place(self) -> tuple[float, bytes]:
        """The score and the bytes of the last member that was read; before all others if none was."""
        return (self._last[1], self._last[0]) if self._last else (float("-inf"), b"")

    def pages(self) -> Iterator[list[Scored]]:
        """Read the pages that are left."""
        while not self.is_over:
            if page := self.page():
                yield page

    def page(self) -> list[Scored]:
        """Read the next page; nothing at the end."""
        while True:
            (window,) = piped(self._server, self.ask)
            page = self.take(window)
            if page is not None:
                return page

    def ask(self, pipe: Any) -> None:
        """Ask for the next page, for a caller that asks for other things in the same step. `take` reads the answer."""
        start = self._start
        pipe.zrange(self._key, start, start + self._size - 1, desc=self._latest_first, withscores=True)

    def take(self, window: list[Scored]) -> list[Scored] | None:
        """Read the answer to `ask`. None: the set has changed too much; the cursor has found its place, ask again."""
        is_end, start = len(window) < self._size, self._start
        place = self._at - start
        is_there = self._last is not None and place < len(window) and window[place] == self._last
        fresh = window[place + 1 :] if is_there else [one for one in window if self.is_after(one)]
        passed = len(window) - len(fresh)
        if (start and not passed) or not (fresh or is_end):
            self._back = 2 * self._back + _AT_FIRST
            self._find()
            return None
        left = max(0, self._at - start + 1 - passed) if self._last else 0
        self._back = min(PAGE, max(2 * left, self._back // 2))
        self._at = max(0, start + len(window) - 1)
        self._last = fresh[-1] if fresh else self._last
        self.is_over = is_end
        return fresh

    def is_after(self, one: Scored) -> bool:
        """Say whether the place of a member is after this one."""
        if self._last is None:
            return True
        (member, score), (last, at) = one, self._last
        return (score, member) < (at, last) if self._latest_first else (score, member) > (at, last)

    @property
    def _start(self) -> int:
        return max(0, self._at - self._back)

    @property
    def _size(self) -> int:
        return PAGE if self._last is None else self._at - self._start + 1 + PAGE

    def _find(self) -> None:
        """Find the number of the last member that is not after this place."""
        assert self._last is not None
        member, score = self._last
        low, high, rank = piped(self._server, lambda pipe: self._around(pipe, member, score), whole=True)
        if rank is not None and low <= rank < high:
            self._at = rank
            return
        while low < high:  # it has left: where would it be among those with its score?
            middle = (low + high) // 2
            with self._server.translated() as client:
                found = client.zrange(self._key, middle, middle, desc=self._latest_first, withscores=True)
            if found and not self.is_after(found[0]):
                low = middle + 1
            else:
                high = middle
        self._at = max(0, low - 1)

    def _around(self, pipe: Any, member: bytes, score: float) -> None:
        """Ask how many members are before a score, how many at most at it, and the number of a member."""
        if self._latest_first:
            pipe.zcount(self._key, f"({score!r}", "+inf")
            pipe.zcount(self._key, repr(score), "+inf")
            pipe.zrevrank(self._key, member)
        else:
            pipe.zcount(self._key, "-inf", f"({score!r}")
            pipe.zcount(self._key, "-inf", repr(score))
            pipe.zrank(self._key, member)


def ordered_pages(server: Server, key: str, *, latest_first: bool = False) -> Iterator[list[Scored]]:
    """Read a sorted set in pages, by score. Each member that stays in its place is read once."""
    return Cursor(server, key, latest_first=latest_first).pages()
