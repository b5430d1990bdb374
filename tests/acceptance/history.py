"""What happened in a scene, line by line, and whether it keeps the promise of spec/lifecycle.md. Pure but for `write`.

Producers, handlers and the stage hands append to one file, each line by one write, so that it outlives any of them:
``start`` and ``end`` of a run, ``ack`` and ``raised`` of an addition, ``cancelled``, ``killed``, ``fenced`` and
``resumed`` (a process, by its pid), ``given_back`` (a run, by the process that had it), ``rewound`` (the server, to an
earlier state).
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

SIGNAL = 0.1  # seconds that a signal may take to arrive
MARGIN = 1.0  # seconds between the end of a run and the moment from which its settle is certain

OVERTAKEN = 1.5
"""Seconds by which a run may begin after the one that follows it. A run first sets the time of the next one. A busy
machine may delay it after that.
"""


def write(file: str, **line: Any) -> None:
    """Append one line, with the time."""
    data = json.dumps({**line, "at": time.time()}).encode() + b"\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        assert os.write(descriptor, data) == len(data)
    finally:
        os.close(descriptor)


def complete_lines(file: str | Path) -> list[dict[str, Any]]:
    """Read what was written so far, without a last line of which only a part can be read yet."""
    text = Path(file).read_text(encoding="utf-8")
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What one label of the cast is owed once it is acknowledged.

    `attempts` is how many attempts its run has in all; `last` how the last one ends. `dues`: the times (ms) of a
    recurring job. `is_cancelled`: it was taken out, and need not run at all. `runs` False: nobody can. `after`: the
    labels that have to end first.
    """

    attempts: int = 1
    last: str = "returned"
    dues: tuple[int, ...] = ()
    is_cancelled: bool = False
    runs: bool = True
    after: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Run:
    """One start of a handler. Times in epoch seconds; `end` None where it never ended."""

    label: str
    id: str
    due: int
    attempt: int
    pid: int
    start: float
    end: float | None = None
    how: str = ""

    @property
    def occurrence(self) -> str:
        return f"{self.label} {self.id[:8]}@{self.due} attempt {self.attempt}"

    def was_in_flight(self, at: float, *, margin: float) -> bool:
        """Whether it had begun, and its settle may not have been done."""
        return self.start <= at + SIGNAL and (self.end is None or at <= self.end + margin)


