"""Which seconds have many runs: found by counting ever shorter spans, in a bounded number of questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from workkit.web.forecast import HERD

WIDEST: Final = 4  # spans that are looked into, of each length
PARTS: Final = 60
SECOND_MS: Final = 1_000

Ahead = Callable[[Sequence[int]], list[int]]


def crowded(ahead: Ahead, edges: Sequence[int], counts: Sequence[int]) -> dict[datetime, int]:
    """Find the seconds that have 50 runs or more ahead, from counts of spans between `edges` (epoch ms): in the four
    fullest spans, by one question for each length. `ahead` counts as `Inspector.ahead` does. All edges but the first
    and the last are whole seconds.
    """
    spans = [(n, span) for n, span in zip(counts, pairwise(edges), strict=True) if n >= HERD]
    found: dict[datetime, int] = {}
    while spans:
        widest = sorted(spans, key=lambda one: -one[0])[:WIDEST]
        spans = []
        parts: list[tuple[int, int]] = []
        for n, (since, until) in widest:
            if until - since <= SECOND_MS:
                found[datetime.fromtimestamp(since // 1000, UTC)] = n
            else:
                parts += pairwise(_edges(since, until))
        if parts:
            spans = [one for one in _counted(ahead, parts) if one[0] >= HERD]
    return found


def _counted(ahead: Ahead, parts: Sequence[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
    """Count in all parts at once. The parts of one span touch; what lies between two spans is counted and left out."""
    edges = sorted({edge for part in parts for edge in part})
    counts = dict(zip(pairwise(edges), ahead(edges), strict=True))
    return [(counts[part], part) for part in dict.fromkeys(parts)]


def _edges(since: int, until: int) -> list[int]:
    """Divide a span at whole seconds into at most 60 parts; the first and the last one may be shorter."""
    first = since // SECOND_MS * SECOND_MS
    step = max(SECOND_MS, -(-(until - first) // PARTS // SECOND_MS) * SECOND_MS)
    return [since, *range(first + step, until, step), until]
