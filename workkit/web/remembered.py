"""What the web process remembers of a schedule when its server no longer tells it. Thread-safe; asks no server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice, repeat
from threading import Lock
from typing import Final

from workkit.contract.changes import Change
from workkit.contract.recurring import Recurs
from workkit.jobs.arguments import KnownFunction

MOST_FUNCTIONS: Final = 10_000


@dataclass(frozen=True, slots=True)
class _Names:
    """The names of the positional parameters of a function, and that of its ``*args``."""

    positional: tuple[str, ...]
    rest: str | None = None


@dataclass(slots=True, eq=False)
class Signatures:
    """The names of the parameters that listeners have told. Those of listeners that are gone are kept: jobs of their
    functions are masked still. `changes` counts how often something new was told.
    """

    changes: int = 0
    _lock: Lock = field(default_factory=Lock)
    _names: dict[str, _Names] = field(default_factory=dict)

    def note(self, functions: Mapping[str, KnownFunction]) -> None:
        """Keep what listeners tell now."""
        told = {fn: _names_of(known) for fn, known in islice(functions.items(), MOST_FUNCTIONS) if known.parameters}
        with self._lock:
            if any(self._names.get(fn) != names for fn, names in told.items()):
                kept = {fn: names for fn, names in self._names.items() if fn not in told}
                room = MOST_FUNCTIONS - len(told)
                self._names = dict(islice(kept.items(), max(0, len(kept) - room), None)) | told
                self.changes += 1

    def names(self, fn: str, count: int) -> Sequence[str]:
        """Name the parameters of the first `count` positional arguments of a function, as far as they are known."""
        names = self._names.get(fn)
        if names is None:
            return ()
        missing = 0 if names.rest is None else max(0, count - len(names.positional))
        return (*names.positional, *repeat(names.rest or "", missing))


def _names_of(known: KnownFunction) -> _Names:
    rest = next((one.name for one in known.parameters if one.kind == "rest"), None)
    return _Names(tuple(one.name for one in known.parameters if one.kind == "positional"), rest)


MOST_CHANGES: Final = 2_000  # that are read to find who cancelled a job
STEERED: Final = frozenset({"pause", "resume", "skip", "run", "show", "mark"})  # verbs that leave a job where it is
KEPT: Final = timedelta(days=1)
"""So long jobs are missed that are gone."""

SLACK: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Gone:
    """Recurring jobs that the server no longer has although nobody took them away: how many, and their last sight."""

    count: int
    since: datetime


@dataclass(slots=True, eq=False)
class SeenRecurring:
    """The recurring jobs with a name that this process has seen. Those that run a number of times end by themselves,
    and are not missed.
    """

    gone: Gone | None = None
    _lock: Lock = field(default_factory=Lock)
    _seen: dict[str, tuple[datetime, datetime | None]] = field(default_factory=dict)  # last sight, and its end

    def note(self, jobs: Iterable[Recurs], now: datetime, changes: Callable[[], Iterable[Change]]) -> None:
        """Compare with what is there now. `changes`: the last ones first, read where a job is missed. Raises
        Unsupported where they are not kept, and misses nothing then.
        """
        here = {
            one.key: (now, one.job.trigger.end if one.job.trigger else None)
            for one in jobs if one.job.name is not None and one.job.terms.count is None
        }  # fmt: skip
        with self._lock:
            missed = {
                key: (seen, end) for key, (seen, end) in self._seen.items()
                if key not in here and now - seen < KEPT and (end is None or end > now)
            }  # fmt: skip
            self._seen, self.gone = here, None
            if missed:
                since = min(seen for seen, _ in missed.values()) - SLACK
                for change in islice(changes(), MOST_CHANGES):
                    if change.at < since:
                        break
                    if change.verb not in STEERED:
                        for key in [key for key in missed if change.is_about(key)]:
                            del missed[key]
                self._seen |= missed
            if missed:
                self.gone = Gone(len(missed), max(seen for seen, _ in missed.values()))
