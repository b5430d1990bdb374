"""Read keys of any size in pages, and several values in one step. Memory is bounded by a page.

A `Cursor` pages through a sorted set that changes meanwhile, so that a member that stays in its place is read once. A
page that began at a number would skip as many members as have left the set before it. A dead set is sorted by the time
of death and is read from a place on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from threading import local
from typing import Any, Final

import msgpack
from redis.exceptions import NoScriptError

from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.errors import InvalidOptions

PAGE = 500
PAGE_BYTES = 4_000_000  # bytes; after a larger page, the next pages have fewer values
MOST_PAGES = 2000  # pages of the names of all keys in a database
STEP = 1000  # names of keys in one page
REST = 2.0  # an unhurried reader rests this many times as long as a page took
_GLOB, _ESCAPED = re.compile(r"([*?\[\]\\^-])"), r"\\\1"
_thread = local()


def hash_pages(server: Server, key: str) -> Iterator[dict[bytes, bytes]]:
    """Read a hash in pages; a field may come twice while the hash changes."""
    cursor, count = 0, PAGE
    while True:
        with server.translated() as client:
            cursor, page = client.hscan(key, cursor, count=count)
        if page:
            yield page
            _rest()
        if not cursor:
            return
        size = sum(map(len, page.values()))
        count = min(PAGE, max(5, len(page) * PAGE_BYTES // size)) if size > PAGE_BYTES else PAGE


def scored_pages(server: Server, key: bytes | str) -> Iterator[list[tuple[bytes, float]]]:
    """Read a sorted set in pages, in no order; a member may come twice while it changes."""
    return _pages(server, lambda client, cursor: client.zscan(key, cursor, count=PAGE))


@contextmanager
def unhurried() -> Iterator[None]:
    """Let this thread rest between pages, so that other threads of its process can run: a read of all jobs would take
    half of their time.
    """
    _thread.since = time.thread_time()
    try:
        yield
    finally:
        _thread.since = None


def _rest() -> None:
    since = getattr(_thread, "since", None)
    if since is not None:
        time.sleep((time.thread_time() - since) * REST)
        _thread.since = time.thread_time()


def set_pages(server: Server, key: bytes | str) -> Iterator[list[bytes]]:
    """Read a set in pages, in no order; a member may come twice while it changes."""
    return _pages(server, lambda client, cursor: client.sscan(key, cursor, count=PAGE))


def piped(server: Server, ask: Callable[[Any], object], *, whole: bool = False, lenient: bool = False) -> list[Any]:
    """Ask several questions in one round trip; `whole`: in one step. The second word of each command is then its key.
    `lenient`: an error of one command, as of a key of another type, is returned in the place of its answer.
    """
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        ask(pipe)
        return _in_one_step(client, list(pipe.command_stack)) if whole else list(pipe.execute(not lenient))


def _in_one_step(client: Any, commands: Sequence[tuple[Sequence[Any], Mapping[str, Any]]]) -> list[Any]:
    """Ask with a script. It only reads, so the client repeats it after a cut connection."""
    if not commands:
        return []
    script, encoded = load("redis_server")["read"], client.get_encoder().encode

    def packed(word: Any) -> bytes:  # names of other programs may be no text, and are kept as bytes
        return bytes(word.encode("utf-8", "surrogateescape") if isinstance(word, str) else encoded(word))

    words = [[packed(word) for word in asked] for asked, _ in commands]
    keys = list(dict.fromkeys(asked[1] for asked in words))
    said = len(keys), *keys, msgpack.packb(words, use_bin_type=False)
    try:
        answers = client.evalsha(script.digest, *said)
    except NoScriptError:
        answers = client.eval(script.text, *said)
    return [_read(asked[0], options, answer) for (asked, options), answer in zip(commands, answers, strict=True)]


def _read(verb: str, options: Mapping[str, Any], answer: Any) -> Any:
    """Read an answer of a script as the answer of a command, for either protocol of the client."""
    match verb:
        case "HGETALL":
            return dict(zip(answer[::2], answer[1::2], strict=True))
        case "SMEMBERS":
            return set(answer)
        case "HEXISTS":
            return bool(answer)
        case "ZSCORE":
            return None if answer is None else float(answer)
        case "ZMSCORE":
            return [None if score is None else float(score) for score in answer]
        case "ZRANGE" | "ZREVRANGE" if options.get("withscores"):
            return list(zip(answer[::2], map(float, answer[1::2]), strict=True))
    return answer


def server_ms(server: Server) -> int:
    """Ask the server's clock."""
    with server.translated() as client:
        return ms_of(client.time())


def ms_of(answer: Sequence[Any]) -> int:
    """Read an answer of TIME, in ms."""
    return int(answer[0]) * 1000 + int(answer[1]) // 1000


