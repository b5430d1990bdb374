"""How much a listener claims, by the runs that have ended, and the counts of these runs for the history.

Plain functions run in threads, coroutines on an event loop, and each kind has room of its own. A server does not know
of which kind a job is, so a claim may bring work without room. That work waits here while its kind is fast. Otherwise
it goes back, marked so that this listener passes it by, and the listener looks past it for work of the other kind.

The loop's thread sends the counts of one schedule to the server once a second. The record of a single run goes with its
ending, not through here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.contract.history import (
    ALL,
    EDGES_MS,
    FN,
    JOB,
    LATE_MS,
    LONG_MS,
    MORE,
    Cell,
    Counted,
    Sample,
    bucket_of,
    kept_call,
)
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Again, Dead, Done, Outcome, Ran
from workkit.worker.run.run import Run

AHEAD = 0.025  # seconds of work that may wait for a thread
MOST_AHEAD = 6000  # claims beyond one for each thread; a server rereads them in one step if a reply is lost
PAUSE = 0.1  # seconds without work after which new work may be longer
FORGET = 1.0  # seconds without work after which an old speed is useless for new work
SAMPLE = 0.001  # the least seconds of work that yield a speed
PATIENCE = 0.05  # seconds without an ending after which waiting claims go back to the server
FULL = 1.0  # seconds for which one kind is full while the other has room, until the listener looks past it
FAST = 500  # endings in a second with which a kind is too fast for a look past it
LONGEST_LOOK = 0.5  # seconds of one look past a full kind
RESTS = 10  # the listener spends one part of its time on looks past a full kind, and this many parts without them
LEAST_REST = 0.25  # seconds


class Room:
    """The room for functions of one kind."""

    def __init__(self, size: int) -> None:
        self.size = size  # how many run at once
        self.held = 0  # how many run, or wait here
        self.read_ahead = ReadAhead(size)
        self.moved_at = 0.0  # when work came to a kind without any that waits, or when a run ended
        self.full_since = self._free_since = -math.inf  # when it became full, and when a place became free
        self.ended_since = self.ended_last = 0  # endings since it became full, and those of the last time
        self._was_full = False

    def note(self, now: float) -> None:
        """Note whether it is full. A free place of a moment does not count."""
        is_full = self.held >= self.size
        if is_full and not self._was_full and now - self._free_since >= PAUSE:
            self.full_since, self.ended_since = now, 0
        elif self._was_full and not is_full:
            self._free_since = now
        self._was_full = is_full

    def more(self, now: float, *, is_asked: bool) -> int:
        """Return how many more claims of this kind are useful: one for each free place and, while runs are short, as
        many as will begin within `AHEAD` seconds. 0 while half of these are still held, unless a request goes out
        anyway (`is_asked`).
        """
        most = self.size + self.read_ahead.ahead(now, idle=not self.held)
        return max(0, most - self.held) if is_asked or self.held < self.size or self.held <= most // 2 else 0

    def lately(self, now: float) -> int:
        """Return how many runs there were within `PAUSE` seconds."""
        return self.held + (self.ended_last if now - self.moved_at < PAUSE else 0)

    def ended(self, runs: int, now: float) -> None:
        """Note that runs have ended."""
        self.moved_at = now
        self.ended_since += runs
        self.ended_last = runs
        self.read_ahead.note(runs, now)


class Rooms:
    """The rooms for both kinds. Only the loop's thread uses it. Times are `time.monotonic()` seconds."""

    def __init__(self, threads: int) -> None:
        self.plain, self.coroutines = Room(threads), Room(0)  # 0: this listener knows no coroutine, or runs none now
        self._full: Room | None = None  # the kind past which this listener looks, or looked last
        self._looks = False
        self._passed_at = self._spent = 0.0  # the last step of the look, and the seconds of its steps
        self._rests_until = 0.0

    def open(self, now: float) -> tuple[Room, ...]:
        """Return the rooms for which to claim. While work of one kind waits here, and after a look past it, claims are
        for that kind only.
        """
        both = (self.plain, self.coroutines)
        if not self.coroutines.size:
            return both[:1]
        for room in both:
            room.note(now)
        if self._looks:
            return both
        if full := tuple(room for room in both if room.held > room.size):
            return full
        plain = self.plain
        if plain.held >= plain.size and not self.coroutines.lately(now) and now - plain.full_since < FULL:
            self._full, self._rests_until = plain, plain.full_since + FULL
        return (self._full,) if self._full is not None and now < self._rests_until else both

    def more(self, now: float, *, is_asked: bool) -> int:
        """Return how many more claims are useful. Of coroutines at most about twice as many as there lately were: a
        claim may bring plain jobs instead.
        """
        rooms = self.open(now)
        plain = self.plain.more(now, is_asked=is_asked) if self.plain in rooms else 0
        if self.coroutines not in rooms:
            return plain
        least = 0 if plain else 1
        return plain + min(self.coroutines.more(now, is_asked=is_asked), least + 2 * self.coroutines.lately(now))

    def passes(self, room: Room, now: float) -> bool:
        """Return whether the work that waits for this room goes back now, because the listener looks past it."""
        other = self.coroutines if room is self.plain else self.plain
        if room.held <= room.size or other.held >= other.size or now < self._rests_until:
            return False
        if not (self._looks and self._full is room):
            if room.ended_since >= FAST * FULL:
                room.full_since, room.ended_since = now, 0
            self._full, self._looks = room, now - room.full_since >= FULL
            if not self._looks:
                self._rests_until = room.full_since + FULL
                return False
        elif now - self._passed_at < PATIENCE:
            self._spent += now - self._passed_at
        self._passed_at = now
        if self._spent > LONGEST_LOOK:
            self.rest(now)
        return True

    def rest(self, now: float) -> None:
        """End the look past a kind: the work that it passed is offered again."""
        if self._looks:
            self._rests_until = now + max(LEAST_REST, RESTS * self._spent)
            self._looks, self._spent = False, 0.0

    @property
    def opens_at(self) -> float:
        """Return when to claim again for a kind that is left out for now."""
        return self._rests_until if self._rests_until > time.monotonic() else math.inf

    @property
    def is_full(self) -> bool:
        """Whether the work that this listener has passed by still has no room."""
        return self._full is not None and self._full.held >= self._full.size


