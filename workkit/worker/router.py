"""The next step of a claim: it runs, it waits to be admitted, it ends, or it goes back to the server. A `Runner` runs
it; there are two of them: the threads of `runner.py`, and `publisher.py` for a forward.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, Protocol

from workkit.contract.listener import Claim, Serving, Turn
from workkit.errors import CannotRun, InvalidOptions
from workkit.jobs.admission import Admission, Control
from workkit.jobs.marks import FOLLOWERS
from workkit.jobs.names import LONGEST
from workkit.jobs.outcome import Dead, Done, Failure, NotBegun, Released, of_cancelled, with_result
from workkit.jobs.registry import MOST_NAMES
from workkit.jobs.run_options import RunOptions
from workkit.text.nearest import nearest_word
from workkit.text.wording import duration_text
from workkit.worker import report
from workkit.worker.lane import Lane, LaneRun, LookUp, Task
from workkit.worker.report import Pings
from workkit.worker.run_table import MISSED, RunTable

CRASHES = 2  # how often a run that was cut off begins again; after that the job counts as the killer of its listeners
UNFIT_MS = 5000  # the delay of a job with arguments that do not fit, in a layout that cannot offer it to others only
LOOK_UP: Final = "look up"  # the need of a claim with a function that is not looked up yet
ALONE_MS = 1000  # the delay of a job on its last chance while another one is held here


class Opened(NamedTuple):
    """The description of a listener by its open runner: the state that others see, the job names that it knows, and the
    event to emit when the listener is registered.
    """

    state: str
    known: Mapping[str, RunOptions]
    event: str
    fields: dict[str, Any]

    def serves(self, jobs: Sequence[tuple[str, int]] | None) -> dict[str, Serving]:
        """Return the job names that the listener serves, with their options: all, or `jobs` with their priorities.
        Raises InvalidOptions for a name that is not registered.
        """
        if jobs is None:
            return {name: Serving(options=options) for name, options in self.known.items()}
        for name, _ in jobs:
            if name not in self.known:
                near = nearest_word(name, self.known)
                where, trouble = f'jobs="{name}"', "names no registered job"
                remedy = (
                    f'Did you mean "{near}"?' if near else 'Mark its function with @job("...") in an imported module.'
                )
                raise InvalidOptions.about(where, trouble, remedy, where="jobs", given=name, suggestion=near)
        return {name: Serving(priority=priority, options=self.known[name]) for name, priority in jobs}


class Runner(Protocol):
    """The part of a listener that runs claims. Only the loop's thread uses it, except `trouble`, which is thread-safe.
    Ended tasks go into the inbox of the loop.
    """

    held: set[Task]  # tasks that were submitted and have not ended
    look_at: float  # the latest time of the next `look`, `time.monotonic()` seconds
    runs_code: bool  # whether it runs code of jobs, which can kill the process

    @property
    def unbegun(self) -> int:
        """The number of claims that wait for a thread; 0 if none ever does."""

    @property
    def idle(self) -> int:
        """The number of claims that could begin at once."""

    @property
    def awaited(self) -> int:
        """The number of coroutines that it holds."""

    @property
    def opens_at(self) -> float:
        """When there may be room again though no task ends; infinity: not known."""

    @property
    def trouble(self) -> str | None:
        """Return in words why nothing moves here now; None if all moves."""

    @property
    def is_silent(self) -> bool:
        """Whether the event loop of coroutines does not answer."""

    @property
    def is_blocked(self) -> bool:
        """Whether tasks that were passed by here still cannot begin."""

    def offer_again(self) -> None:
        """Note that the tasks which were passed by are offered again."""

    def open(self) -> Opened:
        """Import the modules of the functions, or check the server that takes the jobs; then start the threads. Raises
        InvalidFunction, ServerUnreachable, ServerRefused.
        """

    def room(self, *, is_asked: bool) -> int:
        """Return how many more claims are useful; `is_asked`: a request goes out anyway."""

    def needs(self, claim: Claim, control: Control) -> Admission | CannotRun | Literal["look up"] | None:
        """Return the needs of a claim before its start, or why it cannot run here. None: it needs nothing."""

    def options(self, claim: Claim) -> RunOptions:
        """Return the options of a claim's run, with those of its function as far as it is known here."""

    def submit(self, tasks: Sequence[Task]) -> None:
        """Hold these runs and lookups; they begin with the next `flush`."""

    def flush(self) -> None:
        """Begin the submitted tasks."""

    def ended(self, runs: Sequence[LaneRun]) -> None:
        """Forget runs that have ended."""

    def look(self, now: float, is_due: Callable[[], bool]) -> Collection[Task]:
        """Look for tasks that do not move. Take back tasks that have waited too long, and return them. `is_due` answers
        whether the server has more work than this listener has claimed, and there is room for it.
        """

    def take_back(self, which: Callable[[Task], bool] | None = None) -> list[Task]:
        """Take back tasks that have not begun: all, or those for which `which` returns True."""

    def close(self) -> None:
        """Let each thread end after its current task."""


