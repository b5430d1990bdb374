"""How long jobs that are due together wait for a thread. Pure."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Final

MOST_JOBS: Final = 20_000  # that are looked at one by one; of more, the rest is as these are


def last_start_ms(took_ms: Sequence[float], *, threads: int, over_ms: float = 0.0) -> float:
    """Say by how much the last of these jobs starts late, in ms: all due at one time, or spread evenly `over_ms`, each
    with the time that it usually takes, on so many threads. Without a thread, infinity.
    """
    if not took_ms:
        return 0.0
    if threads < 1:
        return float("inf")
    count = len(took_ms)
    looked = took_ms[:MOST_JOBS]
    step = over_ms / count
    free = [0.0] * min(threads, len(looked))
    worst = 0.0
    for k, took in enumerate(looked):
        due = k * step
        start = max(due, heapq.heappop(free))
        worst = max(worst, start - due)
        heapq.heappush(free, start + max(0.0, took))
    if count > len(looked):  # in proportion: the wait grows with each job by the same
        worst *= count / len(looked)
    return worst