class ReadAhead:
    """The recent speed of the threads: the work time of one ending. Idle time does not count, so that a slow network
    does not look like slow jobs. The durations of runs do not count, because threads that take turns make every run
    look long. A sample has at least two endings per thread. `now` is `time.monotonic()`.

    Work after a pause may be of another kind. Then the estimate is one claim more than there are threads, and grows by
    the number of endings since.
    """

    def __init__(self, threads: int) -> None:
        self._enough = 2 * threads
        self._mean = 0.0  # recent mean of the seconds of work for one ending; 0: unknown
        self._since_pause = 0  # endings
        self._ended = 0
        self._busy = 0.0  # seconds of work in which these ended
        self._since = 0.0  # the last `begin` or `note`

    def begin(self, now: float) -> None:
        """Note that work arrives while all threads are idle."""
        if now - self._since > PAUSE:
            self._since_pause = 0
        if now - self._since > FORGET:
            self._mean, self._ended, self._busy = 0.0, 0, 0.0
        self._since = now

    def note(self, ended: int, now: float) -> None:
        """Note that `ended` runs have ended."""
        self._busy += now - self._since
        self._ended += ended
        self._since_pause += ended
        self._since = now
        if self._ended >= self._enough and self._busy >= SAMPLE:
            mean = self._busy / self._ended
            self._mean = (self._mean + mean) / 2 if self._mean else mean  # a mean of speeds would hide the slow ones
            self._ended, self._busy = 0, 0.0

    def ahead(self, now: float, *, idle: bool) -> int:
        """Estimate how many claims beyond one per thread will begin within `AHEAD` seconds. Active runs that are longer
        than the earlier ones lower the estimate before they end.
        """
        if idle and now - self._since > FORGET:
            return 0
        most = 1 + (0 if idle and now - self._since > PAUSE else self._since_pause)
        busy = self._busy + (0.0 if idle else now - self._since)
        if not self._mean or (busy > AHEAD and not self._ended):
            return 0
        mean = self._mean if busy <= AHEAD else max(self._mean, busy / self._ended)
        return min(MOST_AHEAD, most, int(AHEAD / mean))


APART = 1.0  # seconds between two writes
SAMPLED, SLOW = 10, 40  # single plain runs kept in one write: of any kind, and further late or long ones
SUBJECTS = 500  # in one write; further ones are counted together

Measured = tuple[Claim, Ran]
Lengths = tuple[list[int], list[float]]  # lateness and durations of some runs, in ms; each list is sorted


