"""From a part of the past on a lane of the Timeline to the runs of that part. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final
from urllib.parse import urlencode

from workkit.contract.history import PastRun
from workkit.text.glance import moment
from workkit.web.charts.axis import Axis
from workkit.web.planning.strands import Group

ASKED: Final[dict[Group, str]] = {"job": "job", "fn": "fn", "listener": "q"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a lane between two ticks: its place, the address of its runs, and what it says."""

    x: float
    width: float
    path: str
    says: str


def parts(axis: Axis, runs: Iterable[PastRun], *, by: Group, key: str) -> tuple[Part, ...]:
    """Make a part for each time between two ticks in which a run ended. `key`: the job, function or listener."""
    ended = sorted(run.ended for run in runs)
    edges = [axis.start, *axis.edges, axis.end]
    found = []
    for since, until in pairwise(edges):
        if bisect_left(ended, since) < bisect_left(ended, until):
            x = axis.clipped(since)
            found.append(
                Part(
                    round(x, 1),
                    round(axis.clipped(until) - x, 1),
                    _path(by, key, since, until),
                    _says(axis, key, since, until),
                )
            )
    return tuple(found)


def _path(by: Group, key: str, since: datetime, until: datetime) -> str:
    value = f'on:"{key}"' if by == "listener" else key
    bounds = {"from": _iso(since), "to": _iso(until)}
    return f"runs?{urlencode({ASKED[by]: value} | bounds, errors='replace')}"


def _says(axis: Axis, key: str, since: datetime, until: datetime) -> str:
    first, last = (moment(at.replace(second=0, microsecond=0), axis.now, axis.zone) for at in (since, until))
    return f"Runs of {key}, {first} to {last}"


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