def names_behind(server: Server, start: str) -> list[str] | None:
    """Find the keys with names that begin with a text, each without it; None if the database has too many keys. A name
    that is no text is left out.
    """
    cursor, names = 0, []
    for _ in range(MOST_PAGES):
        with server.translated() as client:
            cursor, page = client.scan(cursor, match=literally(start) + "*", count=STEP)
        names += [key.decode().removeprefix(start) for key in page if is_text(key)]
        if not cursor:
            return names
    return None


def is_text(name: bytes) -> bool:
    """Say whether bytes are UTF-8."""
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def literally(text: str) -> str:
    """Write a text as a pattern that matches only this text."""
    return _GLOB.sub(_ESCAPED, text)


def _pages(server: Server, scan: Callable[[Any, int], tuple[int, list[Any]]]) -> Iterator[list[Any]]:
    cursor = 0
    while True:
        with server.translated() as client:
            cursor, page = scan(client, cursor)
        if page:
            yield page
            _rest()
        if not cursor:
            return


Scored = tuple[bytes, float]  # a member, and its score
_AT_FIRST = 20  # earlier members to ask for too, after the last one was not in its place


class Cursor:
    """A place in a sorted set: behind the score and the bytes of the last member that was read.

    Each page is asked for from that member on. While the set changes, it is asked for from some members earlier. If
    even these do not reach the last member, the cursor searches its place, even if that member has left. The number of
    steps grows with the logarithm of the number of equal scores.
    """

    def __init__(self, server: Server, key: str, *, latest_first: bool = False) -> None:
        self.is_over = False  # whether the last page reached the end
        self._server, self._key, self._latest_first = server, key, latest_first
        self._last: Scored | None = None
        self._at = 0  # the number of the last member, as far as it is known
        self._back = 0  # how many members before it are asked for too

    @property
    def place(self) -> tuple[float, bytes]:
        """The score and the bytes of the last member that was read; before all others if there was none."""
        return (self._last[1], self._last[0]) if self._last else (float("-inf"), b"")

    def pages(self) -> Iterator[list[Scored]]:
        """Read the remaining pages."""
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
        """Ask for the next page. The caller may ask other questions in the same step. `take` reads the answer."""
        start = self._start
        pipe.zrange(self._key, start, start + self._size - 1, desc=self._latest_first, withscores=True)

    def take(self, window: list[Scored]) -> list[Scored] | None:
        """Read the answer to `ask`. None: the set has changed too much, and the cursor has found its
        place: ask again.
        """
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
        while low < high:  # it has left: find its old place among those with its score
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


AT_ONCE: Final = 1000  # names that are asked for in one command

Place = tuple[float, bytes]
"""A member of the set, by its score and its name."""


def page_after(client: Any, key: str, place: Place, limit: int) -> tuple[list[tuple[bytes, float]], bool]:
    """Read a limited number of members behind a place, and return whether there are no more. Many may have one score:
    those before the place are read again and left out.
    """
    found: list[tuple[bytes, float]] = []
    start = 0
    while True:
        page = client.zrange(key, place[0], inf, byscore=True, offset=start, num=limit + 1, withscores=True)
        found += [(name, score) for name, score in page if (score, name) > place]
        if len(page) <= limit:
            return found[:limit], len(found) <= limit
        if len(found) > limit:
            return found[:limit], False
        start += len(page)


def stand(client: Any, key: str, names: Sequence[bytes]) -> list[bool]:
    """Say for each name whether it is a member of a sorted set."""
    pipe = client.pipeline(transaction=False)
    for start in range(0, len(names), AT_ONCE):
        pipe.zmscore(key, names[start : start + AT_ONCE])
    return [score is not None for scores in pipe.execute() for score in scores]


def read_place(after: str) -> Place:
    """Read the text of a place; an empty text is the place before all members. Raises InvalidOptions."""
    if not after:
        return -inf, b""
    score, _, name = after.partition(" ")
    try:
        return float(score), bytes.fromhex(name)
    except ValueError:
        trouble, remedy = "is no place in the dead set", "Give the after of a page of dead jobs."
        raise InvalidOptions.about(f"after={after[:100]!r}", trouble, remedy, where="after", given=after) from None


def place_behind(page: Sequence[tuple[bytes, float]], *, after: str) -> str:
    """Write the place behind a page; for an empty page, the place at which it began."""
    return f"{page[-1][1]!r} {page[-1][0].hex()}" if page else after


def place_before(after: str) -> str:
    """Write the place before all members with the score of this one. Other members may come with the same score and a
    lesser name.
    """
    return f"{after.partition(' ')[0]} " if after else after
