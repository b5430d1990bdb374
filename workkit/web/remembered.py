"""What the web process remembers of a schedule when its server no longer tells it. Thread-safe; asks no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, repeat
from threading import Lock
from typing import Final

from workkit.jobs.known import Known

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

    def note(self, functions: Mapping[str, Known]) -> None:
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


def _names_of(known: Known) -> _Names:
    rest = next((one.name for one in known.parameters if one.kind == "rest"), None)
    return _Names(tuple(one.name for one in known.parameters if one.kind == "positional"), rest)