class RunCounter:
    """The runs of one schedule since the last write. Only the loop's thread uses it."""

    __slots__ = ("_by_fn", "_by_job", "_plain", "_sampled", "_slow", "_slow_seen", "at")

    def __init__(self) -> None:
        self.at = math.inf  # when to `write` next, `time.monotonic()` seconds
        self._forget()

    def _forget(self) -> None:
        self._by_fn: dict[str, Cell] = {}
        self._by_job: dict[str, Cell] = {}
        self._sampled: list[Measured] = []
        self._slow: list[Measured] = []
        self._plain = self._slow_seen = 0

    def done(self, runs: Sequence[Run], lengths: Mapping[str, Lengths]) -> None:
        """Count done runs of jobs that do not recur; `lengths` by function. There may be many thousands a second, so
        this counts as `_measure` does, but looks up the edges of buckets among sorted lengths.
        """
        slow, has_long = 0, False
        for fn, (late, took) in lengths.items():
            cell = self._by_fn.get(fn) or self._cell(self._by_fn, fn)
            cell.done += len(took)
            add_sorted(cell.durations.counts, 0, took, EDGES_MS)
            add_sorted(cell.lateness.counts, 0, late, EDGES_MS)
            if took[-1] >= 1:
                cell.busy_ms += sum(map(int, took[bisect_left(took, 1) :]))
            if late[-1] >= LATE_MS:
                slow_here = len(late) - bisect_left(late, LATE_MS)
                cell.late += slow_here
                slow += slow_here
            has_long = has_long or took[-1] >= LONG_MS
        room = SLOW - len(self._slow)
        if has_long or (slow and room):
            found = [run for run in runs if _is_slow(run)]
            slow = len(found)
            self._slow += [(run.claim, _ran(run)) for run in found[:room]]
        self._slow_seen += slow
        self._plain += len(runs) - slow
        if slow < len(runs) and len(self._sampled) < SAMPLED:
            self._sample(runs)

    def _sample(self, runs: Sequence[Run]) -> None:
        for run in runs:
            if not _is_slow(run):
                self._sampled.append((run.claim, _ran(run)))
                if len(self._sampled) == SAMPLED:
                    return

    def ended(self, run: Run, outcome: Outcome) -> None:
        """Count a run by its outcome."""
        claim, late_ms, took_ms = run.claim, run.late_ms, run.took_ms
        if isinstance(outcome, Done) and outcome.discarded is None and not claim.recurs:
            self.done((run,), {claim.fn: ([late_ms], [took_ms])})
            return
        for cell in self._cells(claim):
            match outcome:
                case Done(discarded=None):
                    cell.done += 1
                case Done():
                    cell.discarded += 1
                case Again():
                    cell.retried += 1
                case Dead():
                    cell.dead += 1
                case _:
                    return
            _measure(cell, late_ms, took_ms)

    def missed(self, claim: Claim) -> None:
        """Count an occurrence that did not run."""
        for cell in self._cells(claim):
            cell.missed += 1

    def write(self, broker: Broker) -> None:
        """Send the counts. They are lost if the server does not answer: if only the answer was lost, a second request
        would count twice. Raises ServerUnreachable or ServerRefused.
        """
        self.at = math.inf
        total = Cell()
        for cell in self._by_fn.values():
            total += cell
        cells = {ALL: total} | {FN + fn if fn != MORE else MORE: cell for fn, cell in self._by_fn.items()}
        cells |= {JOB + job if job != MORE else f"{JOB}{MORE}": cell for job, cell in self._by_job.items()}
        samples = [
            *_samples(self._sampled, self._plain),
            *_samples(self._slow, self._slow_seen),
        ]
        self._forget()
        if broker.count is not None:
            broker.count(Counted(cells=cells, samples=samples))

    def _cells(self, claim: Claim) -> list[Cell]:
        cells = [self._by_fn.get(claim.fn) or self._cell(self._by_fn, claim.fn)]
        if claim.recurs:
            job = claim.terms.name or claim.id
            cells.append(self._by_job.get(job) or self._cell(self._by_job, job))
        return cells

    def _cell(self, cells: dict[str, Cell], subject: str) -> Cell:
        if self.at == math.inf:
            self.at = time.monotonic() + APART
        if len(cells) >= SUBJECTS:
            subject = MORE
        return cells.setdefault(subject, Cell())


def lengths_of(runs: Iterable[Run]) -> dict[str, Lengths]:
    """Sort the lengths of these runs, for each of their functions."""
    by_fn: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        by_fn[run.claim.fn].append(run)
    return {
        fn: (sorted([run.late_ms for run in same]), sorted([run.took_ms for run in same])) for fn, same in by_fn.items()
    }


def add_sorted(counts: list[int], at: int, values: Sequence[float], edges: Sequence[float]) -> None:
    """Count sorted values by the intervals that these edges begin, from `counts[at]` on."""
    begin = 0
    for place, edge in enumerate(edges, at):
        if values[-1] < edge:
            counts[place] += len(values) - begin
            return
        end = bisect_left(values, edge, begin)
        counts[place] += end - begin
        begin = end
    counts[at + len(edges)] += len(values) - begin


def _is_slow(run: Run) -> bool:
    return run.late_ms >= LATE_MS or run.took_ms >= LONG_MS


def _ran(run: Run) -> Ran:
    return Ran(late_ms=run.late_ms, took_ms=round(run.took_ms))


def _measure(cell: Cell, late_ms: int, took_ms: float) -> None:
    """Add one run to the sums."""
    cell.durations.counts[bucket_of(took_ms)] += 1
    cell.lateness.counts[bucket_of(late_ms)] += 1
    cell.busy_ms += int(took_ms)
    cell.late += late_ms >= LATE_MS


def _samples(kept: list[Measured], seen: int) -> list[Sample]:
    """Return the kept runs as samples; each represents its share of the `seen` runs."""
    return [
        Sample(
            id=claim.id,
            name=claim.terms.name,
            fn=claim.fn,
            due_ms=claim.asked_ms,
            ran=ran,
            attempt=claim.failures,
            times=seen // len(kept) + (place < seen % len(kept)),
            call=kept_call(claim.args, claim.kwargs),
        )
        for place, (claim, ran) in enumerate(kept)
    ]
