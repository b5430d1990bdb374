"""Walk over the two published keys: read every queue item with its job, then every job without an item. No other module
walks over them.

It reads in pages and changes nothing. Memory is bounded by a page and 20,000 ids, however many jobs there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import Any

from workkit import wire
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.entry import Entry, is_ours, item_id, read_entry, read_parked, regular
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.inspector import NativeInspector
from workkit.brokers.native.settle import occurrence
from workkit.brokers.redis_server.control import pack
from workkit.brokers.redis_server.pages import (
    PAGE,
    PAGE_BYTES,
    hash_pages,
    is_text,
    names_behind,
    ordered_pages,
    piped,
    scored_pages,
    server_ms,
)
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.errors import ServerRefused, Unsupported

LISTENER = re.compile(r".+:\d+:[0-9a-f]{12}", re.DOTALL)
MOMENT = 1.0  # seconds between two looks: a foreign peer takes an item and puts the next one back in two steps
SUSPECTS = 20_000  # ids kept in memory at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The keys of one schedule. `now_ms` is the server's clock when the reading began. `lost` are unlisted listeners
    that hold records.
    """

    server: Server
    keys: Keys
    codec: Codec
    now_ms: int
    lost: tuple[str, ...] = ()

    def payload(self, id: bytes) -> bytes | None:
        """Read the payload of one job."""
        with self.server.translated() as client:
            found: bytes | None = client.hget(self.keys.jobs, id)
        return found

    def listed(self) -> dict[str, float]:
        """Read the listed listeners and the last heartbeat of each. No listener has a name that is not UTF-8."""
        return {name.decode(): beat for name, beat in self._beats() if is_text(name)}

    def _beats(self) -> list[tuple[bytes, float]]:
        with self.server.translated() as client:
            return list(client.zrange(self.keys.listeners, 0, -1, withscores=True))

    def unlisted(self) -> list[str] | None:
        """Find unlisted listeners that have records; None if the database has too many keys."""
        names = names_behind(self.server, self.keys.running(""))
        if names is None:
            return None
        listed = self.listed()
        return sorted({name for name in names if LISTENER.fullmatch(name) and name not in listed})

    def entries(self) -> Iterator[tuple[bytes, Entry]]:
        """Read all records, entries of `S:again` and parked entries: the job's id (empty: unreadable) and the entry."""
        for name in (*self.listed(), *self.lost):
            for page in hash_pages(self.server, self.keys.running(name)):
                for field, value in page.items():
                    if b"." in field:
                        yield _known(read_entry(value) or regular(field.partition(b".")[2], due=value))
        for scored in scored_pages(self.server, self.keys.again):
            for member, _ in scored:
                if (entry := read_entry(member)) is not None:
                    yield _known(entry)
        for scored in scored_pages(self.server, self.keys.waiting):
            for member, _ in scored:
                if (parked := read_parked(member)) is not None:
                    yield _known(parked.entry)

    def referred(self, *, ids: set[bytes], runs: set[bytes]) -> None:
        """Remove from `ids` and `runs` those that something refers to: an item under another text than ours, an entry
        or a record.

        This is not one step. It may miss a job that moves meanwhile, so the remaining ids are only suspects.
        """
        for id, entry in self.entries():
            ids.discard(id)
            runs.discard(run_name(id, entry))
        for page in scored_pages(self.server, self.keys.next) if ids else ():
            for member, _ in page:
                if not is_ours(member):
                    ids.discard(item_id(member) or b"")

    def repair(self, strays: Sequence[Mapping[str, Any]], *, wide: bool) -> list[bool]:
        """Repair each stray to which nothing refers, in one step. Say for each whether nothing refers to it. A stray
        without a repair changes nothing.

        `wide`: `S:next` holds items under other texts than ours. For every 500 strays, the server reads all of
        `S:again` and `S:waiting`, and with `wide` all of `S:next`.
        """
        answers: list[bool] = []
        for start in range(0, len(strays), PAGE):
            answers += self._repair(strays[start : start + PAGE], wide=wide)
        return answers

    def _repair(self, strays: Sequence[Mapping[str, Any]], *, wide: bool) -> list[bool]:
        packed = pack(list(strays))
        for _ in range(20):
            listed = [name for name, _ in self._beats()]
            names = (*(name.decode() for name in listed if is_text(name)), *self.lost)
            reply = self.server.run(self.keys, "repair", [pack(listed), int(wide), packed], listeners=names)
            if reply != b"changed":
                return [bool(answer) for answer in reply]
        raise ServerRefused(f"{self.server.url}: the list of listeners changes too fast for a check. Try again.")


