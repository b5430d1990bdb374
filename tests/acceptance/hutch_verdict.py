"""What the logs and the dead queue of a fleet on RabbitMQ say: what was lost, what ran twice and why. Pure.

A duplicate needs a cause. The broker delivers again what was delivered and not acknowledged when its listener was
killed or cut off, or when the broker was killed. A broker that was away in the middle moves a delayed message again. A
producer publishes again what may not have been taken.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.acceptance.fleet_log import Run
from tests.acceptance.soak_verdict import Incident, Start, cause_of

Message = tuple[str, int, str]  # name, number, message id


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """A message in the dead queue."""

    name: str
    number: int
    id: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Owed:
    """What was confirmed: the attempt that must end, by name and number; numbers that were published more than once,
    because a confirm was not heard; names whose messages die.
    """

    last: dict[str, dict[int, int]] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    malformed: set[int] = field(default_factory=set)
    delayed: set[int] = field(default_factory=set)
    dying: Collection[str] = ()

    def add(self, name: str, numbers: Collection[int], *, last: int) -> None:
        self.last.setdefault(name, {}).update(dict.fromkeys(numbers, last))

    def must_die(self) -> set[tuple[str, int]]:
        return {(name, n) for name in self.dying for n in self.last.get(name, {})} | {("", n) for n in self.malformed}


def lost(owed: Owed, runs: Sequence[Run]) -> dict[str, list[int]]:
    """The numbers whose last attempt has not ended, by name."""
    ended = {(run.name, run.number, run.fails) for run in runs if run.end is not None}
    found = {name: [n for n, at in last.items() if (name, n, at) not in ended] for name, last in owed.last.items()}
    return {name: numbers for name, numbers in found.items() if numbers}


def complaints(owed: Owed, runs: Sequence[Run], dead: Sequence[Dead], incidents: Sequence[Incident]) -> Iterator[str]:
    """Say what is wrong, in sentences."""
    for name, numbers in lost(owed, runs).items():
        yield f"{len(numbers)} of {name} are lost: {numbers[:10]}"
    ids: dict[tuple[str, int], set[str]] = defaultdict(set)
    for run in runs:
        ids[run.name, run.number].add(run.id)
    for (name, n), found in ids.items():
        if n not in owed.last.get(name, {}):
            yield f"{name} {n} ran, and nobody had published it"
        if len(found) > 1 and n not in owed.again:
            yield f"{name} {n} ran as {len(found)} messages, and was published once"
    for run in runs:
        if run.fails > owed.last.get(run.name, {}).get(run.number, 0):
            yield f"{run.name} {run.number} had attempt {run.fails} of {owed.last[run.name][run.number]}"
    yield from (f"ran twice without a cause: {one}" for one in repeated(owed, runs, incidents)[1][:20])
    yield from _dead(owed, runs, dead, incidents)


def _dead(owed: Owed, runs: Sequence[Run], dead: Sequence[Dead], incidents: Sequence[Incident]) -> Iterator[str]:
    """The dead queue holds what must die, once; and again only where the last run has a cause to be repeated."""
    seen = {(one.name, one.number) for one in dead}
    if missing := sorted(owed.must_die() - seen):
        yield f"{len(missing)} are not in the dead queue: {missing[:10]}"
    if strange := sorted(seen - owed.must_die()):
        yield f"{len(strange)} are in the dead queue and must not be: {strange[:10]}"
    broken = _broken(owed, runs, incidents)
    for (name, n, id), count in Counter((one.name, one.number, one.id) for one in dead).items():
        if name and count > 1 and not broken[name, n, id]:
            yield f"{name} {n} is {count} times in the dead queue, and no run of it was interrupted"
    for one in dead:
        if (reason := "failed" if one.name else "corrupt") != one.reason:
            yield f"{one.name} {one.number} is dead as {one.reason}, not {reason}"


def repeated(owed: Owed, runs: Sequence[Run], incidents: Sequence[Incident]) -> tuple[Mapping[str, int], list[str]]:
    """Runs that were begun again, by cause; and those that nothing explains."""
    broken = _broken(owed, runs, incidents)
    causes: Counter[str] = Counter()
    unexplained = []
    groups: dict[tuple[Message, int], list[Run]] = defaultdict(list)
    for run in runs:
        groups[(run.name, run.number, run.id), run.fails].append(run)
    for (message, fails), group in groups.items():
        for again in sorted(group, key=lambda run: run.at)[1:]:
            why = broken[message]
            before = [cause for attempt, cause in why.items() if attempt <= fails]
            if before:
                causes[why.get(fails) or f"{before[0]} at an earlier attempt"] += 1
            else:
                unexplained.append(f"{message} attempt {fails}: {[run for run in group if run is not again]}, {again}")
    return causes, unexplained


def _broken(owed: Owed, runs: Sequence[Run], incidents: Sequence[Incident]) -> Mapping[Message, dict[int, str]]:
    """The attempts of each message that something interrupted before they were acknowledged, and what it was. Such an
    attempt may have published its retry, and runs again: then the next attempt is there twice. Incidents of process 0
    are those of the broker, for messages that were delayed; until it is back in full, a run that has ended is settled
    late.
    """
    by_process: dict[int, list[Incident]] = defaultdict(list)
    for incident in incidents:
        by_process[incident.pid].append(incident)
    found: dict[Message, dict[int, str]] = defaultdict(dict)
    for run in runs:
        start = Start(pid=run.process, at=run.at, end=run.end)
        was_delayed = run.number in owed.delayed or run.fails > 0
        if cause := cause_of(start, [*by_process[run.process], *(by_process[0] if was_delayed else ())], by_process[0]):
            found[run.name, run.number, run.id][run.fails] = cause
    return found
