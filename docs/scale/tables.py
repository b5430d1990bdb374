"""The tables of docs/scale.md, made of the measured points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from docs.scale.model import Fleet, Model, Point, errors
from docs.scale.simulate import Load, simulate

SHARDS: Final = (1, 4, 16, 64)
LISTENERS: Final = (1, 10, 100, 1_000, 10_000)
JOBS: Final = tuple(10**power for power in range(4, 9))
PER_SHARD: Final = 4  # listener processes, in the table of lateness
_SPREAD: Final = ("recurring jobs", *(f"{n} shard{'s' if n > 1 else ''}" for n in SHARDS))
KINDS: Final[Mapping[str, str]] = {
    "once": "runs once",
    "recurring": "recurs, with a name",
    "unique": "unique key",
    "limited": "limit of its function",
    "kept": "keeps its result",
}


def tables(model: Model, points: Sequence[Point]) -> dict[str, str]:
    """Write all tables, by their names."""
    return {
        "costs": _costs(model),
        "errors": _errors(model, points),
        "idle": _idle(model),
        "rates": _rates(model),
        "lateness": _lateness(model),
    }


def _costs(model: Model) -> str:
    rows = [
        (KINDS[name], _us(cost.add_server_us), _us(cost.server_us), _us(cost.producer_us), _us(cost.listener_us),
         f"{cost.bytes:,.0f}")
        for name, cost in model.kinds.items()
    ]  # fmt: skip
    return table(
        ("kind", "server: add", "server: claim and settle", "producer", "listener", "bytes while it waits"), rows
    )


def _errors(model: Model, points: Sequence[Point]) -> str:
    found = errors(model, points)
    (kind, waiting, processes), worst = max(found.items(), key=lambda pair: abs(pair[1]))
    middle = median(abs(error) for error in found.values())
    return (
        f"{len(found)} points: off by {middle:.0%} in the median, and by {worst:+.0%} at most ({KINDS[kind]}, "
        f"{waiting:,} waiting jobs, listener processes: {processes})."
    )


def _idle(model: Model) -> str:
    return (
        f"{model.idle.requests:,.0f} requests a second, and {model.idle.server_us / 1e6:.2%} of the server's processor."
    )


def _rates(model: Model) -> str:
    rows = []
    for shards in SHARDS:
        found = [_bounded(model, Fleet(shards=shards, processes=count)) for count in LISTENERS]
        rows.append((f"{shards}", *found))
    return table(("shards", *(f"{count:,} process{'es' * (count > 1)}" for count in LISTENERS)), rows)


def _bounded(model: Model, fleet: Fleet) -> str:
    rate = model.rate("once", fleet)
    if not rate:
        return "none: heartbeats"
    return f"{_rate(rate)} ({model.bound('once', fleet)})"


def _lateness(model: Model) -> str:
    def cell(jobs: int, shards: int) -> str:
        found = simulate(model, Load(jobs=jobs), Fleet(shards=shards, processes=PER_SHARD * shards))
        if not found.keeps_up:
            return "too much"
        return f"{_seconds(found.p50_s)}, {_seconds(found.worst_s)}; {found.busy:.0%}"

    return table(_SPREAD, [(f"{jobs:,}", *(cell(jobs, shards) for shards in SHARDS)) for jobs in JOBS])


def spread(values: Sequence[float], digits: int = 3) -> str:
    """Write the median, and the range if there is more than one value."""
    middle = number(median(values), digits)
    if len(values) < 2:
        return middle
    return f"{middle} ({number(min(values), digits)}-{number(max(values), digits)})"


def number(value: float, digits: int = 3) -> str:
    """Round to a number of significant digits, with commas between thousands."""
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, digits - 1 - math.floor(math.log10(abs(value)))):,.{places}f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _us(value: float) -> str:
    return f"{value:,.0f} µs"


def _rate(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"


def _seconds(value: float) -> str:
    if value < 1:
        return f"{value * 1000:.2g} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min"
