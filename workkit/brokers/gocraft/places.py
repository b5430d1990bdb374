"""Read the jobs of a namespace at their places: in queues, in sorted sets, in progress. Reads page by page, changes
nothing.

A unique job by key runs with the text in its unique key, so that text is the one that is read here. Pools move jobs
meanwhile. So a cursor on a queue, a list that has its next job at its end, reads a text that stays once; and a walk
lists the jobs of the whole namespace.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from itertools import islice
from typing import Any, Final, Literal

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.text import JobText, read, unique_key_of
from workkit.brokers.redis_server.pages import PAGE, Cursor, Scored, piped
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord
from workkit.jobs.job import JobState

SortedSet = Literal["scheduled", "retry", "held", "held_retry", "dead"]
SORTED_SETS: Final[tuple[SortedSet, ...]] = ("scheduled", "retry", "held", "held_retry", "dead")
"""The sorted sets, in the order in which the scripts number them, from 1."""
_SIMPLE = re.compile(r"[0-9A-Za-z_-]+")  # written in JSON as it is
_UNUSUAL = re.compile(  # a text of a job that may have another id than the bytes show, or a short own id
    rb'\\u|nique|"id":"(?:"|[^"]*:)', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One text at its place: `raw`, its exact bytes there; `text`, the job that runs, or None if the bytes are no job
    text.

    `place` is its sorted set, "queue", or "running". `name` is the name of its queue. `score` is in seconds.
    """

    place: SortedSet | Literal["queue", "running"]
    name: str
    raw: bytes
    text: JobText | None
    score: float = 0.0
    pool: str = ""

    @property
    def id(self) -> str:
        """The id of its job; for a text without an id, the SHA-1 of its bytes."""
        found = "" if self.text is None else self.text.id
        return found or sha1(self.raw, usedforsecurity=False).hexdigest()

    def holds_key(self, keys: Keys) -> str:
        """The unique key that it holds while it waits for its first start; empty if it holds none."""
        if self.text is None or not self.text.unique or self.text.fails or self.place in ("running", "dead"):
            return ""
        key = unique_key_of(keys, self.text) or ""
        return key if key.startswith(keys.unique(self.text.name, "")) else ""  # a text may name any key


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one namespace. `about`: an id or the beginning of one. Texts that surely have another id are
    skipped unread.
    """

    server: Server
    keys: Keys
    about: str = ""

    def names(self) -> list[str]:
        """The known job names."""
        return self._members(self.keys.known_jobs)

    def pools(self) -> list[str]:
        """The ids of the listed pools."""
        return self._members(self.keys.worker_pools)

    def running(self, pool: str, names: Sequence[str]) -> Iterator[tuple[Standing, bool]]:
        """The jobs that a pool has in progress, the oldest of each name first, each with whether it was cancelled."""
        cancelled, *lists = piped(self.server, lambda pipe: self.ask_running(pipe, pool, names), whole=True)
        yield from self.in_progress(pool, names, cancelled, lists)

    def ask_running(self, pipe: Any, pool: str, names: Sequence[str]) -> None:
        """Ask for the jobs that a pool has in progress; `in_progress` reads the answers."""
        pipe.smembers(self.keys.cancelled(pool))
        for name in names:
            pipe.lrange(self.keys.in_progress(name, pool), 0, -1)

    def in_progress(
        self, pool: str, names: Sequence[str], cancelled: Container[bytes], lists: Iterable[list[bytes]]
    ) -> Iterator[tuple[Standing, bool]]:
        """Read the answers to the questions of `ask_running`."""
        for name, texts in zip(names, lists, strict=True):
            for raw in reversed(texts):
                if not self._is_other(raw):
                    yield Standing("running", name, raw, _read(raw), pool=pool), raw in cancelled

    def queued(self, name: str) -> Iterator[Standing]:
        """The jobs of one queue, next first."""
        for texts in QueueCursor(self.server, self.keys.queue(name)).pages():
            yield from self.in_queue(name, texts)

    def in_queue(self, name: str, texts: Iterable[bytes]) -> Iterator[Standing]:
        """Read a page of a queue."""
        return self._as_they_run([Standing("queue", name, raw, _read(raw)) for raw in texts if not self._is_other(raw)])

    def timed(self, place: SortedSet) -> Iterator[Standing]:
        """The members of one sorted set, by score; of the dead set, the latest first."""
        for page in self.cursor(place).pages():
            yield from self.in_set(place, page)

    def cursor(self, place: SortedSet) -> Cursor:
        """Make a cursor before the first member of a sorted set."""
        return Cursor(self.server, getattr(self.keys, place), latest_first=place == "dead")

    def in_set(self, place: SortedSet, page: Iterable[Scored]) -> Iterator[Standing]:
        """Read a page of a sorted set."""
        found = []
        for raw, score in page:
            if not self._is_other(raw):
                found.append(timed_standing(place, raw, score))
        return iter(found) if place == "dead" else self._as_they_run(found)

    def everywhere(self) -> Iterator[Standing]:
        """Every text of the namespace: waiting, running and dead jobs."""
        names = self.names()
        for place in SORTED_SETS[:-1]:
            yield from self.timed(place)
        for name in names:
            yield from self.queued(name)
        for pool in self.pools():
            yield from (one for one, _ in self.running(pool, names))
        yield from self.timed("dead")

    def _as_they_run(self, found: Sequence[Standing]) -> Iterator[Standing]:
        """Replace the listed text by the text in the unique key."""
        keys = [one.holds_key(self.keys) for one in found]
        asked = [key for key in keys if key]
        if not asked:
            yield from found
            return
        # another program may have stored any value there
        values = iter(piped(self.server, lambda pipe: [pipe.get(key) for key in asked], lenient=True))
        for one, key in zip(found, keys, strict=True):
            value: Any = next(values) if key else None
            text = _read(value) if isinstance(value, bytes) and value[:1] == b"{" else None
            if text is not None and one.text is not None:  # the replaced text bounds its due time
                text = replace(text, t=max(text.t, one.text.t))
            yield one if text is None else Standing(one.place, one.name, one.raw, text, one.score)

    def _is_other(self, raw: bytes) -> bool:
        """Whether a text has another id than the one that is searched."""
        if not self.about or not _SIMPLE.fullmatch(self.about):
            return False
        return self.about.encode() not in raw and b'"id":"' in raw and not _UNUSUAL.search(raw)

    def _members(self, key: str) -> list[str]:
        with self.server.translated() as client:
            return self.read_names(client.smembers(key))

    def read_names(self, members: Iterable[bytes]) -> list[str]:
        """Read the members of a set of names."""
        return sorted(member.decode("utf-8", "surrogateescape") for member in members)


def timed_standing(place: SortedSet, raw: bytes, score: float) -> Standing:
    """Read a member of a sorted set."""
    text = _read(raw)
    return Standing(place, "" if text is None else text.name, raw, text, score)


def _read(raw: bytes) -> JobText | None:
    try:
        return read(raw)
    except CorruptRecord:
        return None


RUNNING: tuple[JobState, ...] = ("running", "cancelling")
QUEUED: tuple[JobState, ...] = ("due", "paused")
STATE: dict[SortedSet, JobState] = {
    "scheduled": "waiting", "held": "waiting", "retry": "retrying", "held_retry": "retrying", "dead": "dead"
}  # fmt: skip
_ASKED = 3  # texts of the last page to search on the server, if none of them is near


class QueueCursor:
    """A place in a queue: behind the texts of the last page. Numbers count from the next job, from 0.

    Each page is asked for from the last text on. Once that text was not in its place, the page is asked for from a page
    earlier. If no text of the last page is there, the server searches some of them. If it finds none, pools have taken
    all texts that were read.
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
        """Ask for the next page. The caller may ask other questions in the same step. `take` reads the answer."""
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
        """Find the last text of the page that is still there. If the text is there more than once, use
        its old number.
        """
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


