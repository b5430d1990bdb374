"""Looking over the keys beside the published ones for what nothing refers to any more: run-slots, marks, kept errors,
and the records of listeners that are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workkit.broker import Finding
from workkit.brokers.native.inventory import SUSPECTS, brief, text
from workkit.brokers.native.places import MOST_PAGES, Places
from workkit.brokers.native.repairs import Loose, Unlisted

SLOT = b"run:"
Stray = Mapping[str, Any]
Tell = Callable[[Stray], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """One look over `S:slots`, `S:ended`, `S:errors` and the records of listeners."""

    places: Places
    unlisted: tuple[str, ...] | None = ()  # None: there were too many keys to look for them

    @property
    def _fix(self) -> str:
        return f"workkit doctor {self.places.keys.schedule} --fix"

    def findings(self) -> Iterator[Finding]:
        """Listeners first: their records come back into view."""
        yield from self._listeners()
        yield from self._swept(self._slots(), mark="slot", finding=self._slot)
        yield from self._swept(self._errors(), mark="error", finding=self._error)
        yield from self._ended()

    def _listeners(self) -> Iterator[Finding]:
        k = self.places.keys
        if self.unlisted is None:
            yield Finding(
                kind="unchecked",
                what=f"listeners that are not in {k.listeners} were not looked for: the database has too many keys",
                why=f"That takes a look at every key, and more than {MOST_PAGES * 1000:,} are too many for it.",
                remedy="give schedules a database of their own",
            )
        for name in self.unlisted or ():
            with self.places.server.translated() as client:
                held = sum(b"." in field for field in client.hkeys(k.running(name)))
            yield Finding(
                kind="unlisted",
                what=f"listener {name} holds {held:,} jobs and is not in {k.listeners}",
                why="No listener looks for its work, so it would never be run. Its entry was removed by hand.",
                remedy=self._fix,
                repairs=True,
                subject=Unlisted(listener=name),
                about=(name,),
            )
        for name, beat in self.places.listed().items():
            if self._holds_nothing(name):
                yield Finding(
                    kind="half-listed",
                    what=f"listener {name} is in {k.listeners}, but {k.running(name)} is gone",
                    why="Whatever it held is lost, and its next request will be refused. The key was removed by hand.",
                    remedy=self._fix,
                    repairs=True,
                    subject=Unlisted(listener=name, beat=beat),
                    about=(name,),
                )

    def _holds_nothing(self, name: str) -> bool:
        k, raw = self.places.keys, name.encode()
        stands, exists = self.places.piped(
            lambda p: (p.zscore(k.listeners, raw), p.exists(k.running(name))), whole=True
        )
        return stands is not None and not exists

    # Occurrences: what `S:slots` and `S:errors` say of runs that stand nowhere.

    def _slots(self) -> Iterator[tuple[bytes, bytes]]:
        for page in self.places.scored_pages(self.places.keys.slots):
            for member, _ in page:
                id, end, run = member.removeprefix(SLOT).partition(b"\0")
                if member.startswith(SLOT) and end:
                    yield run, id

    def _errors(self) -> Iterator[tuple[bytes, bytes]]:
        for page in self.places.hash_pages(self.places.keys.errors):
            for run in page:
                yield run, run.rpartition(b"@")[0]

    def _swept(self, runs: Iterator[tuple[bytes, bytes]], *, mark: str, finding: Tell) -> Iterator[Finding]:
        while batch := dict(islice(runs, SUSPECTS)):
            left = set(batch)
            self.places.referred(ids=set(), runs=left)
            strays: list[Stray] = [{"id": batch[run], "occurrence": run, "mark": mark} for run in sorted(left)]
            for stray, is_loose in zip(strays, self.places.mend(strays, wide=False), strict=True):
                if is_loose:
                    yield finding(stray)

    def _slot(self, stray: Stray) -> Finding:
        id, run = stray["id"], stray["occurrence"]
        return Finding(
            kind="slot",
            what=f"job {brief(id)} has a run marked as going on ({brief(run)}) that no listener has",
            why="Its job would be kept for ever after its last run.",
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(text(id),),
        )

    def _error(self, stray: Stray) -> Finding:
        run = stray["occurrence"]
        return Finding(
            kind="error",
            what=f"an error is kept in {self.places.keys.errors} for a run that waits nowhere ({brief(run)})",
            why="It is never shown, and never leaves.",
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(text(run),),
        )

    # Marks of jobs that have had their last run.

    def _ended(self) -> Iterator[Finding]:
        for page in self.places.set_pages(self.places.keys.ended):
            strays: list[Stray] = [{"id": id, "mark": "ended"} for id in page]
            for stray, is_loose in zip(strays, self.places.mend(strays, wide=False), strict=True):
                if is_loose:
                    yield self._over(stray)

    def _over(self, stray: Stray) -> Finding:
        id = stray["id"]
        return Finding(
            kind="ended",
            what=f"job {brief(id)} is marked as having had its last run, and none is going on",
            why=f"The run that ended it should have taken it away; as it is, it stays in {self.places.keys.jobs}.",
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(text(id),),
        )

    def _sweep(self, stray: Stray) -> Loose:
        return Loose(stray={**stray, "sweep": 1}, lost=self.places.lost)
