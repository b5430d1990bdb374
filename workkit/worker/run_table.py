"""Counts of runs in one piece of memory. Another process can read it, also after the writing process was killed.

Its words are unsigned 64-bit numbers of this machine. The first word is the number of rows. A row holds the schedule
and the function (the first word of the name is its length in bytes), then one number for each outcome, one for missed
occurrences, two about deadlines, two about batches, and two histograms: lateness and duration, each as its buckets and
the sum in microseconds.
One thread writes. A reader may see a run before its sum; it never sees a count that goes down.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import tempfile
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workkit.errors import JobCancelled
from workkit.jobs.names import shown
from workkit.jobs.outcome import Again, Dead, Done, Outcome
from workkit.worker.counting import Lengths, add_sorted

RunOutcome = Literal["done", "failed", "retried", "discarded", "cancelled", "fenced"]
OUTCOMES: tuple[RunOutcome, ...] = ("done", "failed", "retried", "discarded", "cancelled", "fenced")
EDGES = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0)
MOST_FUNCTIONS = 50  # with a row of their own; the others of a schedule share one
MOST_SCHEDULES = 30  # with a row for their other functions; the others share one
OTHER = "other"

_PLACES = {outcome: place for place, outcome in enumerate(OUTCOMES)}
_EDGES_MS = tuple(edge * 1000 for edge in EDGES)
_BEYOND_MS = tuple(math.nextafter(edge, math.inf) for edge in _EDGES_MS)  # an edge belongs to the bucket below it
_BUCKETS = len(EDGES) + 1
_NAME = 64  # words
MISSED = len(OUTCOMES)
PAST_DEADLINE, ENDED_LATE = MISSED + 1, MISSED + 2
BATCHES = {"done": MISSED + 3, "cancelled": MISSED + 4}  # in rows without a function
LATENESS = MISSED + 5
DURATION = LATENESS + _BUCKETS + 1
NUMBERS = DURATION + _BUCKETS + 1
_ROW = _NAME + NUMBERS
_ROWS = MOST_FUNCTIONS + MOST_SCHEDULES + 1
_PACKED = struct.Struct(f"@{NUMBERS}Q")  # native: each number is written at once
SIZE = 8 * (1 + _ROWS * _ROW)
_MOST = 2**64 - 1
_MOST_CACHED = 10_000

Key = tuple[str, str]  # schedule and function


@dataclass(frozen=True, slots=True)
class RunHistogram:
    """A histogram: the number of values in each bucket (the last one: above all edges), and their sum in seconds."""

    buckets: tuple[int, ...]
    sum: float


class RunRow:
    """The numbers of one function in this process, until `RunTable.flush` writes them."""

    __slots__ = ("at", "is_new", "numbers", "waited_ms", "worked_ms")

    def __init__(self, at: int) -> None:
        self.at, self.is_new = at, False
        self.numbers = [0] * NUMBERS  # without the two sums, and without the runs that are done
        self.worked_ms = 0.0
        self.waited_ms = 0

    def packed(self) -> bytes:
        """Return the numbers as bytes, with the derived ones."""
        numbers = self.numbers
        numbers[DURATION + _BUCKETS] = int(self.worked_ms * 1000)
        numbers[LATENESS + _BUCKETS] = min(_MOST, self.waited_ms * 1000)  # a record may claim to be due at any time
        numbers[0] = sum(numbers[DURATION : DURATION + _BUCKETS]) - sum(numbers[1:MISSED])
        return _PACKED.pack(*numbers)


class RunTable:
    """A table in memory of this process, or in the file `fd`, which another process shares."""

    def __init__(self, fd: int | None = None) -> None:
        self._memory = mmap.mmap(-1 if fd is None else fd, SIZE)
        self._words = memoryview(self._memory).cast("Q")
        self._rows: dict[Key, RunRow] = {}
        self._found: dict[str, dict[str, RunRow]] = {}  # schedule -> function as it is stored -> row
        self._changed: list[RunRow] = []
        self._functions = self._schedules = 0

    def note(self, schedule: str, fn: str, outcome: RunOutcome, *, took_ms: float, late_ms: int | None) -> None:
        """Count a run that ended. `late_ms` is None for a further attempt, which is late on purpose. Readers see the
        count after `flush`.
        """
        row = self._row(schedule, fn)
        row.numbers[_PLACES[outcome]] += 1
        row.numbers[DURATION + bisect_left(_EDGES_MS, took_ms)] += 1
        row.worked_ms += took_ms
        if late_ms is not None:
            row.numbers[LATENESS + bisect_left(_EDGES_MS, late_ms)] += 1
            row.waited_ms += late_ms

    def done(self, schedule: str, lengths: Mapping[str, Lengths]) -> None:
        """Count many first attempts with a handler that returned, in one step, as `note` does for one."""
        for fn, (late, took) in lengths.items():
            row = self._row(schedule, fn)
            add_sorted(row.numbers, DURATION, took, _BEYOND_MS)
            add_sorted(row.numbers, LATENESS, late, _BEYOND_MS)
            row.worked_ms += sum(took)
            row.waited_ms += sum(late)

    def count(self, schedule: str, fn: str, what: int) -> None:
        """Count one more of `MISSED`, `PAST_DEADLINE` or `ENDED_LATE`. Readers see it after `flush`."""
        self._row(schedule, fn).numbers[what] += 1

    def flush(self) -> None:
        """Write the counts to the memory that readers see."""
        while self._changed:
            row = self._changed.pop()
            row.is_new = False
            self._words[row.at : row.at + NUMBERS] = memoryview(row.packed()).cast("Q")

    def rows(self) -> Iterator[tuple[Key, list[int]]]:
        """Read the rows: schedule, function and numbers. Safe in any thread or process."""
        words = self._words
        for row in range(min(words[0], _ROWS)):
            at = 1 + row * _ROW
            name = bytes(words[at + 1 : at + _NAME])[: words[at]].decode("utf-8", "replace")
            schedule, _, fn = name.partition("\0")
            yield (schedule, fn), list(words[at + _NAME : at + _ROW])

    def close(self) -> None:
        """Free the memory."""
        self._words.release()
        self._memory.close()

    def _row(self, schedule: str, fn: str) -> RunRow:
        found = self._found.get(schedule)
        row = found.get(fn) if found is not None else None
        if row is None:
            row = self._find(schedule, fn)
        if not row.is_new:
            row.is_new = True
            self._changed.append(row)
        return row

    def _find(self, schedule: str, fn: str) -> RunRow:
        """Return the row of a function; begin a new one if there is room."""
        key = _cut(schedule, shown(fn))
        if key not in self._rows and self._functions >= MOST_FUNCTIONS:
            key = _cut(schedule, OTHER)
            if key not in self._rows and self._schedules >= MOST_SCHEDULES:
                key = (OTHER, OTHER)
        if key not in self._rows:
            self._rows[key] = self._begin(key)
        if sum(map(len, self._found.values())) >= _MOST_CACHED:  # an endless supply of names must not fill this memory
            self._found.clear()
        self._found.setdefault(schedule, {})[fn] = self._rows[key]
        return self._rows[key]

    def _begin(self, key: Key) -> RunRow:
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
        return RunRow(at + _NAME)


class Totals:
    """The sums of all tables. A sum never goes down, whichever process ends. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: list[RunTable] = []
        self._ended: dict[Key, list[int]] = {}
        self._labels: dict[Key, Key] = {}

    def add(self, table: RunTable) -> None:
        """Add a table to the sums."""
        with self._lock:
            self._tables.append(table)

    def retire(self, table: RunTable) -> None:
        """Keep the counts of a table after its writer has ended, and free its memory."""
        with self._lock:
            self._tables.remove(table)
            self._sum(table, self._ended)
            table.close()

    def read(self) -> dict[Key, list[int]]:
        """Sum all tables: schedule and function -> numbers, as `run_table` orders them."""
        with self._lock:
            found = {key: list(numbers) for key, numbers in self._ended.items()}
            for table in self._tables:
                self._sum(table, found)
        return found

    def _sum(self, table: RunTable, into: dict[Key, list[int]]) -> None:
        for key, numbers in table.rows():
            sums = into.setdefault(self._label(key), [0] * NUMBERS)
            for place, number in enumerate(numbers):
                sums[place] += number

    def _label(self, key: Key) -> Key:
        """Return the label of a key. Limits the functions of all tables together as each table limits its own; a key
        keeps its label.
        """
        schedule, fn = key
        if fn == OTHER:
            return key
        if key not in self._labels and len(self._labels) < MOST_FUNCTIONS:
            self._labels[key] = key
        return self._labels.get(key, (schedule, OTHER))


def _cut(schedule: str, fn: str) -> Key:
    """Shorten names so that they fit into a row."""
    schedule, fn = (text.encode("utf-8", "replace")[:250].decode("utf-8", "ignore") for text in (schedule, fn))
    return schedule, fn


def histogram(numbers: Sequence[int], at: int) -> RunHistogram:
    """Take a histogram from the numbers of a row: the one at `LATENESS` or `DURATION`."""
    return RunHistogram(tuple(numbers[at : at + _BUCKETS]), numbers[at + _BUCKETS] / 1_000_000)


def run_outcome(outcome: Outcome, error: BaseException | None) -> RunOutcome | None:
    """Return the name of a run's ending. None: its handler was not called, or the job goes back to the server."""
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
    """Make a nameless file of the size of a table; return its descriptor, which a child may inherit."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SIZE)
        return os.dup(file.fileno())
