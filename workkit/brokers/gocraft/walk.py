"""List the jobs of a namespace while pools move them from place to place."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from workkit.brokers.gocraft.places import SORTED_SETS, Places, SortedSet, Standing
from workkit.brokers.gocraft.queue_cursor import QueueCursor
from workkit.brokers.redis_server.pages import piped
from workkit.jobs.job import JobState

RUNNING: tuple[JobState, ...] = ("running", "cancelling")
QUEUED: tuple[JobState, ...] = ("due", "paused")
STATE: dict[SortedSet, JobState] = {
    "scheduled": "waiting", "held": "waiting", "retry": "retrying", "held_retry": "retrying", "dead": "dead"
}  # fmt: skip


class Walk:
    """One listing of a namespace.

    It begins with one look: in one step it reads what all pools have in progress, and the first page of each queue and
    sorted set. So if each of these fits a page (500 jobs), the listing has every text that exists, and each once. Of a
    longer one, the further pages are read one by one, each from behind the last text of the page before. A text that
    the first look found in progress is left out there. What pools take before its page is read is found by `again`, if
    it is in progress or in a first page then.

    With a `state` only the places that can hold such jobs are read. It remembers 8 bytes of each text that it has had.
    """

    def __init__(self, places: Places, state: JobState | None = None, *, but_for: Iterable[int] | None = None) -> None:
        self._places, self._but_for = places, but_for
        self._wants_running = state is None or state in RUNNING
        self._wants_queued = state is None or state in QUEUED
        self._sets = {place: places.cursor(place) for place in SORTED_SETS if state in (None, STATE[place])}
        self._queues: dict[str, QueueCursor] = {}
        self._names, self._pools = places.names(), places.pools()
        self._first: dict[SortedSet, list[Standing]] = {}  # what the first look found in each sorted set
        self._first_queued: dict[str, list[Standing]] = {}
        self._in_progress = self._look()
        self._running = {one.id for one, _ in self._in_progress}
        self._had = array("q")

    @property
    def is_long(self) -> bool:
        """Whether there is more than the first look has read; `dead` does not count: nothing leaves it by itself."""
        waiting = [cursor for place, cursor in self._sets.items() if place != "dead"]
        return not all(queue.is_over for queue in self._queues.values()) or not all(one.is_over for one in waiting)

    def again(self) -> Walk:
        """Look again, once, for what this walk has not had."""
        return Walk(self._places, but_for=self._had)

    @property
    def names(self) -> list[str]:
        """The names whose queues are read."""
        return list(self._queues)

    def running(self) -> Iterator[tuple[Standing, bool]]:
        """What the pools have in progress, and whether it was cancelled."""
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
        """The members of one sorted set, by score; dead ones the latest first."""
        if place not in self._sets:
            return
        yield from self._fresh(self._first[place])
        if self._but_for is None:
            for page in self._sets[place].pages():
                yield from self._fresh(self._elsewhere(self._places.in_set(place, page)))

    def _elsewhere(self, found: Iterable[Standing]) -> list[Standing]:
        return [one for one in found if one.id not in self._running]

    def _fresh(self, found: list[Standing]) -> Iterator[Standing]:
        """Leave out what the walk before has had, and remember the others."""
        marks = [hash(one.id) for one in found]
        met = set(marks).intersection(self._but_for) if self._but_for is not None else ()
        for one, mark in zip(found, marks, strict=True):
            if mark not in met:
                self._had.append(mark)
                yield one

    def _look(self) -> list[tuple[Standing, bool]]:
        """Read all places in one step, also of names and pools that came meanwhile."""
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
