"""Read the dead set of a native schedule in pages, and walk over all jobs from any place, page by page. The cost of a
page does not grow with the number of jobs before it or behind it.

The order of the walk: running jobs, waiting jobs (by due time, then by member), parked jobs (by the key under which
they wait, then by due time), dead jobs (latest first). A place is the last job of a page, not its rank. So it stays
valid while other jobs come and go.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final, Literal

import msgpack

from workkit.brokers.native.codec import Codec
from workkit.brokers.native.entry import PAUSES, due_ms
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import Listing, Row, entry_rows, item_rows, parked_rows, run_of
from workkit.brokers.native.settle import DEAD_KEPT, DEAD_KEPT_MS, read_failure
from workkit.brokers.redis_server.control import read_packed
from workkit.brokers.redis_server.pages import (
    PAGE,
    Scored,
    ordered_pages,
    page_after,
    piped,
    place_before,
    place_behind,
    read_place,
    server_ms,
    stand,
)
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import Graves, IsKnown
from workkit.contract.where import Placed, no_place
from workkit.errors import CorruptRecord
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.jobs.terms import instant_of

NAME_TEXT = "utf-8", "surrogateescape"  # how a name in the dead set, any bytes, is a text of a Job


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSet:
    """The dead set of one schedule."""

    server: Server
    keys: Keys
    codec: Codec

    def jobs(self) -> Iterator[Job]:
        """Page through the dead jobs, latest first."""
        for page in ordered_pages(self.server, self.keys.dead, latest_first=True):
            yield from (job for _, job in self.shown(page))

    def standing(self, names: Iterable[bytes]) -> list[Scored]:
        """Find those of these names that are in the dead set, latest first, with the time of each death."""
        asked = list(names)
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.dead, asked) if asked else []
        found = [(name, score) for name, score in zip(asked, scores, strict=True) if score is not None]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def ids(self) -> Iterator[str]:
        """Page through the ids of the dead jobs, latest first."""
        for page in ordered_pages(self.server, self.keys.dead, latest_first=True):
            for (name, _), packed in zip(page, self._packed(page), strict=True):
                yield _id(name, read_grave(packed))

    def shown(self, page: Sequence[Scored]) -> Iterator[tuple[int, Job]]:
        """Show members of `S:dead`, each with its `Row.run`. Leave out jobs that were taken out since
        they were read.
        """
        names, graves = [name for name, _ in page], self._packed(page)
        lost = [name for name, packed in zip(names, graves, strict=True) if packed is None]
        with self.server.translated() as client:
            scores = client.zmscore(self.keys.dead, lost) if lost else []
        gone = {name for name, score in zip(lost, scores, strict=True) if score is None}
        for (name, when), packed in zip(page, graves, strict=True):
            if name not in gone:
                grave = read_grave(packed)
                run = run_of(
                    grave.get("member", b""),
                    str(grave.get("due", "")),
                    "".join(str(grave.get("flags", "")).partition("#")[1:]),
                )
                yield run, self._job(name, when, grave)

    def _packed(self, page: Sequence[Scored]) -> list[bytes | None]:
        """Read the records of some dead jobs."""
        if not page:
            return []
        with self.server.translated() as client:
            return list(client.hmget(self.keys.graves, [name for name, _ in page]))

    def graves(self, *, after: str, limit: int, is_known: IsKnown | None) -> Graves:
        """Read a page of the dead jobs, the oldest first."""
        with self.server.translated() as client:
            page, is_last = page_after(client, self.keys.dead, read_place(after), limit)
        behind = place_behind(page, after=after)
        if is_known is not None:
            page = [(name, when) for name, when in page if not is_known(name.decode(*NAME_TEXT), due_ms(repr(when)))]
        return Graves(
            jobs=tuple(self.read(page)),
            after=behind,
            again=place_before(behind),
            is_last=is_last,
            most=DEAD_KEPT,
            kept_ms=DEAD_KEPT_MS,
        )

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say for each of these jobs whether it is in the dead set."""
        with self.server.translated() as client:
            return stand(client, self.keys.dead, [(job.dead_id or "").encode(*NAME_TEXT) for job in dead])

    def read(self, page: list[tuple[bytes, float]]) -> list[Job]:
        """Read dead jobs by their names and scores."""
        return [
            self._job(name, when, read_grave(packed))
            for (name, when), packed in zip(page, self._packed(page), strict=True)
        ]

    def _job(self, name: bytes, when: float, grave: Mapping[str, Any]) -> Job:
        id = _id(name, grave)
        failure = read_failure(grave.get("error"))
        known: dict[str, Any] = {
            "due": instant_of(due_ms(repr(when))), "state": "dead", "attempt": grave.get("attempt", 0),
            "error": failure.line, "failure": failure, "dead_id": name.decode(*NAME_TEXT),
        }  # fmt: skip
        try:
            return self.codec.decode(id, grave.get("payload") or b"", **known)
        except CorruptRecord:
            return Job(id=id, schedule=self.codec.schedule, fn="?", **known)