def wait_a_moment() -> None:
    """Wait between two looks at the same key, so that a job that another program moves has arrived."""
    time.sleep(MOMENT)


def run_name(id: bytes, entry: Entry) -> bytes:
    """Name an occurrence as `S:slots` and `S:errors` do."""
    return id + occurrence("", entry).encode("utf-8", "surrogateescape")


def _known(entry: Entry) -> tuple[bytes, Entry]:
    return item_id(entry.item) or b"", entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A job and a queue item as they are stored.

    `id` is empty if the item names no job. `payload` None: the item points to no job. `item` None: the job has no item.
    `is_loose`: nothing else refers to such a job either: no listener holds it, and it does not wait for another
    attempt. `is_second`: the job has another item, with the text that workkit writes.
    """

    id: bytes
    payload: bytes | None
    item: bytes | None = None
    score: float = 0.0
    is_loose: bool = False
    is_second: bool = False

    @property
    def is_hashed(self) -> bool:
        """Whether the id is the SHA-1 of the payload, as published."""
        return self.payload is not None and self.id == wire.job_id(self.payload).encode()


ID_DIGITS = 40
Scored = list[tuple[bytes, float]]


@dataclass(slots=True, kw_only=True)
class Published:
    """One walk over one schedule. It may miss a job that moves meanwhile, or see it at its old place.

    `finds_unlisted`: find unlisted listeners that hold records; else `places.lost` names them.
    """

    places: Places
    finds_unlisted: bool = True
    _wide: bool = False  # whether S:next holds items under other texts than ours
    _foreign: set[bytes] = made(default_factory=set)  # the jobs of some such items

    @property
    def now_ms(self) -> int:
        """The server's clock when the walk began."""
        return self.places.now_ms

    def counts(self) -> tuple[int, int]:
        """Count the jobs and the items."""
        k = self.places.keys
        jobs, items = piped(self.places.server, lambda pipe: (pipe.hlen(k.jobs), pipe.zcard(k.next)))
        return jobs, items

    def is_wide(self, id: bytes) -> bool:
        """Say whether an item of this job may have another text than ours."""
        return self._wide or len(id) != ID_DIGITS

    def pairs(self, *, soonest_first: bool) -> Iterator[Pair]:
        """Read every item with its job, then the jobs without an item.

        `soonest_first` orders the items. Every item that keeps its place the whole time is read.
        """
        next_ = self.places.keys.next
        pages = ordered_pages(self.places.server, next_) if soonest_first else scored_pages(self.places.server, next_)
        for page in pages:
            yield from self._items(page)
        suspects: set[bytes] = set()
        for jobs in hash_pages(self.places.server, self.places.keys.jobs):
            suspects |= self._without_item(list(jobs))
            if len(suspects) >= SUSPECTS:
                yield from self._alone(suspects)
                suspects = set()
        if suspects:
            yield from self._alone(suspects)

    # Items, each with its job.

    def _items(self, page: Scored) -> Iterator[Pair]:
        ids = [item_id(member) or b"" for member, _ in page]
        for start, end in self._shares(ids):
            payloads = self._payloads(ids[start:end])
            seconds = self._seconds(
                [(member, id) for (member, _), id in zip(page[start:end], ids[start:end], strict=True)]
            )
            for (member, score), id, payload in zip(page[start:end], ids[start:end], payloads, strict=True):
                pair = Pair(id=id, payload=payload, item=member, score=score, is_second=member in seconds)
                found = pair if payload is not None or not id else self._settled(pair)
                if found is not None:
                    yield found

    def _shares(self, ids: Sequence[bytes]) -> Iterator[tuple[int, int]]:
        """Divide a page so that the payloads of each part fit into memory."""
        sizes = piped(self.places.server, lambda pipe: [pipe.hstrlen(self.places.keys.jobs, id) for id in ids])
        start = size = 0
        for place, more in enumerate(sizes):
            if place > start and size + more > PAGE_BYTES:
                yield start, place
                start, size = place, 0
            size += more
        yield start, len(ids)

    def _payloads(self, ids: Sequence[bytes]) -> list[bytes | None]:
        with self.places.server.translated() as client:
            return list(client.hmget(self.places.keys.jobs, list(ids)))

    def _seconds(self, items: Sequence[tuple[bytes, bytes]]) -> set[bytes]:
        """Find the items under other texts than ours, of jobs that have another item too."""
        self._wide = self._wide or any(not is_ours(member) for member, _ in items)
        odd = [(member, id) for member, id in items if id and member != _item(id)]
        if not odd:
            return set()
        ours = piped(self.places.server, lambda pipe: [pipe.zscore(self.places.keys.next, _item(id)) for _, id in odd])
        found = set()
        for (member, id), score in zip(odd, ours, strict=True):
            if score is not None or id in self._foreign:
                found.add(member)
            elif len(self._foreign) < SUSPECTS:
                self._foreign.add(id)
        return found

    def _settled(self, pair: Pair) -> Pair | None:
        """Read an item without a job again in one step. None: the job and its item are gone meanwhile."""
        k = self.places.keys
        score, payload = piped(
            self.places.server, lambda p: (p.zscore(k.next, pair.item), p.hget(k.jobs, pair.id)), whole=True
        )
        return None if score is None else replace(pair, payload=payload, score=score)

    # Jobs without an item.

    def _without_item(self, ids: list[bytes]) -> set[bytes]:
        with self.places.server.translated() as client:
            scores = client.zmscore(self.places.keys.next, [_item(id) for id in ids])
        return {id for id, score in zip(ids, scores, strict=True) if score is None}

    def _alone(self, ids: set[bytes]) -> Iterator[Pair]:
        if self._wide:
            for page in scored_pages(self.places.server, self.places.keys.next):
                ids -= {item_id(member) or b"" for member, _ in page if not is_ours(member)}
        loose = self._loose(ids)
        left = sorted(ids)
        for start, end in self._shares(left) if left else ():
            some = left[start:end]
            with self.places.server.translated() as client:
                scores = client.zmscore(self.places.keys.next, [_item(id) for id in some])
            for id, payload, score in zip(some, self._payloads(some), scores, strict=True):
                if payload is None:  # the job ended meanwhile
                    continue
                if score is None:
                    yield Pair(id=id, payload=payload, is_loose=id in loose)
                else:
                    yield Pair(id=id, payload=payload, item=_item(id), score=score)

    def _loose(self, ids: set[bytes]) -> set[bytes]:
        """Find the jobs to which nothing refers, by two looks a moment apart: a foreign peer puts a recurring job's
        next item back in a separate step.
        """
        left = set(ids)
        if left:
            if self.finds_unlisted:
                self.places = replace(self.places, lost=tuple(self.places.unlisted() or ()))
            self.places.referred(ids=left, runs=set())
            left = self._unreferred(left)
        if left:
            wait_a_moment()
            left = self._unreferred(left)
        return left

    def _unreferred(self, ids: set[bytes]) -> set[bytes]:
        asked = sorted(ids)
        answers = self.places.repair([{"id": id} for id in asked], wide=any(map(self.is_wide, asked)))
        return {id for id, is_loose in zip(asked, answers, strict=True) if is_loose}


def published(broker: Broker) -> Published:
    """Make a walk over the published keys of a schedule. Raises Unsupported if its layout has none."""
    inspector = broker.inspector
    if not isinstance(inspector, NativeInspector):
        raise Unsupported(f"{broker.schedule} has no published keys of its own. Name a schedule of one shard.")
    now_ms = server_ms(inspector.server)
    return Published(places=Places(server=inspector.server, keys=inspector.keys, codec=inspector.codec, now_ms=now_ms))


def _item(id: bytes) -> bytes:
    return b'{"id":"%b"}' % id
