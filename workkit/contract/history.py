"""Values that a schedule keeps of past runs: single runs, days, counts of a span of time (spec/history.md), and results
(spec/results.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal, get_args

from workkit.errors import Unsupported
from workkit.jobs.job import NOT_KEPT, SHORTEST_ID, call_texts
from workkit.jobs.outcome import Failure, Ran, ResultKind
from workkit.jobs.run_options import RunOptions
from workkit.text.cells import brief_repr

Ended = Literal["done", "skipped", "discarded", "cancelled", "missed", "overlap", "retried", "dead", "expired"]
ENDINGS: tuple[Ended, ...] = get_args(Ended)
"""How an occurrence ended, from the best to the worst; the last, `expired`, is only for jobs that run once. `retried`:
an attempt failed, and another one follows.
"""
NO_RUN = frozenset[Ended]({"skipped", "missed", "overlap", "expired"})  # endings of occurrences that no handler saw

Tier = Literal["1", "5", "h", "d"]
TIERS: dict[Tier, int] = {"1": 60_000, "5": 300_000, "h": 3_600_000, "d": 86_400_000}  # ms that one cell covers
KEPT_MS: dict[Tier, int] = {"1": 3 * 3_600_000, "5": 26 * 3_600_000, "h": 15 * 86_400_000, "d": 400 * 86_400_000}

ALL, FN, JOB, MORE = "schedule", "fn:", "job:", "more"
"""Subjects of cells: the whole schedule, ``fn:<name as stored>``, ``job:<name, or else id>`` of a recurring job, and
the rest, which has no subject of its own.
"""

BUCKETS = 64
LATE_MS, LONG_MS = 1_000, 10_000  # ms; a run that is this late, or takes this long, has a record of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRun:
    """One occurrence that has ended, or one attempt of it that failed.

    `ended`: when the handler ended, by the server's clock as its listener knows it. `times`: how many runs this record
    represents; the similar ones have no record of their own. `by_hand`: a user asked for this run. `listener`, `error`
    (type and message, at most 200 characters) and `place` (its address among the single runs) are None if only the ring
    of its job has it. `call`: its arguments, as `kept_call` writes them. `log`: the name of its log, if it failed and
    has logged something: see `Inspector.log`.
    """

    id: str | None
    name: str | None
    fn: str | None
    due: datetime
    ended: datetime
    ending: Ended
    late_ms: int = 0
    took_ms: int = 0
    attempt: int = 0
    by_hand: bool = False
    listener: str | None = None
    error: str | None = None
    times: int = 1
    place: str | None = None
    call: str = ""
    log: str | None = None

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day (UTC) of a recurring job: how many runs it had, and the worst ending among them."""

    day: date
    runs: int
    worst: Ended

    __repr__ = brief_repr


MOST_CALL = 2_000  # bytes of the arguments that a record keeps