class Walk:
    """One listing of a namespace.

    It begins with one look: in one step it reads the jobs that all pools have in progress, and the first page of each
    queue and sorted set. If each of these fits a page (500 jobs), the listing has every text that exists, and each
    once. The further pages of a longer one are read one by one, each from behind the last text of the page before. A
    text that the first look found in progress is left out there. Pools may take jobs before their page is read. `again`
    finds these if they are then in progress or in a first page.

    With a `state`, only the places that can hold such jobs are read. It remembers 8 bytes of each text that it has had.
    """

    def __init__(self, places: Places, state: JobState | None = None, *, but_for: Iterable[int] | None = None) -> None:
        self._places, self._but_for = places, but_for
        self._wants_running = state is None or state in RUNNING
        self._wants_queued = state is None or state in QUEUED
        self._sets = {place: places.cursor(place) for place in SORTED_SETS if state in (None, STATE[place])}
        self._queues: dict[str, QueueCursor] = {}
        self._names, self._pools = places.names(), places.pools()
        self._first: dict[SortedSet, list[Standing]] = {}  # the first look's page of each sorted set
        self._first_queued: dict[str, list[Standing]] = {}
        self._in_progress = self._look()
        self._running = {one.id for one, _ in self._in_progress}
        self._had = array("q")

    @property
    def is_long(self) -> bool:
        """Whether there is more than the first look has read. `dead` does not count: nothing leaves it by itself."""
        waiting = [cursor for place, cursor in self._sets.items() if place != "dead"]
        return not all(queue.is_over for queue in self._queues.values()) or not all(one.is_over for one in waiting)

    def again(self) -> Walk:
        """Look again, once, for texts that this walk has not had."""
        return Walk(self._places, but_for=self._had)

    @property
    def names(self) -> list[str]:
        """The names of the queues that are read."""
        return list(self._queues)

    def running(self) -> Iterator[tuple[Standing, bool]]:
        """The jobs that the pools have in progress, each with whether it was cancelled."""
        fresh = {id(one) for one in self._fresh([one for one, _ in self._in_progress])}
        return (pair for pair in self._in_progress if id(pair[0]) in fresh)

    def queued(self, name: str) -> Iterator[Standing]:
        """The jobs of one queue, next first."""
        cursor = self._queues[name]
        yield from self._fresh(self._first_queued[name])
        if self._but_for is None:
            for texts in cursor.pages():
                yield from self._fresh(self._elsewhere(self._places.in_queue(name, texts)))

    def timed(self, place: SortedSet) -> Iterator[Standing]:
        """The members of one sorted set, by score; of the dead set, the latest first."""
        if place not in self._sets:
            return
        yield from self._fresh(self._first[place])
        if self._but_for is None:
            for page in self._sets[place].pages():
                yield from self._fresh(self._elsewhere(self._places.in_set(place, page)))

    def _elsewhere(self, found: Iterable[Standing]) -> list[Standing]:
        return [one for one in found if one.id not in self._running]

    def _fresh(self, found: list[Standing]) -> Iterator[Standing]:
        """Leave out texts that the walk has had, and remember the others."""
        marks = [hash(one.id) for one in found]
        met = set(marks).intersection(self._but_for) if self._but_for is not None else ()
        for one, mark in zip(found, marks, strict=True):
            if mark not in met:
                self._had.append(mark)
                yield one

    def _look(self) -> list[tuple[Standing, bool]]:
        """Read all places in one step, including names and pools that came meanwhile."""
        places = self._places
        while True:
            if self._wants_queued:
                keys = places.keys
                self._queues = {name: QueueCursor(places.server, keys.queue(name)) for name in self._names}
            answers = iter(piped(places.server, self._ask, whole=True))
            names, pools = places.read_names(next(answers)), places.read_names(next(answers))
            if not {*names}.issubset(self._names) or not {*pools}.issubset(self._pools):
                self._names, self._pools = sorted({*names, *self._names}), sorted({*pools, *self._pools})
                continue
            running: list[tuple[Standing, bool]] = []
            for pool in self._pools if self._wants_running else ():
                lists = list(islice(answers, 1 + len(self._names)))
                running += places.in_progress(pool, self._names, lists[0], lists[1:])
            queued = {name: cursor.take(next(answers)) or [] for name, cursor in self._queues.items()}
            timed = {place: cursor.take(next(answers)) or [] for place, cursor in self._sets.items()}
            self._first_queued = {name: list(places.in_queue(name, texts)) for name, texts in queued.items()}
            self._first = {place: list(places.in_set(place, page)) for place, page in timed.items()}
            return running

    def _ask(self, pipe: Any) -> None:
        keys = self._places.keys
        pipe.smembers(keys.known_jobs)
        pipe.smembers(keys.worker_pools)
        for pool in self._pools if self._wants_running else ():
            self._places.ask_running(pipe, pool, self._names)
        for queue in self._queues.values():
            queue.ask(pipe)
        for cursor in self._sets.values():
            cursor.ask(pipe)
