"""Counts of runs in one piece of memory, which another process can read: also after the process that wrote them was
killed.

Its words are unsigned 64-bit numbers of this machine. The first word is the number of rows. A row holds the schedule
and the function (the first word of the name is its length in bytes), then one number for each outcome, one for missed
occurrences, and two histograms: lateness in milliseconds and duration in microseconds, each as its buckets and the sum.
One thread writes. A reader may see a run whose sum is not there yet; it never sees a count that goes down.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from workkit.errors import JobCancelled
from workkit.jobs.names import shown
from workkit.jobs.outcome import Again, Dead, Done, Outcome

RunOutcome = Literal["done", "failed", "retried", "discarded", "cancelled", "fenced"]
OUTCOMES: tuple[RunOutcome, ...] = ("done", "failed", "retried", "discarded", "cancelled", "fenced")
EDGES = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
MOST_FUNCTIONS = 100  # with a row of their own; the others of a schedule share one
MOST_SCHEDULES = 30  # with a row for their other functions; the others share one
OTHER = "other"

_PLACES = {outcome: place for place, outcome in enumerate(OUTCOMES)}
_EDGES_MS = tuple(edge * 1000 for edge in EDGES)
_BUCKETS = len(EDGES) + 1
_NAME = 64  # words
MISSED = len(OUTCOMES)
LATENESS = MISSED + 1
DURATION = LATENESS + _BUCKETS + 1
NUMBERS = DURATION + _BUCKETS + 1
_ROW = _NAME + NUMBERS
_ROWS = MOST_FUNCTIONS + MOST_SCHEDULES + 1
SIZE = 8 * (1 + _ROWS * _ROW)
_MOST_CACHED = 10_000

Key = tuple[str, str]  # schedule and function


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values are in each bucket (the last one: above all edges), and their sum in seconds."""

    buckets: tuple[int, ...]
    sum: float


class RunTable:
    """A table in memory of this process, or in the file `fd`, which is that of another process too."""

    def __init__(self, fd: int | None = None) -> None:
        self._memory = mmap.mmap(-1 if fd is None else fd, SIZE)
        self._words = memoryview(self._memory).cast("Q")
        self._rows: dict[Key, int] = {}
        self._found: dict[Key, int] = {}
        self._functions = self._schedules = 0

    def note(self, schedule: str, fn: str, outcome: RunOutcome, *, took_ms: float, late_ms: int | None) -> None:
        """Count a run that ended. `late_ms` None: a further attempt, which is late on purpose."""
        at = self._found.get((schedule, fn)) or self._find(schedule, fn)
        words = self._words
        words[at + _PLACES[outcome]] += 1
        words[at + DURATION + bisect_left(_EDGES_MS, took_ms)] += 1
        words[at + DURATION + _BUCKETS] += int(took_ms * 1000)
        if late_ms is not None:
            words[at + LATENESS + bisect_left(_EDGES_MS, late_ms)] += 1
            words[at + LATENESS + _BUCKETS] += late_ms

    def missed(self, schedule: str, fn: str) -> None:
        """Count an occurrence that is over without a run."""
        self._words[(self._found.get((schedule, fn)) or self._find(schedule, fn)) + MISSED] += 1

    def rows(self) -> Iterator[tuple[Key, list[int]]]:
        """Read the rows: schedule, function and numbers. From any thread or process."""
        words = self._words
        for row in range(min(words[0], _ROWS)):
            at = 1 + row * _ROW
            name = bytes(words[at + 1 : at + _NAME])[: words[at]].decode("utf-8", "replace")
            schedule, _, fn = name.partition("\0")
            yield (schedule, fn), list(words[at + _NAME : at + _ROW])

    def close(self) -> None:
        """Give the memory back."""
        self._words.release()
        self._memory.close()

    def _find(self, schedule: str, fn: str) -> int:
        """Find where the numbers of a function are; begin a row while there is room."""
        key = _cut(schedule, shown(fn))
        if key not in self._rows and self._functions >= MOST_FUNCTIONS:
            key = _cut(schedule, OTHER)
            if key not in self._rows and self._schedules >= MOST_SCHEDULES:
                key = (OTHER, OTHER)
        if key not in self._rows:
            self._rows[key] = self._begin(key)
        if len(self._found) >= _MOST_CACHED:  # names without end must not fill this memory
            self._found.clear()
        self._found[schedule, fn] = self._rows[key]
        return self._rows[key]

    def _begin(self, key: Key) -> int:
        if self._functions < MOST_FUNCTIONS:
            self._functions += 1
        else:
            self._schedules += 1
        words = self._words
        at = 1 + words[0] * _ROW
        name = "\0".join(key).encode("utf-8", "replace")
        padded = name.ljust(8 * (_NAME - 1), b"\0")
        words[at] = len(name)
        words[at + 1 : at + _NAME] = memoryview(padded).cast("Q")
        words[0] += 1  # last: from now on readers see the row
        return at + _NAME


def _cut(schedule: str, fn: str) -> Key:
    """Shorten names so that they fit into a row."""
    schedule, fn = (text.encode("utf-8", "replace")[:250].decode("utf-8", "ignore") for text in (schedule, fn))
    return schedule, fn


def histogram(numbers: list[int], at: int, *, per_second: int) -> Histogram:
    """Take a histogram from the numbers of a row: the one at `LATENESS` or `DURATION`."""
    return Histogram(tuple(numbers[at : at + _BUCKETS]), numbers[at + _BUCKETS] / per_second)


def run_outcome(outcome: Outcome, error: BaseException | None) -> RunOutcome | None:
    """Name what became of a run; None if it did not run, or goes back to the server."""
    match outcome:
        case Done(discarded=None):
            return "done"
        case Done():
            return "cancelled" if issubclass(type(error), JobCancelled) else "discarded"
        case Again():
            return "retried"
        case Dead():
            return "failed"
    return None


def shared_file() -> int:
    """Make a file of the size of a table that has no name; return its descriptor, which a child may inherit."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        return os.dup(file.fileno())
