"""A small simulation: how late the jobs of many schedules start, second by second of a period. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from docs.scale.model import Fleet, Model

ROUNDS = 3
"""Periods to simulate. Only the last one counts: the work that the others left over waits in it."""

PARTS = 20
"""The parts of a second's jobs that get a lateness of their own if they wait for long, as they start in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Jobs that recur each `period_s` seconds. `together`: the part that is due at the first second of it, as "every
    hour" is; the others are spread evenly over its seconds.
    """

    jobs: float
    period_s: int = 3600
    together: float = 0.5
    kind: str = "recurring"

    @property
    def rate(self) -> float:
        """How many run in a second, on average."""
        return self.jobs / self.period_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`busy`: the part of its time that the busiest shard works. Lateness in seconds, from due to start: of half of the
    jobs, of 99 of 100, of the last one; infinite where work arrives faster than it is done.
    """

    busy: float
    p50_s: float
    p99_s: float
    worst_s: float

    @property
    def keeps_up(self) -> bool:
        """Whether all that is due is done within a period."""
        return self.busy < 1


def simulate(model: Model, load: Load, fleet: Fleet) -> Outcome:
    """Play the fullest shard. Jobs fall on shards by chance: it has three standard deviations more than its share."""
    share = load.jobs / fleet.shards
    jobs = share if fleet.shards == 1 else share + 3 * math.sqrt(share)
    capacity = model.rate(load.kind, fleet, waiting=load.jobs) / fleet.shards
    busy = math.inf if capacity <= 0 else jobs / load.period_s / capacity
    if busy >= 1:
        return Outcome(busy=busy, p50_s=math.inf, p99_s=math.inf, worst_s=math.inf)
    late = sorted(_lateness(jobs, load, capacity))
    return Outcome(busy=busy, p50_s=_quantile(late, 0.5), p99_s=_quantile(late, 0.99), worst_s=late[-1][0])


def _lateness(jobs: float, load: Load, capacity: float) -> Iterator[tuple[float, float]]:
    """Give how late a part of the jobs starts, and how many these are, for all parts of the last period."""
    spread = jobs * (1 - load.together) / load.period_s
    waiting = 0.0
    for number in range(ROUNDS):
        for second in range(load.period_s):
            due = spread + (jobs * load.together if second == 0 else 0.0)
            if number == ROUNDS - 1:
                parts = PARTS if waiting + due > capacity else 1  # fine where they wait for more than a second
                for part in range(parts):
                    yield (waiting + due * (part + 0.5) / parts) / capacity, due / parts
            waiting = max(0.0, waiting + due - capacity)


def _quantile(late: list[tuple[float, float]], part: float) -> float:
    wanted = part * sum(count for _, count in late)
    for seconds, count in late:
        wanted -= count
        if wanted <= 0:
            return seconds
    return late[-1][0]