@dataclass(slots=True, eq=False)
class Router:
    """The decisions of one listener about its claims. Only the loop's thread uses it."""

    runner: Runner
    pings: Pings | None = None  # None: no pings
    table: RunTable | None = None  # counts runs for metrics
    stopping: bool = False  # set once every new claim is released
    free: set[str] = field(default_factory=set)  # names of functions that can run, and have neither limit nor rate
    last_chance: tuple[Lane, Claim] | None = None  # a job that waits until no other suspect is held here
    _reported: set[str] = field(default_factory=set)  # names with a reported refusal

    def route(self, lane: Lane, claim: Claim) -> None:
        """Take the next step of a claim. A claim that must not run ends. A claim that recurs, or has limits or a unique
        key, waits to be admitted. Any other begins soon. If only the function of a record is readable, it is looked up
        first: the record may be for a foreign peer.
        """
        if claim.trouble == "foreign":
            self.cannot_run(lane, claim, _is_for_others(claim))
            return
        if claim.trouble and claim.trouble != "broken":
            self._end_troubled(lane, claim)
            return
        if self.stopping:
            self.release(lane, claim)
            return
        if claim.standing is not None and claim.standing.terms.expires_ms is not None and self._expire(lane, claim):
            return
        needs = self.runner.needs(claim, lane.control)
        if needs == LOOK_UP:
            self.runner.submit([LookUp(lane, claim)])
        elif isinstance(needs, CannotRun):
            self.cannot_run(lane, claim, needs)
        elif claim.trouble:
            self._end_troubled(lane, claim)
        elif claim.armed and claim.standing and claim.standing.has_begun and self.crashes(claim) == 0:
            self.bury(lane, claim, "may have run: its listener died")
        elif not claim.armed or (needs is not None and not needs.is_met(slots=claim.slots)):
            lane.unarmed.append((claim, needs))
        else:
            self._hand_out(lane, claim)
        if needs is None and not (claim.trouble or self.runner.is_silent):
            if len(self.free) >= MOST_NAMES:
                self.free.clear()
            self.free.add(claim.fn)

    def looked_up(self, found: LookUp) -> None:
        """Route a claim after the lookup of its function; release it if the lookup failed."""
        self.runner.held.discard(found)
        if found.error is None:
            self.route(found.lane, found.claim)
        else:
            self.cannot_run(found.lane, found.claim, found.error)

    def admitted(self, lane: Lane, turn: Turn) -> None:
        """Hand out admitted claims, and report occurrences that ended without a run."""
        for claim in turn.claims:
            if claim.trouble or self.stopping:
                self.route(lane, claim)
            else:
                self._hand_out(lane, claim)
        for claim, reason in turn.missed:
            self._count_missed(lane, claim)
            report.missed(claim, reason)

    def _expire(self, lane: Lane, claim: Claim) -> bool:
        """End a claim if its job has expired, and return whether it has. With `crashes=0`, a job with a run that may
        have begun does not expire: it is dead.
        """
        most_ms = claim.terms.expires_ms or 0
        late_ms = lane.now_ms() - claim.due_ms
        if late_ms <= most_ms or claim.recurs or claim.attempt or (claim.standing and claim.standing.has_begun):
            return False
        self._count_missed(lane, claim)
        report.expired(claim, late_ms)
        reason = f"expired: it was not started within {duration_text(most_ms)} of its due time"
        done = Done(discarded=reason, expired=True)
        lane.ends.append((claim, with_result(done, self.runner.options(claim))))
        return True

    def _end_troubled(self, lane: Lane, claim: Claim) -> None:
        report.trouble(claim)
        if claim.trouble in ("corrupt", "broken"):
            failure = Failure(type="CorruptRecord", message=claim.reason or "")
            dead = self.followed(lane, claim, Dead(failure=failure, reason=claim.trouble))
            lane.ends.append((claim, Done() if dead.follower is None else dead))
            return
        ms = self.runner.options(claim).keep_ms if claim.trouble == "cancelled" else None
        lane.ends.append((claim, Done(kept=None if ms is None else of_cancelled(ms, claim.reason or "cancelled"))))

    def _count_missed(self, lane: Lane, claim: Claim) -> None:
        if lane.counter is not None:
            lane.counter.missed(claim)
        if self.table is not None:
            self.table.count(lane.broker.schedule, claim.fn, MISSED)

    def _hand_out(self, lane: Lane, claim: Claim) -> None:
        if not claim.crashes or not self.runner.runs_code:
            self.runner.submit([LaneRun(claim, lane)])
        elif claim.crashes > (self.crashes(claim) or claim.crashes):  # with 0 none of its runs has begun: see `route`
            self.bury(lane, claim, f"crashed its listener {claim.crashes} times")
        elif not self._is_last_chance(claim):
            self.runner.submit([LaneRun(claim, lane)])
        elif self.last_chance is None and not any(self._is_last_chance(run.claim) for run in self.runs()):
            self.last_chance = lane, claim
        else:
            lane.ends.append((claim, Released(delay_ms=ALONE_MS)))

    def runs(self) -> list[LaneRun]:
        """Return the runs that are held here, begun or not."""
        return [task for task in self.runner.held if type(task) is LaneRun]

    def crashes(self, claim: Claim) -> int:
        """Return how often its run begins again after it was cut off."""
        given = self.runner.options(claim).crashes
        return CRASHES if given is None else given

    def _is_last_chance(self, claim: Claim) -> bool:
        return claim.crashes >= min(self.crashes(claim), CRASHES) > 0

    def give_last_chance(self, lane: Lane, claim: Claim) -> None:
        """Run a job that may have killed its listeners, once no other suspect is held here.

        One of the jobs that ran when a listener died is the culprit. If they ran together again, the innocent ones
        would end in the dead set with it; so this listener releases the others first.
        """
        if not lane.ends and lane.lost_at is None:
            self.last_chance = None
            self.runner.submit([LaneRun(claim, lane)])

    def bury(self, lane: Lane, claim: Claim, why: str) -> None:
        """End a job as dead without a further run."""
        failure = Failure(type="Crashed", message=why)
        report.dead(claim, failure)
        if self.pings is not None:
            self.pings.put(claim, "fail")
        dead = self.followed(lane, claim, Dead(failure=failure, reason="crashed"))
        lane.ends.append((claim, with_result(dead, self.runner.options(claim))))

    def followed(self, lane: Lane, claim: Claim, dead: Dead) -> Dead:
        """Return the end of a job with the function that follows it: that of its own function, or of its schedule."""
        follower = self.runner.options(claim).on_failure or FOLLOWERS.get(lane.broker.schedule)
        if follower is None:
            return dead
        lane.look = True  # its job is due with this ending
        return replace(dead, follower=follower)

    def cannot_run(self, lane: Lane, claim: Claim, error: BaseException, *, unfit_ms: int = 0) -> None:
        """Leave a job for other listeners, and report why, once for each function. `unfit_ms`: its arguments do not fit
        here, and this listener leaves it for this time.
        """
        name, is_passing = claim.fn[:LONGEST], issubclass(type(error), NotBegun)
        lane.shuns = lane.shuns or is_passing
        if name not in self._reported and not (is_passing and getattr(error, "where", None) is None):
            if len(self._reported) >= MOST_NAMES:
                self._reported.clear()
            self._reported.add(name)
            report.cannot_run(claim, error, unfit_ms=unfit_ms)
        outcome = Released(unknown=True)
        if unfit_ms:
            outcome = Released(delay_ms=UNFIT_MS, unfit_ms=unfit_ms)
        elif claim.stray and is_passing:  # a layout may bury a stray one that is unknown
            outcome = Released(delay_ms=ALONE_MS)
        lane.ends.append((claim, outcome))

    def release(self, lane: Lane, claim: Claim) -> None:
        """Release a claim; no attempt is spent. Its event follows once the server has confirmed it."""
        # fault: given back
        lane.giving_back.append(claim)
        lane.ends.append((claim, Released()))


def _is_for_others(claim: Claim) -> CannotRun:
    name, reason = claim.id[:8], claim.reason or ""
    return CannotRun(f"cannot run {name}: {reason}", where=name, trouble=reason.removesuffix("."))
