"""Read the index of tags, `S:tags`: find the jobs of a tag by their ids, and list them. The scripts write it, in the
part `tags.lua`. spec/layouts/native.md describes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha1
from typing import Final, NamedTuple

from workkit.brokers.native.codec import id_text
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.dead_set import packed_text, unpacked_text
from workkit.brokers.native.look.listing import Listing, Row
from workkit.brokers.redis_server.pages import PAGE, piped
from workkit.brokers.redis_server.server import Server
from workkit.contract.composed import place_in_list
from workkit.contract.where import Placed, no_place
from workkit.jobs.job import Job

ITEM_BYTES: Final = 49  # of an item as we write it
OF_TAG: Final = 16  # digits of a path that belong to its tag
DEEPEST: Final = 24  # digits of a path
LIVE: Final = 28  # bytes of the entry of a job; that of a dead one is longer
_DIGITS: Final = "0123456789abcdef"


class Tagged(NamedTuple):
    """The jobs of a tag: ids of those in `S:jobs`, and names of those in `S:dead`."""

    ids: frozenset[str]
    dead: frozenset[bytes]

    def has(self, member: bytes) -> bool:
        """Say whether a member of a queue, or the field of a record, names one of these jobs. It ends with an item."""
        return (id_text(member[-ITEM_BYTES:]) or id_text(member[member.rfind(b"{") :])) in self.ids


def digest_of(tag: str) -> str:
    """Compute the digits of a tag, with which its paths begin."""
    return sha1(tag.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:OF_TAG]


def entries(leaf: bytes) -> Iterator[bytes]:
    """Read the entries of a node, up to the first bytes that are none."""
    at = 0
    while at < len(leaf):
        size = leaf[at]
        if size < LIVE or at + size >= len(leaf):
            return
        yield leaf[at + 1 : at + 1 + size]
        at += 1 + size


def name_of(entry: bytes) -> bytes:
    """Return the id of the job of an entry, or its dead id."""
    if len(entry) == LIVE:
        return entry[8:].hex().encode()
    return entry[12:32].hex().encode() + entry[32:]


def find_tagged(server: Server, keys: Keys, tags: Sequence[str], *, most: int) -> Tagged | None:
    """Find the jobs that have one of these tags; None if there are more than `most`. Jobs that a foreign peer has run
    may be among them.
    """
    found = set[bytes]()
    for tag in tags:
        digits = digest_of(tag)
        for leaf in _leaves(server, keys, digits):
            found.update(entry for entry in entries(leaf) if entry[:8].hex() == digits)
            if len(found) > most:
                return None
    names = {entry: name_of(entry) for entry in found}
    ids = frozenset(name.decode() for entry, name in names.items() if len(entry) == LIVE)
    return Tagged(ids, frozenset(name for entry, name in names.items() if len(entry) > LIVE))


def _leaves(server: Server, keys: Keys, digits: str) -> Iterator[bytes]:
    """Read the nodes that hold the entries of a tag, one level of the tree in each round trip."""
    names = [digits, *(digits[:length] for length in range(OF_TAG))]
    own, *shared = _nodes(server, keys, names)
    if own is None:  # the deepest node that it shares with other tags
        yield from (value for value in shared if value)
        return
    level = [(digits, own)]
    while level:
        yield from (value for _, value in level if value)
        names = [name + digit for name, value in level if not value and len(name) < DEEPEST for digit in _DIGITS]
        below: list[tuple[str, bytes]] = []
        for start in range(0, len(names), PAGE):
            page = names[start : start + PAGE]
            pairs = zip(page, _nodes(server, keys, page), strict=True)
            below += [(name, value) for name, value in pairs if value is not None]
        level = below


def _nodes(server: Server, keys: Keys, names: Sequence[str]) -> list[bytes | None]:
    with server.translated() as client:
        return list(client.hmget(keys.tags, list(names)))


def is_all(listing: Listing, of: Tagged, rows: Sequence[Row]) -> bool:
    """Say whether these are all rows of some jobs: at least one of each, and each open run of one that recurs."""
    slots, ids = listing.keys.slots, sorted(of.ids)
    bounds = [(f"[run:{id}\0", f"(run:{id}\1") for id in ids]
    opened = piped(listing.server, lambda pipe: [pipe.zlexcount(slots, *some) for some in bounds])
    met, known = {row.id for row in rows}, Counter(row.id for row in rows if row.entry.kind == "o")
    return all(id in met and known[id] >= count for id, count in zip(ids, opened, strict=True))


def listed_behind(jobs: Iterable[Job], after: str | None) -> Iterator[Placed]:
    """Walk over listed jobs behind a place, and yield each with its own place. Raises InvalidOptions for a text that is
    no place.
    """
    at = None if after is None else _read_place(after)
    for place, job in sorted(((_place(job), job) for job in jobs), key=lambda one: one[0]):
        if at is None or place > at:
            yield job, partial(packed_text, ["tagged", *place])


def _place(job: Job) -> tuple[int, float, str]:
    return *place_in_list(job), job.dead_id or job.id


def _read_place(text: str) -> tuple[int, float, str]:
    match unpacked_text(text):
        case ["tagged", int() as part, int() | float() as due, str() as id]:
            return part, float(due), id
    raise no_place(text)
