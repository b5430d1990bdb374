"""Read the keys of one schedule in pages, and find out in one step to which jobs and marks nothing refers. Memory is
bounded: a page, and the ids in question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgpack

from workkit import wire
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.entry import Entry, read_entry, regular
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.parked import read_parked
from workkit.brokers.native.settle import occurrence
from workkit.brokers.redis_server import pages
from workkit.brokers.redis_server.pages import PAGE, is_text
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.clocks import time
from workkit.errors import CorruptRecord, ServerRefused

LISTENER = re.compile(r".+:\d+:[0-9a-f]{12}", re.DOTALL)
MOMENT = 1.0  # seconds between two looks: a foreign peer takes an item and puts the next one back in two steps
SUSPECTS = 20_000  # ids kept in memory at once
_CANONICAL = re.compile(rb'\{"id":"[0-9a-f]{40}"\}')


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

    def hash_pages(self, key: str) -> Iterator[dict[bytes, bytes]]:
        """Read a hash in pages: see `pages.hash_pages`."""
        return pages.hash_pages(self.server, key)

    def scored_pages(self, key: str) -> Iterator[list[tuple[bytes, float]]]:
        """Read a sorted set in pages: see `pages.scored_pages`."""
        return pages.scored_pages(self.server, key)

    def set_pages(self, key: str) -> Iterator[list[bytes]]:
        """Read a set in pages: see `pages.set_pages`."""
        return pages.set_pages(self.server, key)

    def piped(self, ask: Callable[[Any], object], *, whole: bool = False) -> list[Any]:
        """Ask several things in one round trip; `whole`: in one step."""
        return pages.piped(self.server, ask, whole=whole)

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
        names = pages.names_behind(self.server, self.keys.running(""))
        if names is None:
            return None
        listed = self.listed()
        return sorted({name for name in names if LISTENER.fullmatch(name) and name not in listed})

    def entries(self) -> Iterator[tuple[bytes, Entry]]:
        """Read all records, entries of `S:again` and parked entries: the job's id (empty: unreadable) and the entry."""
        for name in (*self.listed(), *self.lost):
            for page in self.hash_pages(self.keys.running(name)):
                for field, value in page.items():
                    if b"." in field:
                        yield _known(read_entry(value) or regular(field.partition(b".")[2], due=value))
        for scored in self.scored_pages(self.keys.again):
            for member, _ in scored:
                if (entry := read_entry(member)) is not None:
                    yield _known(entry)
        for scored in self.scored_pages(self.keys.waiting):
            for member, _ in scored:
                if (parked := read_parked(member)) is not None:
                    yield _known(parked.entry)

    def referred(self, *, ids: set[bytes], runs: set[bytes]) -> None:
        """Remove from `ids` and `runs` those to which an item under another text than ours, an entry or a record
        refers.

        This is not one step. It may miss a job that moves meanwhile, so what is left is only a suspicion.
        """
        for id, entry in self.entries():
            ids.discard(id)
            runs.discard(run_name(id, entry))
        for page in self.scored_pages(self.keys.next) if ids else ():
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
        repair = load("native")["repair"]
        packed = msgpack.packb(list(strays), use_bin_type=False)
        for _ in range(20):
            listed = [name for name, _ in self._beats()]
            keys = repair.keys(self.keys, listeners=(*(n.decode() for n in listed if is_text(n)), *self.lost))
            args = [msgpack.packb(listed, use_bin_type=False), int(wide), packed]
            reply = self.server.call(repair, keys, args)
            if reply != b"changed":
                return [bool(answer) for answer in reply]
        raise ServerRefused(f"{self.server.url}: the list of listeners changes too fast for a check. Try again.")


def wait_a_moment() -> None:
    """Wait between two looks at the same thing, so that a job that another program moves has arrived."""
    time.sleep(MOMENT)


def is_ours(member: bytes) -> bool:
    """Say whether an item of `S:next` has the text that workkit writes."""
    return _CANONICAL.fullmatch(member) is not None


def item_id(member: bytes) -> bytes | None:
    """Read the id in an item as the scripts read it; None if they find none."""
    if is_ours(member):
        return member[7:47]
    try:
        return wire.read_item(member).id.encode("utf-8")
    except (CorruptRecord, UnicodeEncodeError):
        return None


def run_name(id: bytes, entry: Entry) -> bytes:
    """Name an occurrence as `S:slots` and `S:errors` do."""
    return id + occurrence("", entry).encode("utf-8", "surrogateescape")


def _known(entry: Entry) -> tuple[bytes, Entry]:
    return item_id(entry.item) or b"", entry
