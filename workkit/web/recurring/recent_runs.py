"""The last single runs of a schedule, kept: who looks again reads only what was added. They are never changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Protocol

from workkit.contract.history import PastRun

MOST: Final = 2_000
SETTLED: Final = timedelta(seconds=2)
"""So long after a run others may still come in before it, where a schedule has several shards."""


class Kept(Protocol):
    """What single runs are read from: a `History`."""

    def runs(self, *, since_ms: int = 0) -> Iterator[PastRun]:
        """Page through the single runs, the last one first."""


class RecentRuns:
    """Keeps the last 2,000 single runs. Thread-safe."""

    def __init__(self) -> None:
        self._settled: Sequence[PastRun] = ()

    def read(self, history: Kept, now: datetime) -> Sequence[PastRun]:
        """Give them, the last one first. Raises Unsupported."""
        settled = self._settled
        added = _added(history, settled[0]) if settled else None
        found = list(islice(history.runs(), MOST)) if added is None else [*added, *settled][:MOST]
        first = next((k for k, run in enumerate(found) if run.ended <= now - SETTLED), len(found))
        self._settled = found[first:]
        return found


def _added(history: Kept, last: PastRun) -> list[PastRun] | None:
    """Read the runs behind one that is known; None where it is no longer there, or cannot be told from others."""
    since_ms = int(last.ended.timestamp() * 1000)
    found: list[PastRun] = []
    for run in islice(history.runs(since_ms=since_ms), MOST):
        if run.place is not None and run.place == last.place:
            return found
        found.append(run)
    return None
