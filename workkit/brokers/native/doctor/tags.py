"""Check the index of tags, `S:tags`: entries of jobs that are gone or lack the tag, and jobs that it does not name.

The server compares both again in the step that corrects the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from workkit.brokers.native.look.published import Places
from workkit.brokers.native.look.tagged import entries, name_of
from workkit.brokers.redis_server.pages import PAGE, hash_pages
from workkit.contract.doctor import Finding, Kind
from workkit.text.cells import brief_bytes, bytes_text
from workkit.text.wording import plural

STRAY_TAG = Kind(
    "stray-tag", "orphan", "The index of tags names a job that is gone, or that lacks the tag.",
    "Nothing shows it, and it takes memory. A foreign peer ran the job: such peers do not know tags.",
    "removes it from the index",
)  # fmt: skip
UNTAGGED = Kind(
    "untagged", "orphan", "The index of tags does not name a job that has tags.",
    "Listings by this tag pass over it. Another program added the job, or changed the index.", "adds it to the index",
)  # fmt: skip
JOB = b"="  # in place of a node: the name is that of a job, or of a dead one
Row = tuple[bytes, bytes]  # a node and one of its entries, or JOB and a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Unequal:
    """Parts of the index that differ from the jobs."""

    rows: tuple[Row, ...]

    def repair(self, places: Places) -> bool:
        """Correct the index."""
        return any(_compared(places, self.rows, is_fix=True))


def tags(places: Places) -> Iterator[Finding]:
    """Report entries without a job, and dead occurrences without an entry. `untagged` reports jobs without one."""
    key = places.keys.tags
    for page in _pages(_index(places)):
        found = [row for row, is_other in zip(page, _compared(places, page), strict=True) if is_other]
        if found:
            names = [name_of(entry) if entry else node for node, entry in found]
            which = _listed(names, "that is gone, or has no such tag", "that are gone, or have no such tag")
            what = f"{key} names {which}"
            yield STRAY_TAG.found(what, subject=Unequal(rows=tuple(found)), about=tuple(map(bytes_text, names)))
    graves = (item for page in hash_pages(places.server, places.keys.graves) for item in page.items())
    yield from untagged(places, (dead_id for dead_id, grave in graves if may_have_tags(grave)))


def untagged(places: Places, names: Iterable[bytes]) -> Iterator[Finding]:
    """Report which of these jobs, or dead ones, have tags and are not in the index."""
    for page in _pages((JOB, name) for name in names):
        found = [row for row, is_other in zip(page, _compared(places, page), strict=True) if is_other]
        if found:
            jobs = [name for _, name in found]
            what = f"{places.keys.tags} does not name {_listed(jobs, 'that has tags', 'that have tags')}"
            yield UNTAGGED.found(what, subject=Unequal(rows=tuple(found)), about=tuple(map(bytes_text, jobs)))


def may_have_tags(text: bytes) -> bool:
    """Say whether a payload may have tags, without reading it."""
    return b'"tags"' in text or b"\\u" in text


def _index(places: Places) -> Iterator[Row]:
    for page in hash_pages(places.server, places.keys.tags):
        for node, leaf in page.items():
            known = list(entries(leaf))
            if sum(1 + len(entry) for entry in known) != len(leaf) or not leaf:
                yield node, b""
            yield from ((node, entry) for entry in known)


def _pages(rows: Iterable[Row]) -> Iterator[Sequence[Row]]:
    every = iter(rows)
    while page := list(islice(every, PAGE)):
        yield page


def _compared(places: Places, rows: Sequence[Row], *, is_fix: bool = False) -> list[bool]:
    args = ["1" if is_fix else "", *(part for row in rows for part in row)]
    return [bool(answer) for answer in places.server.run(places.keys, "retag", args)]


def _listed(names: Sequence[bytes], one: str, many: str) -> str:
    which = ", ".join(map(brief_bytes, names[:3])) + (", ..." if len(names) > 3 else "")
    return f"{plural(len(names), 'job')} ({which}) {one if len(names) == 1 else many}"