def kept_call(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> str:
    """Write the arguments of a run as its record keeps them: an array of `args`, and of `kwargs` if there are any;
    empty if they need more than `MOST_CALL` bytes.
    """
    text = json.dumps([args, kwargs] if kwargs else [args], separators=(",", ":"))
    return text if len(text) <= MOST_CALL else ""


def is_run_of(run: PastRun, which: str) -> bool:
    """Return whether a text names the job of this run: by name, by id, or by the beginning of an id."""
    assert run.id is not None, "single runs have an id"
    return which in (run.name, run.id) or (len(which) >= SHORTEST_ID and run.id.startswith(which))


def call_of(run: PastRun) -> tuple[tuple[Any, ...], dict[str, Any] | None] | None:
    """Read the arguments that a record keeps; None if it keeps none, or they cannot be read."""
    try:
        match json.loads(run.call or "0"):
            case [list(args)]:
                return tuple(args), None
            case [list(args), dict(kwargs)]:
                return tuple(args), kwargs
    except (ValueError, RecursionError):
        pass
    return None


def arguments_of(run: PastRun) -> str:
    """Write the arguments of a past run, "none" or "not kept"."""
    call = call_of(run)
    return NOT_KEPT if call is None else ", ".join(call_texts(*call)) or "none"


def bucket_of(ms: float) -> int:
    """Return the bucket of a duration: the number of bits of the square of its tenths of a ms, at most 63. Two buckets
    cover an octave.
    """
    tenths = int(ms * 10)
    return min((tenths * tenths).bit_length(), BUCKETS - 1) if tenths > 0 else 0


EDGES_MS: tuple[float, ...] = tuple((math.isqrt(2**bucket - 1) + 1) / 10 for bucket in range(BUCKETS - 1))
"""The lower bound of each bucket but the first, in ms."""


def upper_ms(bucket: int) -> float:
    """Return the upper bound of a bucket in ms; infinite for the last bucket."""
    return float(2.0 ** (bucket / 2) / 10) if bucket < BUCKETS - 1 else float("inf")


class Buckets:
    """The number of durations in each bucket. Two of them can be added."""

    __slots__ = ("counts",)

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self.counts = [0] * BUCKETS
        for bucket, n in pairs:
            self.counts[bucket] += n

    def __add__(self, other: Buckets) -> Buckets:
        """Add the counts of two."""
        return Buckets([*self.pairs(), *other.pairs()])

    def __eq__(self, other: object) -> bool:
        """Compare the counts."""
        return isinstance(other, Buckets) and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the buckets that are not empty."""
        return f"Buckets({list(self.pairs())})"

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield each bucket that is not empty, with its count."""
        return ((bucket, n) for bucket, n in enumerate(self.counts) if n)

    @property
    def total(self) -> int:
        """The number of all durations."""
        return sum(self.counts)

    def below_ms(self, share: float) -> float | None:
        """Return the upper bound in ms of the bucket in which this share (0 to 1) of all is reached; None if it is
        empty. The true value is less than half an octave below.
        """
        wanted, seen = share * self.total, 0
        for bucket, n in self.pairs():
            seen += n
            if seen >= wanted:
                return upper_ms(bucket)
        return None


COUNTS = ("done", "retried", "dead", "discarded", "missed", "late", "busy_ms")


@dataclass(slots=True, kw_only=True)
class Cell:
    """The counts of one subject in one span of time.

    `late`: how many began 1 s late or more. `busy_ms`: the sum of all durations. `lateness` and `durations` count every
    run, failed runs too. Cancelled runs count as `discarded`; skipped occurrences do not count.
    """

    done: int = 0
    retried: int = 0
    dead: int = 0
    discarded: int = 0
    missed: int = 0
    late: int = 0
    busy_ms: int = 0
    lateness: Buckets = field(default_factory=Buckets)
    durations: Buckets = field(default_factory=Buckets)

    def __add__(self, other: Cell) -> Cell:
        """Merge two cells."""
        summed = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        return Cell(**summed, lateness=self.lateness + other.lateness, durations=self.durations + other.durations)

    @property
    def runs(self) -> int:
        """How many runs ended."""
        return self.done + self.retried + self.dead + self.discarded

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The counts of one span of time, from `start` up to `end` (aware UTC)."""

    start: datetime
    end: datetime
    cell: Cell

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A plain run with a record of its own. `times`: how many similar runs this record represents."""

    id: str
    name: str | None
    fn: str
    due_ms: int
    ran: Ran
    attempt: int
    times: int
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The counts of a listener since it last sent them."""

    cells: dict[str, Cell]
    samples: Sequence[Sample] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one run. `kind` tells whether it is `value` (as JSON carries it), or `failure` explains why there
    is none.

    `due_ms`: when its occurrence was due. `place`: its place among the results of its job, for `History.results`.
    """

    kind: ResultKind
    occurrence: str
    due_ms: int
    place: str
    value: Any = None
    failure: Failure | None = None

    __repr__ = brief_repr


def no_results(what: str = "keep=") -> Unsupported:
    """Return the error for a layout that keeps no results."""
    return Unsupported.about(what, "cannot be kept in this layout", "Only the native layout keeps results.")


def refuse_native(options: RunOptions, of: str = "") -> None:
    """Refuse the options of runs that only the native layout keeps. `of`: the owner of these options, in words. Raises
    Unsupported.
    """
    if options.keep_ms is not None:
        raise no_results(f"keep={of}")
    if options.crashes is not None:
        remedy = "Only the native layout marks which runs have begun. Leave it out."
        raise Unsupported.about(f"crashes={of}", "cannot be kept in this layout", remedy)
