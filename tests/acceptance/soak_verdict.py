"""What the files of a soak say: what was lost, what ran twice and why, whether chains and memory held. Pure."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FENCED = (3.0, 8.0)  # seconds around a bent number: what was in flight then may run again
MARGIN = 1.5  # seconds within which a run that ended is certainly settled, on a busy machine
RETURN = 2.5  # seconds after the server's return within which listeners go on, and have settled what had ended
SLOPE = 0.3  # MB a minute: a listener whose memory grows faster than that, after its warm-up, has a leak

Key = tuple[str, str, int, int]  # label, id, due ms, attempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What was done to a process, from when to when (epoch seconds); `pid` 0 is the server."""

    kind: str
    pid: int
    at: float
    until: float

    def __str__(self) -> str:
        return f"{self.kind} {self.pid} {self.at:.3f} {self.until:.3f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One beginning of a run; `end` None where it never ended."""

    pid: int
    at: float
    end: float | None = None


def read_runs(folder: Path) -> dict[Key, list[Start]]:
    """Every run of every process, by what was run."""
    runs: dict[Key, list[Start]] = defaultdict(list)
    for file in folder.glob("runs-*"):
        pid = int(file.name.rpartition("-")[2])
        open_: dict[Key, list[float]] = defaultdict(list)  # a listener that was fenced may claim its own work again
        for line in file.read_text().splitlines():
            letter, label, id, due, attempt, at = line.split(" ")
            key = (label, id, int(due), int(attempt))
            if letter == "b":
                open_[key].append(float(at))
            else:
                runs[key].append(Start(pid=pid, at=open_[key].pop(0), end=float(at)))
        for key, begun in open_.items():
            runs[key] += [Start(pid=pid, at=at) for at in begun]
    return runs


def read_incidents(folder: Path) -> list[Incident]:
    """What was done, as it was written down."""
    words = [line.split() for line in (folder / "incidents").read_text().splitlines()]
    return [Incident(kind=kind, pid=int(pid), at=float(at), until=float(until)) for kind, pid, at, until in words]


def read_acknowledged(folder: Path) -> set[int]:
    """The numbers of all jobs whose addition was acknowledged."""
    pairs = [line.split() for file in folder.glob("acks-*") for line in file.read_text().splitlines()]
    return {number for first, count in pairs for number in range(int(first), int(first) + int(count))}


def lost(acknowledged: Iterable[int], runs: dict[Key, list[Start]]) -> list[int]:
    """Jobs that were acknowledged and never ran to an end."""
    ended = {label for (label, *_), starts in runs.items() if any(start.end is not None for start in starts)}
    return sorted(number for number in acknowledged if str(number) not in ended)


def fenced(pid: int) -> Incident:
    """What a value that bends a listener's number leads to: what is in flight may run again."""
    now = time.time()
    return Incident(kind="fenced", pid=pid, at=now - FENCED[0], until=now + FENCED[1])


def repeated(runs: dict[Key, list[Start]], incidents: Sequence[Incident]) -> tuple[dict[str, int], list[str]]:
    """Runs that were begun again, counted by what had happened to their listener; and those nothing explains.

    An attempt that failed is begun under the next number, so it is not one of them.
    """
    by_pid: dict[int, list[Incident]] = defaultdict(list)
    for incident in incidents:
        by_pid[incident.pid].append(incident)
    causes: dict[str, int] = defaultdict(int)
    unexplained = []
    away = by_pid.pop(0, [])
    for (label, id, due, attempt), starts in runs.items():
        starts = sorted(starts, key=lambda start: start.at)
        for one, then in pairwise(starts):
            if cause := cause_of(one, by_pid[one.pid], away) or _begun_late(then, by_pid[then.pid]):
                causes[cause] += 1
            else:
                unexplained.append(f"{label} {id}@{due} attempt {attempt}: {one}, then {then}")
    return dict(causes), unexplained


def cause_of(start: Start, incidents: Sequence[Incident], away: Sequence[Incident]) -> str:
    """Whether the run was in flight when its process was killed, stopped or frozen."""
    for incident in incidents:
        if start.at <= incident.until and (start.end is None or incident.at <= _settled(start.end, away)):
            return incident.kind
    return ""


def _settled(end: float, away: Sequence[Incident]) -> float:
    """When a run that ended is certainly settled: not while the server is away."""
    by = end + MARGIN
    for incident in sorted(away, key=lambda incident: incident.at):
        if incident.at <= by and end <= incident.until:
            by = max(by, incident.until + RETURN)
    return by


def _begun_late(then: Start, incidents: Sequence[Incident]) -> str:
    """Whether it was begun just after a freeze, before its listener could hear that the work was not its own."""
    for incident in incidents:
        if incident.kind == "frozen" and incident.until <= then.at <= incident.until + MARGIN:
            return incident.kind
    return ""


def broken_chains(runs: dict[Key, list[Start]], labels: Iterable[str], *, until: float) -> Iterator[str]:
    """Recurring jobs, each due every second: a second may be left out only if the run before it began after it."""
    first: dict[str, dict[int, float]] = defaultdict(dict)
    for (label, _, due, _), starts in runs.items():
        first[label][due] = min(start.at for start in starts)
    for label in labels:
        dues = sorted(first[label])
        if not dues:
            yield f"{label} never ran"
            continue
        for due, then in zip(dues, [*dues[1:], round(until * 1000)], strict=True):
            if then / 1000 - 1 > first[label][due] + 0.001 and then > due + 1000:
                yield f"{label}: {due} began at {first[label][due]:.3f}, and the next run was for {then}"


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """The growth of memory (seconds, MB) in MB a minute, by least squares, after the first third; 0 where the rest is
    shorter than two minutes, in which a growth says nothing.
    """
    kept = samples[len(samples) // 3 :]
    if not kept or kept[-1][0] - kept[0][0] < 120:
        return 0.0
    mean_t, mean_m = sum(t for t, _ in kept) / len(kept), sum(m for _, m in kept) / len(kept)
    spread = sum((t - mean_t) * (t - mean_t) for t, _ in kept)
    return 60 * sum((t - mean_t) * (m - mean_m) for t, m in kept) / spread
