"""The jobs of a namespace where they are: in queues, in sorted sets, in progress. Reads page by page, changes nothing.

A unique job by key runs with the text that its unique key holds; so that text is the one that is read here.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Final, Literal

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.queue_cursor import QueueCursor
from workkit.brokers.gocraft.text import JobText, read
from workkit.brokers.gocraft.unique_key import unique_key_of
from workkit.brokers.redis_server.pages import Cursor, Scored, piped
from workkit.brokers.redis_server.server import Server
from workkit.errors import CorruptRecord

SortedSet = Literal["scheduled", "retry", "held", "held_retry", "dead"]
SORTED_SETS: Final[tuple[SortedSet, ...]] = ("scheduled", "retry", "held", "held_retry", "dead")
"""In the order in which the scripts number them, from 1."""

_SIMPLE = re.compile(r"[0-9A-Za-z_-]+")  # written in JSON as it is
_UNUSUAL = re.compile(  # a text whose job may have another id than the bytes show, or a short one of its own
    rb'\\u|nique|"id":"(?:"|[^"]*:)', re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Standing:
    """One text where it is: `raw`, its exact bytes there; `text`, the job that runs, and None for what is no job text.

    `place` is its sorted set, "queue", or "running". `name` is that of its queue. `score` is in seconds.
    """

    place: SortedSet | Literal["queue", "running"]
    name: str
    raw: bytes
    text: JobText | None
    score: float = 0.0
    pool: str = ""

    @property
    def id(self) -> str:
        """The id of its job; for a text without one, the SHA-1 of its bytes."""
        found = "" if self.text is None else self.text.id
        return found or sha1(self.raw, usedforsecurity=False).hexdigest()

    def holds_key(self, keys: Keys) -> str:
        """The unique key that it holds while it waits for its first start; else nothing."""
        if self.text is None or not self.text.unique or self.text.fails or self.place in ("running", "dead"):
            return ""
        key = unique_key_of(keys, self.text) or ""
        return key if key.startswith(keys.unique(self.text.name, "")) else ""  # a text may name any key


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one namespace. `about`: an id or the beginning of one; texts that surely have another are passed
    over without being read.
    """

    server: Server
    keys: Keys
    about: str = ""

    def names(self) -> list[str]:
        """The job names that are known."""
        return self._members(self.keys.known_jobs)

    def pools(self) -> list[str]:
        """The ids of the pools that are listed."""
        return self._members(self.keys.worker_pools)

    def running(self, pool: str, names: Sequence[str]) -> Iterator[tuple[Standing, bool]]:
        """What a pool has in progress, the oldest of each name first; and whether it was cancelled."""
        cancelled, *lists = piped(self.server, lambda pipe: self.ask_running(pipe, pool, names), whole=True)
        yield from self.in_progress(pool, names, cancelled, lists)

    def ask_running(self, pipe: Any, pool: str, names: Sequence[str]) -> None:
        """Ask for what a pool has in progress; `in_progress` reads the answers."""
        pipe.smembers(self.keys.cancelled(pool))
        for name in names:
            pipe.lrange(self.keys.in_progress(name, pool), 0, -1)

    def in_progress(
        self, pool: str, names: Sequence[str], cancelled: Container[bytes], lists: Iterable[list[bytes]]
    ) -> Iterator[tuple[Standing, bool]]:
        """Read what `ask_running` has asked for."""
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
        """The members of one sorted set, by score; dead ones the latest first."""
        for page in self.cursor(place).pages():
            yield from self.in_set(place, page)

    def cursor(self, place: SortedSet) -> Cursor:
        """Stand before the first member of a sorted set."""
        return Cursor(self.server, getattr(self.keys, place), latest_first=place == "dead")

    def in_set(self, place: SortedSet, page: Iterable[Scored]) -> Iterator[Standing]:
        """Read a page of a sorted set."""
        found = []
        for raw, score in page:
            if not self._is_other(raw):
                found.append(_timed(place, raw, score))
        return iter(found) if place == "dead" else self._as_they_run(found)

    def everywhere(self) -> Iterator[Standing]:
        """Every text of the namespace: what waits, what runs, what is dead."""
        names = self.names()
        for place in SORTED_SETS[:-1]:
            yield from self.timed(place)
        for name in names:
            yield from self.queued(name)
        for pool in self.pools():
            yield from (one for one, _ in self.running(pool, names))
        yield from self.timed("dead")

    def _as_they_run(self, found: Sequence[Standing]) -> Iterator[Standing]:
        """Put the text that a unique key holds in place of the listed one."""
        keys = [one.holds_key(self.keys) for one in found]
        asked = [key for key in keys if key]
        if not asked:
            yield from found
            return
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            for key in asked:
                pipe.get(key)
            values = iter(pipe.execute(raise_on_error=False))  # another program may keep anything there
        for one, key in zip(found, keys, strict=True):
            value: Any = next(values) if key else None
            text = _read(value) if isinstance(value, bytes) and value[:1] == b"{" else None
            if text is not None and one.text is not None:  # what runs is not due before the place that it takes
                text = replace(text, t=max(text.t, one.text.t))
            yield one if text is None else Standing(one.place, one.name, one.raw, text, one.score)

    def _is_other(self, raw: bytes) -> bool:
        """Whether a text cannot be the one that is looked for, because it has another id."""
        if not self.about or not _SIMPLE.fullmatch(self.about):
            return False
        return self.about.encode() not in raw and b'"id":"' in raw and not _UNUSUAL.search(raw)

    def _members(self, key: str) -> list[str]:
        with self.server.translated() as client:
            return self.read_names(client.smembers(key))

    def read_names(self, members: Iterable[bytes]) -> list[str]:
        """Read the members of a set of names."""
        return sorted(member.decode("utf-8", "surrogateescape") for member in members)


def dead_standing(raw: bytes, score: float) -> Standing:
    """Read a member of the dead set."""
    return _timed("dead", raw, score)


def _timed(place: SortedSet, raw: bytes, score: float) -> Standing:
    text = _read(raw)
    return Standing(place, "" if text is None else text.name, raw, text, score)


def _read(raw: bytes) -> JobText | None:
    try:
        return read(raw)
    except CorruptRecord:
        return None
