"""Check our own keys for slots, marks and errors to which nothing refers, for records of unlisted listeners, and for
jobs that are parked although nothing holds them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workkit.brokers.native.doctor.repair import Hidden, Loose, Parted, Unlisted
from workkit.brokers.native.entry import PAUSED, item_id, read_entry, read_parked, under
from workkit.brokers.native.look.published import SUSPECTS, Places, wait_a_moment
from workkit.brokers.redis_server.pages import MOST_PAGES, PAGE
from workkit.contract.doctor import Finding
from workkit.text.raw import brief_bytes, bytes_text

RUN = b"run:"
HIDDEN_MS = 5_000  # after this time, a listener that can run it has claimed it
Stray = Mapping[str, Any]
Tell = Callable[[Stray], Finding]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """One check of `S:slots`, `S:ended`, `S:errors`, `S:waiting` and the records of listeners."""

    places: Places
    unlisted: tuple[str, ...] | None = ()  # None: there were too many keys to find them

    @property
    def _fix(self) -> str:
        return f"workkit doctor {self.places.keys.schedule} --fix"

    def findings(self) -> Iterator[Finding]:
        """Name what is left over. Listeners come first, because their records refer to the rest."""
        yield from self._listeners()
        yield from self._swept(self._slots(), finding=self._slot)
        yield from self._swept(self._errors(), finding=self._error)
        yield from self._ended()
        yield from self._held_up()
        yield from self._hidden()

    def _listeners(self) -> Iterator[Finding]:
        k = self.places.keys
        if self.unlisted is None:
            yield Finding(
                kind="unchecked",
                what=f"listeners missing from {k.listeners} were not checked: the database has too many keys",
                why=f"It would have to read the names of all keys. More than {MOST_PAGES * 1000:,} are too many.",
                remedy="use a database of its own for schedules",
            )
        for name in self.unlisted or ():
            with self.places.server.translated() as client:
                held = sum(b"." in field for field in client.hkeys(k.running(name)))
            yield Finding(
                kind="unlisted",
                what=f"listener {name} holds {held:,} jobs and is not in {k.listeners}",
                why="Other listeners do not see it, so its jobs would never run. A person removed it from the list.",
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
                    why="What it held is lost. The server refuses its next request. A person removed the key.",
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

    # Occurrences: slots and errors of runs that are in no other key.

    def _slots(self) -> Iterator[Stray]:
        for page in self.places.scored_pages(self.places.keys.slots):
            for member, _ in page:
                key, end, run = member.rpartition(b"\0")
                if end:
                    id = key.removeprefix(RUN) if key.startswith(RUN) else run.rpartition(b"@")[0]
                    yield {"id": id, "occurrence": run, "mark": "slot", "key": key}

    def _errors(self) -> Iterator[Stray]:
        for page in self.places.hash_pages(self.places.keys.errors):
            for run in page:
                yield {"id": run.rpartition(b"@")[0], "occurrence": run, "mark": "error"}

    def _swept(self, strays: Iterator[Stray], *, finding: Tell) -> Iterator[Finding]:
        while batch := list(islice(strays, SUSPECTS)):
            runs = {stray["occurrence"] for stray in batch}
            self.places.referred(ids=set(), runs=runs)
            left = sorted((stray for stray in batch if stray["occurrence"] in runs), key=lambda s: s["occurrence"])
            for stray, is_loose in zip(left, self.places.repair(left, wide=False), strict=True):
                if is_loose:
                    yield finding(stray)

    def _slot(self, stray: Stray) -> Finding:
        id, run, key = stray["id"], stray["occurrence"], stray["key"]
        if key.startswith(RUN):
            what = f"job {brief_bytes(id)} has a run marked as open ({brief_bytes(run)}) that no listener has"
            why = "After its last run, the job would stay for ever."
        else:
            what = f"a slot of {brief_bytes(key)} is taken by a run ({brief_bytes(run)}) that no listener has"
            why = "It would never be free again, so fewer runs than the limit allows could start, or none."
        return Finding(
            kind="slot",
            what=what,
            why=why,
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(bytes_text(id),),
        )

    def _error(self, stray: Stray) -> Finding:
        run = stray["occurrence"]
        return Finding(
            kind="error",
            what=f"an error is kept in {self.places.keys.errors} for a run that waits nowhere ({brief_bytes(run)})",
            why="Nobody sees it, and nothing removes it.",
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(bytes_text(run),),
        )

    # Marks of jobs whose last run was admitted.

    def _ended(self) -> Iterator[Finding]:
        for page in self.places.set_pages(self.places.keys.ended):
            strays: list[Stray] = [{"id": id, "mark": "ended"} for id in page]
            for stray, is_loose in zip(strays, self.places.repair(strays, wide=False), strict=True):
                if is_loose:
                    yield self._over(stray)

    def _over(self, stray: Stray) -> Finding:
        id = stray["id"]
        return Finding(
            kind="ended",
            what=f"job {brief_bytes(id)} is marked as ended, and has no open run",
            why=f"Its last run should have removed it. Nothing else does, so it stays in {self.places.keys.jobs}.",
            remedy=self._fix,
            repairs=True,
            subject=self._sweep(stray),
            about=(bytes_text(id),),
        )

    # Parked entries under a limit that has room, or under a pause that is over.

    def _held_up(self) -> Iterator[Finding]:
        keys = self._keys()
        while batch := list(islice(keys, PAGE)):
            limits: list[Stray] = [{"mark": "free", "key": key} for key in batch if not key.startswith(PAUSED.encode())]
            for stray, is_free in zip(limits, self.places.repair(limits, wide=False), strict=True):
                if is_free:
                    yield self._parked(stray["key"], "and there is room under its limit", self._sweep(stray))
            over = {key: count for key in batch if key.startswith(PAUSED.encode()) and (count := self._parted(key))}
            if over:
                wait_a_moment()  # a listener may be putting them back right now
            for key, count in over.items():
                if self._parted(key) == count:
                    target = key.decode("utf-8", "surrogateescape").removeprefix(PAUSED)
                    yield self._parked(key, "and it is not paused any more", Parted(target=target))

    def _keys(self) -> Iterator[bytes]:
        """Read every key under which something is parked."""
        start = b"-"
        while True:
            with self.places.server.translated() as client:
                texts = client.zrangebylex(self.places.keys.waiting, start, b"+", start=0, num=1)
            if not texts:
                return
            parked = read_parked(texts[0])
            start = b"(" + texts[0] if parked is None else b"[" + parked.key + b"\1"
            if parked is not None:
                yield parked.key

    def _parted(self, key: bytes) -> int:
        """Count what is parked under a pause that has ended."""
        k = self.places.keys
        stands, count = self.places.piped(
            lambda p: (p.hexists(k.control, key), p.zlexcount(k.waiting, *under(key))), whole=True
        )
        return 0 if stands else int(count)

    def _parked(self, key: bytes, but: str, subject: Loose | Parted) -> Finding:
        with self.places.server.translated() as client:
            count = client.zlexcount(self.places.keys.waiting, *under(key))
        jobs = "1 job waits" if count == 1 else f"{count:,} jobs wait"
        return Finding(
            kind="parked",
            what=f"{jobs} under {brief_bytes(key)}, {but}",
            why="Nothing would ever start them. A program was interrupted before it did, or a person changed the keys.",
            remedy=self._fix,
            repairs=True,
            subject=subject,
            about=(bytes_text(key),),
        )

    # Entries that may be for a foreign peer, and wait where no foreign peer looks.

    def _hidden(self) -> Iterator[Finding]:
        for scored in self.places.scored_pages(self.places.keys.again):
            late = (member for member, score in scored if score <= self.places.now_ms - HIDDEN_MS)
            entries = [(member, entry) for member in late if (entry := read_entry(member)) is not None]
            found = [(member, id) for member, e in entries if e.is_regular and (id := item_id(e.item)) is not None]
            if found:
                jobs = "1 job waits" if len(found) == 1 else f"{len(found):,} jobs wait"
                which = ", ".join(brief_bytes(id) for _, id in found[:3]) + (", ..." if len(found) > 3 else "")
                yield Finding(
                    kind="hidden",
                    what=f"{jobs} in {self.places.keys.again} without an attempt so far ({which})",
                    why=f"Foreign peers read only {self.places.keys.next}. "
                    "A listener of an earlier version died or stalled with them.",
                    remedy=self._fix,
                    repairs=True,
                    subject=Hidden(entries=tuple(member for member, _ in found)),
                    about=tuple(bytes_text(id) for _, id in found),
                )

    def _sweep(self, stray: Stray) -> Loose:
        return Loose(stray={**stray, "sweep": 1}, lost=self.places.lost)