def _id(name: bytes, grave: Mapping[str, Any]) -> str:
    id: bytes = grave.get("id") or name
    return id.decode("utf-8", "replace")


def read_grave(packed: bytes | None) -> Mapping[str, Any]:
    """Read a record of `S:graves`. Leave out members of another type, so that one bad record does not hide others."""
    unpacked = read_packed(packed)
    if not isinstance(unpacked, dict):
        return {}
    return {name: value for name, value in unpacked.items() if name in _KINDS and isinstance(value, _KINDS[name])}


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "id": bytes, "payload": bytes, "member": bytes, "kind": str, "flags": str, "due": int, "attempt": int,
    "reason": str, "error": list,
}  # fmt: skip


Part = Literal["running", "queued", "parked", "dead"]
PARTS: Final[dict[Part, tuple[JobState, ...]]] = {
    "running": ("running", "cancelling"),
    "queued": ("due", "waiting", "retrying", "held", "paused"),
    "parked": ("held", "paused"),
    "dead": ("dead",),
}
LAST: Final = b"\xff" * 64  # behind all members of one score
_HELD: Final = ((b"-", b"(paused:"), (b"[paused;", b"+"))
_PAUSED: Final = ((PAUSES[0].encode(), PAUSES[1].encode()),)

At = tuple[float, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One walk, of a state or of all. `first`: how many jobs the first page should have."""

    listing: Listing
    dead: DeadSet
    control: Control
    state: JobState | None
    first: int

    def behind(self, place: str | None) -> Iterator[Placed]:
        """Walk over the jobs behind a place, and yield each with its own place. Raises InvalidOptions for a text that
        is no place.
        """
        part, at = (None, None) if place is None else read_walk_place(place)
        read: dict[Part, Callable[[At | None], Iterator[Placed]]] = {
            "running": self._running, "queued": self._queued, "parked": self._parked, "dead": self._dead,
        }  # fmt: skip
        for name in list(PARTS)[0 if part is None else list(PARTS).index(part) :]:
            if self.state is None or self.state in PARTS[name]:
                yield from read[name](at if name == part else None)

    def _running(self, at: At | None) -> Iterator[Placed]:
        found = [((-inf if job.due is None else job.due.timestamp(), job.id.encode()), job)
                 for job in self.listing.running()]  # fmt: skip
        for mark, job in sorted(found, key=lambda one: one[0]):
            if at is None or mark > at:
                yield job, partial(place_text, "running", mark)

    def _queued(self, at: At | None) -> Iterator[Placed]:
        if self.state == "paused" and not self.control.paused:
            return
        k, now = self.listing.keys, server_ms(self.listing.server)
        keys = (k.again,) if self.state in ("retrying", "held") else (k.next, k.again)
        if at is None and (self.state == "held" or (self.state == "waiting" and not self.control.paused)):
            at = (now, LAST)
        size = self._size
        while page := self._merged(keys, at, size):
            rows = page if self.state != "due" else [row for row in page if row.when <= now]
            for row, job in self.listing.queued(rows, now, self.control):
                yield job, partial(place_text, "queued", (row.when, row.member))
            if len(rows) < size:
                return
            at, size = (page[-1].when, page[-1].member), PAGE

    def _merged(self, keys: Sequence[str], at: At | None, size: int) -> list[Row]:
        """Read the first members behind a place, of all keys together."""
        starts = [self._rank(key, at) if at else 0 for key in keys]
        places = list(zip(keys, starts, strict=True))
        pages = piped(
            self.listing.server,
            lambda pipe: [pipe.zrange(key, start, start + size - 1, withscores=True) for key, start in places],
        )
        again = self.listing.keys.again
        found = [
            row
            for key, page in zip(keys, pages, strict=True)
            for row in (entry_rows if key == again else item_rows)(key, page)
        ]
        return sorted(found, key=lambda row: (row.when, row.member))[:size]

    def _rank(self, key: str, at: At, *, is_in: bool = True) -> int:
        """Count the members before a place, with or without the member at it."""
        score, text = at

        def ask(pipe: Any) -> None:
            pipe.zrank(key, text)
            pipe.zscore(key, text)
            pipe.zcount(key, "-inf", f"({score!r}")
            pipe.zcount(key, "-inf", score)

        rank, standing, low, high = piped(self.listing.server, ask)
        if rank is not None and standing == score:
            return int(rank) + is_in
        with self.listing.server.translated() as client:
            while low < high:  # the member is gone: find its old place among members of the same score
                middle = (low + high) // 2
                found = client.zrange(key, middle, middle)
                if found and found[0] < text:
                    low = middle + 1
                else:
                    high = middle
        return int(low)

    def _parked(self, at: At | None) -> Iterator[Placed]:
        ranges = _PAUSED if self.state == "paused" else _HELD if self.state == "held" else ((b"-", b"+"),)
        size = self._size
        for low, high in ranges:
            begin = low
            if at is not None:
                if high != b"+" and at[1] >= high[1:]:
                    continue
                begin = max(low, b"(" + at[1], key=lambda bound: bound[1:])
            while True:
                with self.listing.server.translated() as client:
                    page = client.zrangebylex(self.listing.keys.waiting, begin, high, start=0, num=size)
                parked = parked_rows(self.listing.keys.waiting, page)
                for row, job in self.listing.parked(parked, self.control):
                    yield job, partial(place_text, "parked", (0.0, row.member))
                if len(page) < size:
                    break
                begin, size = b"(" + page[-1], PAGE

    def _dead(self, at: At | None) -> Iterator[Placed]:
        key, size = self.listing.keys.dead, self._size
        with self.listing.server.translated() as client:
            end = client.zcard(key) if at is None else None
        while True:
            end = self._rank(key, at, is_in=False) if end is None and at else end
            if not end:
                return
            with self.listing.server.translated() as client:
                page = client.zrange(key, max(0, end - size), end - 1, withscores=True)[::-1]
            for job, (name, when) in zip(self.dead.read(page), page, strict=True):
                yield job, partial(place_text, "dead", (when, name))
            if not page or end <= size:
                return
            at, end, size = (page[-1][1], page[-1][0]), None, PAGE

    @property
    def _size(self) -> int:
        return min(self.first, PAGE)


def place_text(part: Part, at: At) -> str:
    """Write a place."""
    return packed_text([part, *at])


def packed_text(value: Any) -> str:
    """Write a value as one word that fits into an address."""
    return urlsafe_b64encode(msgpack.packb(value, use_bin_type=True)).decode().rstrip("=")


def unpacked_text(text: str) -> Any:
    """Read a text of `packed_text`. Raises InvalidOptions."""
    try:
        return msgpack.unpackb(urlsafe_b64decode(text + "=" * (-len(text) % 4)), strict_map_key=False)
    except Exception as error:  # msgpack has errors of many kinds
        raise no_place(text) from error


def read_walk_place(text: str) -> tuple[Part, At]:
    """Read a place. Raises InvalidOptions."""
    match unpacked_text(text):
        case [("running" | "queued" | "parked" | "dead") as part, int() | float() as score, bytes() as member]:
            return part, (float(score), member)
    raise no_place(text)
