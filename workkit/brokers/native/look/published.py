"""The one walker over the two published keys: it reads every queue item with its job, then every job without an item.

It reads in pages and changes nothing. Memory is bounded by a page and 20,000 ids, however many jobs there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from workkit.brokers.native.look.inspector import NativeInspector
from workkit.brokers.native.look.items import server_ms
from workkit.brokers.native.look.location import SUSPECTS, Places, is_ours, item_id, wait_a_moment
from workkit.brokers.native.look.pair import Pair
from workkit.brokers.redis_server.cursor import ordered_pages
from workkit.brokers.redis_server.pages import PAGE_BYTES
from workkit.contract.broker import Broker
from workkit.errors import Unsupported

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
    _foreign: set[bytes] = field(default_factory=set)  # the jobs of some such items

    @property
    def now_ms(self) -> int:
        """The server's clock when the walk began."""
        return self.places.now_ms

    def counts(self) -> tuple[int, int]:
        """Count the jobs and the items."""
        k = self.places.keys
        jobs, items = self.places.piped(lambda pipe: (pipe.hlen(k.jobs), pipe.zcard(k.next)))
        return jobs, items

    def is_wide(self, id: bytes) -> bool:
        """Say whether an item of this job may have another text than ours."""
        return self._wide or len(id) != ID_DIGITS

    def pairs(self, *, soonest_first: bool) -> Iterator[Pair]:
        """Read every item with its job, then the jobs without an item.

        `soonest_first` orders the items. Every item that keeps its place the whole time is read.
        """
        next_ = self.places.keys.next
        pages = ordered_pages(self.places.server, next_) if soonest_first else self.places.scored_pages(next_)
        for page in pages:
            yield from self._items(page)
        suspects: set[bytes] = set()
        for jobs in self.places.hash_pages(self.places.keys.jobs):
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
        sizes = self.places.piped(lambda pipe: [pipe.hstrlen(self.places.keys.jobs, id) for id in ids])
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
        """Find the items under other texts than ours whose job has another item."""
        self._wide = self._wide or any(not is_ours(member) for member, _ in items)
        odd = [(member, id) for member, id in items if id and member != _item(id)]
        if not odd:
            return set()
        ours = self.places.piped(lambda pipe: [pipe.zscore(self.places.keys.next, _item(id)) for _, id in odd])
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
        score, payload = self.places.piped(lambda p: (p.zscore(k.next, pair.item), p.hget(k.jobs, pair.id)), whole=True)
        return None if score is None else replace(pair, payload=payload, score=score)

    # Jobs without an item.

    def _without_item(self, ids: list[bytes]) -> set[bytes]:
        with self.places.server.translated() as client:
            scores = client.zmscore(self.places.keys.next, [_item(id) for id in ids])
        return {id for id, score in zip(ids, scores, strict=True) if score is None}

    def _alone(self, ids: set[bytes]) -> Iterator[Pair]:
        if self._wide:
            for page in self.places.scored_pages(self.places.keys.next):
                ids -= {item_id(member) or b"" for member, _ in page if not is_ours(member)}
        loose = self._loose(ids)
        left = sorted(ids)
        for start, end in self._shares(left) if left else ():
            some = left[start:end]
            with self.places.server.translated() as client:
                scores = client.zmscore(self.places.keys.next, [_item(id) for id in some])
            for id, payload, score in zip(some, self._payloads(some), scores, strict=True):
                if payload is None:  # it ended meanwhile
                    continue
                if score is None:
                    yield Pair(id=id, payload=payload, is_loose=id in loose)
                else:
                    yield Pair(id=id, payload=payload, item=_item(id), score=score)

    def _loose(self, ids: set[bytes]) -> set[bytes]:
        """Find the jobs to which nothing refers, by two looks a moment apart: a foreign peer puts a recurring job's
        next item back in a step of its own.
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