@dataclass(slots=True, kw_only=True)
class History:
    """The lines, sorted by what they speak of. `slack`: seconds by which the machine may have held up anybody."""

    runs: list[Run] = field(default_factory=list)
    acknowledged: dict[str, list[Mapping[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    lines: list[Mapping[str, Any]] = field(default_factory=list)
    slack: float = 0.0

    @property
    def margin(self) -> float:
        return MARGIN + self.slack

    def of(self, *what: str) -> Iterator[Mapping[str, Any]]:
        """The lines of these kinds, in order."""
        return (line for line in self.lines if line["what"] in what)

    def is_forgotten(self, run: Run) -> bool:
        """Whether the server may have forgotten how this run ended: it went back to an earlier state after that."""
        return run.end is not None and any(run.end <= line["at"] for line in self.of("rewound"))

    @property
    def cancelled(self) -> dict[str, float]:
        """Ids that were cancelled, and when that was acknowledged."""
        return {line["id"]: line["at"] for line in self.of("cancelled")}


def read(lines: Iterable[str], *, slack: float = 0.0) -> History:
    """Read the lines of one scene, by their times: a process may be stopped between looking at the clock and writing.
    An end without its start is an error of the scene.
    """
    by_time = sorted((json.loads(line) for line in lines), key=lambda line: float(line["at"]))
    history = History(lines=by_time, slack=slack)
    running: dict[tuple[Any, ...], list[Run]] = defaultdict(list)  # one that was fenced may take its own work again
    for line in history.lines:
        match line["what"]:
            case "start":
                names = ("label", "id", "due", "attempt", "pid")
                run = Run(start=line["at"], **{name: line[name] for name in names})
                history.runs.append(run)
                running[_key(line)].append(run)
            case "end":
                run = running[_key(line)].pop(0)
                run.end, run.how = line["at"], line["how"]
            case "ack":
                history.acknowledged[line["label"]].append(line)
    return history


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong, as sentences; and how many runs were run twice, by cause."""

    complaints: tuple[str, ...]
    twice: Mapping[str, int]


def check(history: History, promises: Mapping[str, Promise]) -> Verdict:
    """Compare what happened with what was promised for each label."""
    twice: dict[str, int] = defaultdict(int)
    by_label: dict[str, list[Run]] = defaultdict(list)
    for run in history.runs:
        by_label[run.label].append(run)
    strangers = sorted(by_label.keys() - promises.keys())
    complaints = [f"{label} ran, and nobody had added it" for label in strangers]
    for label, promise in promises.items():
        runs = by_label.get(label, [])
        complaints += _attempts(label, promise, runs)
        if history.acknowledged.get(label):
            complaints += _kept(label, promise, [run for run in runs if not _was_told_to_stop(run, history)])
        if promise.dues:
            complaints += _chain(label, promise, runs, history)
        if promise.after and not any(history.of("rewound")):
            complaints += _early(label, promise, by_label, promises)
    for causes in _repeated(history):
        for cause, run in causes:
            if cause:
                twice[cause] += 1
            else:
                complaints.append(f"{run.occurrence} ran twice, and nothing had happened to its listener")
    complaints += _after_cancel(history)
    return Verdict(complaints=tuple(complaints), twice=dict(twice))


def _kept(label: str, promise: Promise, runs: Sequence[Run]) -> Iterator[str]:
    """Acknowledged means: run to an end at least once."""
    if promise.is_cancelled or not promise.runs:
        return
    ends = [run for run in runs if run.attempt == promise.attempts - 1 and run.end is not None]
    if not ends:
        yield f"{label} was acknowledged and is lost: {len(runs)} runs begun, none to its end"
    for run in ends:
        if run.how != promise.last:
            yield f"{run.occurrence} ended as {run.how}, not {promise.last}"


def _was_told_to_stop(run: Run, history: History) -> bool:
    """Whether its listener had lost the job when it checked in: another listener runs the job again."""
    lost = (line["at"] for line in history.of("fenced") if line["pid"] == run.pid)
    return run.how == "JobCancelled" and any(run.was_in_flight(at, margin=history.margin) for at in lost)


def _attempts(label: str, promise: Promise, runs: Sequence[Run]) -> Iterator[str]:
    """Each attempt follows the one before, and there are only so many."""
    if runs and not promise.runs:
        yield f"{label} ran, and nobody can run it"
    attempts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for run in runs:
        attempts[run.id, run.due].add(run.attempt)
    for (id, due), seen in attempts.items():
        if max(seen) >= promise.attempts:
            yield f"{label} {id[:8]}@{due} had attempt {max(seen)}; there are {promise.attempts}, counted from 0"
        if seen != set(range(max(seen) + 1)):
            yield f"{label} {id[:8]}@{due} left attempts out: {sorted(seen)}"


def _chain(label: str, promise: Promise, runs: Sequence[Run], history: History) -> Iterator[str]:
    """Every scheduled time is run, or was over when the run before it was armed; the chain lives to its end."""
    first: dict[int, float] = {}
    last: dict[int, float] = {}
    for run in runs:
        first.setdefault(run.due, run.start)
        last[run.due] = run.start
    # A server that forgot that an occurrence was armed has it armed again; else a run that is begun anew is not.
    armed = last if any(history.of("rewound")) else first
    for due in sorted(first.keys() - set(promise.dues)):
        yield f"{label} ran for {due}, when it was not due"
    known = history.acknowledged.get(label)
    if not known:
        return
    reached = known[0]["at"]  # what is due before it was added is not owed
    for due in promise.dues:
        if due in first:
            reached = max(reached, armed[due])
        elif due / 1000 > reached:  # else its time had passed before the run before it began: that stands for both
            yield f"{label} did not run for {due}, and no late run stands for it"
    starts = [first[due] for due in sorted(first)]
    overtaken = max((max(starts[:n], default=start) - start for n, start in enumerate(starts)), default=0.0)
    if overtaken > OVERTAKEN and not any(history.of("killed", "fenced", "given_back", "rewound")):
        yield f"{label} ran out of order: {[run.due for run in runs]}"


def _early(
    label: str, promise: Promise, by_label: Mapping[str, Sequence[Run]], promises: Mapping[str, Promise]
) -> Iterator[str]:
    """What runs after others begins when the last attempt of each has ended."""
    begun = min((run.start for run in by_label.get(label, ())), default=None)
    for before in promise.after:
        last = promises[before].attempts - 1
        ends = [run.end or math.inf for run in by_label.get(before, ()) if run.attempt == last]
        if begun is not None and min(ends, default=math.inf) > begun:
            yield f"{label} began before {before} had ended"


def _repeated(history: History) -> Iterator[list[tuple[str, Run]]]:
    """For each run that was begun again: what had happened to its listener while it was in flight, or nothing."""
    groups: dict[tuple[str, int, int], list[Run]] = defaultdict(list)
    for run in history.runs:
        groups[run.id, run.due, run.attempt].append(run)
    for runs in groups.values():
        if len(runs) > 1:
            yield [(_cause(history, run, then), run) for run, then in pairwise(runs)]


def _cause(history: History, run: Run, then: Run) -> str:
    for line in history.of("killed", "fenced"):
        if line["pid"] == run.pid and line["at"] <= then.start and run.was_in_flight(line["at"], margin=history.margin):
            return str(line["what"])
    for line in history.of("resumed"):
        late = {then.pid: then.start, run.pid: run.start}.get(line["pid"], 0.0)
        if line["at"] <= late <= line["at"] + history.margin:
            return "fenced"  # it was claimed before, and begun before its listener heard that it had lost it
    for line in history.of("given_back"):
        if (line["pid"], line["id"]) == (run.pid, run.id) and run.was_in_flight(line["at"], margin=history.margin):
            return "given back"
    if any(run.start - history.margin <= line["at"] <= then.start for line in history.of("rewound")):
        return "rewound"  # also where it was claimed before, and begun before its listener heard of it
    for line in history.of("ack"):  # by a second producer, within the second of its time: then it is a job once more
        if line["label"] == run.label and run.end is not None and run.end <= line["at"] <= then.start + history.margin:
            return "added again"
    return ""


def _after_cancel(history: History) -> Iterator[str]:
    for run in history.runs:
        cancelled = history.cancelled.get(run.id)
        if cancelled is not None and run.start > cancelled + history.margin:
            yield f"{run.occurrence} began {run.start - cancelled:.1f} s after it was cancelled"


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["label"], line["id"], line["due"], line["attempt"], line["pid"]
