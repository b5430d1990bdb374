"""The cost model: the cost of a job, and the jobs a second that shards, listeners and processors run. Pure.

The server does its work on one processor, and each listener process on another one, as far as there are enough. So a
schedule runs as many jobs as the busiest of three lets it: the server of each shard, the listener processes, or all
processors of a machine that holds both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

USUAL_WAITING = 10_000
"""The number of waiting jobs for which the costs of a kind hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A measured point. Costs are microseconds of processor time for one job: `server_us` to claim and settle it,
    `add_server_us` to add it; `listener_us` and `producer_us` in Python. `rate`: jobs a second; `bytes`: memory of a
    job that waits; `cores`: processors of the machine, which ran server and listeners.
    """

    kind: str
    waiting: int
    processes: int
    cores: int
    server_us: float
    listener_us: float
    add_server_us: float
    producer_us: float
    rate: float
    bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The cost of one idle listener among `listeners`: requests, and microseconds of processor time, a second."""

    listeners: int
    requests: float
    server_us: float
    listener_us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one job of a kind costs, in microseconds of processor time, and in bytes of the server's memory."""

    server_us: float
    listener_us: float
    add_server_us: float
    producer_us: float
    bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """`shards`: servers or slots with a processor each; `processes`: of listeners; `cores`: processors that server
    and listeners share, None where each has its own.
    """

    shards: int = 1
    processes: int = 1
    cores: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The fitted costs. `growth`: by how much of itself the server's work grows with each tenfold number of waiting
    jobs; `usable`: the part of a processor's time that is spent on jobs while there are enough of them.
    """

    kinds: Mapping[str, Cost]
    growth: float
    usable: float
    idle: Idle

    def server_us(self, kind: str, waiting: float, *, with_add: bool = False) -> float:
        """Give the server's work to run one job while others are `waiting`, and to add it too."""
        cost = self.kinds[kind]
        work = cost.server_us + (cost.add_server_us if with_add else 0.0)
        return work * max(0.1, 1 + self.growth * (math.log10(max(1.0, waiting)) - math.log10(USUAL_WAITING)))

    def rate(self, kind: str, fleet: Fleet, *, waiting: float = USUAL_WAITING) -> float:
        """Say how many jobs a second the fleet runs, where always some are due."""
        server = self.server_us(kind, waiting / fleet.shards)
        listener = self.kinds[kind].listener_us
        free = 1e6 * self.usable
        bounds = [fleet.shards * max(0.0, free - self.idle_us(fleet)) / server, fleet.processes * free / listener]
        if fleet.cores is not None:
            bounds.append(fleet.cores * free / (server + listener))
        return min(bounds)

    def bound(self, kind: str, fleet: Fleet, *, waiting: float = USUAL_WAITING) -> str:
        """Say what limits the rate: "listeners", "server" or "processors"."""
        rate = self.rate(kind, fleet, waiting=waiting)
        if math.isclose(rate, fleet.processes * 1e6 * self.usable / self.kinds[kind].listener_us):
            return "listeners"
        alone = Fleet(shards=fleet.shards, processes=fleet.processes)
        return "server" if math.isclose(rate, self.rate(kind, alone, waiting=waiting)) else "processors"

    def idle_us(self, fleet: Fleet) -> float:
        """Give the server's work a second on the heartbeats of all listeners, each of which visits every shard."""
        return self.idle.server_us * fleet.processes


def fit(points: Sequence[Point], idle: Sequence[Idle]) -> Model:
    """Fit the costs where the usual number of jobs waits, the growth by the sizes, and what is usable by the rates."""
    kinds = {point.kind: _cost(point) for point in reversed(points) if point.processes == 1 and _is_usual(point)}
    rough = Model(kinds=kinds, growth=_growth(points), usable=1.0, idle=max(idle, key=lambda one: one.listeners))
    steady = [point for point in points if point.kind != "recurring"]
    usable = median(point.rate / rough.rate(point.kind, _fleet(point), waiting=point.waiting) for point in steady)
    return Model(kinds=kinds, growth=rough.growth, usable=min(1.0, usable), idle=rough.idle)


def errors(model: Model, points: Iterable[Point]) -> dict[tuple[str, int, int], float]:
    """Say by how much the model's rate differs from each measured one, as a part of it, by kind, waiting, processes."""
    return {
        (point.kind, point.waiting, point.processes):
            model.rate(point.kind, _fleet(point), waiting=point.waiting) / point.rate - 1
        for point in points
        if point.kind != "recurring"  # its rate is that of the clock
    }  # fmt: skip


def _fleet(point: Point) -> Fleet:
    return Fleet(processes=point.processes, cores=point.cores)


def _is_usual(point: Point) -> bool:
    return point.waiting == USUAL_WAITING or point.kind == "recurring"


def _cost(point: Point) -> Cost:
    return Cost(
        server_us=point.server_us, listener_us=point.listener_us, add_server_us=point.add_server_us,
        producer_us=point.producer_us, bytes=point.bytes,
    )  # fmt: skip


def _growth(points: Sequence[Point]) -> float:
    """Fit a line through the server's work over the logarithm of the size (least squares), as a part of the usual."""
    sizes = [(math.log10(one.waiting), one.server_us) for one in points if (one.kind, one.processes) == ("once", 1)]
    mean_x, mean_y = fmean(x for x, _ in sizes), fmean(y for _, y in sizes)
    spread = sum((x - mean_x) ** 2 for x, _ in sizes)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in sizes) / spread if spread else 0.0
    usual = mean_y + slope * (math.log10(USUAL_WAITING) - mean_x)
    return max(0.0, slope / usual)
