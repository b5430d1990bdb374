"""What becomes of a claim: it runs, it ends, or it goes back to the server. The one place that decides this, for the
loop and for `drain`. Endings wait in their lane for the next request.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.contract.claim import Claim, Turn
from workkit.contract.tally import Tally
from workkit.errors import CannotRun, InvalidArguments
from workkit.jobs.admission import FREE
from workkit.jobs.functions.registry import MOST_NAMES
from workkit.jobs.names import LONGEST
from workkit.jobs.outcome import (
    DONE,
    Again,
    Dead,
    Done,
    Failure,
    NotBegun,
    Outcome,
    Ran,
    Released,
    measured,
    of_cancelled,
    with_result,
)
from workkit.text.duration import duration_text
from workkit.worker import report
from workkit.worker.hands import Hands
from workkit.worker.lane import Lane
from workkit.worker.monitoring.run_table import RunOutcome, RunTable, run_outcome
from workkit.worker.run.attempt import Attempt
from workkit.worker.task import LaneRun, LookUp

CRASHES = 2  # how often a run that was cut off begins again: then the job is assumed to have killed its listeners
_LANE = attrgetter("run.lane")
UNFIT_MS = 5000  # the delay of a job whose arguments do not fit, in a layout that cannot offer it to others alone
ALONE_MS = 1000  # the delay of a job on its last chance while another one is held here


@dataclass(slots=True, eq=False)
class Dispatch:
    """The decisions of one listener about its claims. For the thread that talks to the brokers."""

    hands: Hands
    stopping: bool = False
    keep_unfit_ms: int = 0  # for so long from its due time, a job whose arguments do not fit is left for others
    table: RunTable | None = None  # where runs are counted for metrics
    _fenced: dict[Any, float | None] = field(default_factory=dict)  # receipts of lost runs: seconds away, if too long
    _reported: set[str] = field(default_factory=set)  # names whose refusal was reported
    _unfit: dict[tuple[Lane, str], float] = field(default_factory=dict)  # until when such a job is left for others, s
    _ran: int = 0
    _failed: int = 0
    _retried: int = 0
    _given_back: int = 0
    _unstored: int = 0
    _last_chance: tuple[Lane, Claim] | None = None  # a job that waits until no other suspect is held here

    @property
    def tally(self) -> Tally:
        """What became of all claims so far."""
        return Tally(
            ran=self._ran,
            failed=self._failed,
            retried=self._retried,
            given_back=self._given_back,
            unstored=self._unstored,
        )

    def take(self, lane: Lane, claims: Sequence[Claim]) -> None:
        """Take the next step of each claim. A usual one goes to a thread: plain, with a function that is known and free
        of limits.
        """
        free = self.hands.free if lane.control is FREE and not self.stopping else ()
        usual: list[Claim] = []
        for claim in claims:
            if claim.fn in free and claim.standing is None and claim.armed and not (claim.trouble or claim.crashes):
                usual.append(claim)
                continue
            if usual:
                self.hands.execute(lane, usual)
                usual = []
            self.route(lane, claim)
        if usual:
            self.hands.execute(lane, usual)

    def route(self, lane: Lane, claim: Claim) -> None:
        """Take the next step of a claim. One that must not run ends; one that recurs, or has limits or a unique key,
        waits to be admitted; any other goes to a thread. If only the function of a record can be read, it is looked up
        first: the record may be for a foreign peer.
        """
        if claim.trouble == "foreign":
            self._cannot_run(lane, claim, _is_for_others(claim))
        elif claim.trouble and claim.trouble != "broken":
            self._end_troubled(lane, claim)
        elif self.stopping:
            self.release(lane, claim)
        elif claim.standing is not None and claim.standing.terms.expires_ms is not None and self._expire(lane, claim):
            pass
        elif not self.hands.knows(claim):
            self.hands.look_up(lane, claim)
        elif error := self.hands.refusal(claim):
            self._cannot_run(lane, claim, error)
        elif claim.trouble:
            self._end_troubled(lane, claim)
        elif claim.armed and claim.standing and claim.standing.has_begun and self._crashes(claim) == 0:
            self._bury(lane, claim, "may have run: its listener died")
        else:
            wanted = self.hands.admission(claim, lane.control)
            if claim.armed and (wanted is None or wanted.is_met(slots=claim.slots)):
                self._hand_out(lane, claim)
            else:
                lane.unarmed.append((claim, wanted))

    def _expire(self, lane: Lane, claim: Claim) -> bool:
        """End a claim if its job has expired, and tell whether it has. With `crashes=0`, a job whose run may have begun
        does not expire: it is dead.
        """
        most_ms = claim.terms.expires_ms or 0
        late_ms = lane.now_ms() - claim.due_ms
        if late_ms <= most_ms or claim.recurs or claim.attempt or (claim.standing and claim.standing.has_begun):
            return False
        self._count_missed(lane, claim)
        report.expired(claim, late_ms)
        reason = f"expired: it was not started within {duration_text(most_ms)} of its due time"
        done = Done(discarded=reason, expired=True)
        lane.ends.append((claim, with_result(done, self.hands.options(claim))))
        return True

    def _end_troubled(self, lane: Lane, claim: Claim) -> None:
        report.trouble(claim)
        ms = self.hands.options(claim).keep_ms if claim.trouble == "cancelled" else None
        lane.ends.append((claim, Done(kept=None if ms is None else of_cancelled(ms, claim.reason or "cancelled"))))

    def looked_up(self, found: LookUp) -> None:
        """Route a claim whose function was looked up; a failed lookup gives it back."""
        self.hands.looked_up()
        if found.error is None:
            self.route(found.lane, found.claim)
        else:
            self._cannot_run(found.lane, found.claim, found.error)

    def admitted(self, lane: Lane, turn: Turn) -> None:
        """Hand admitted claims to threads, and report occurrences that are over without a run."""
        for claim in turn.claims:
            if claim.trouble or self.stopping:
                self.route(lane, claim)
            else:
                self._hand_out(lane, claim)
        for claim, reason in turn.missed:
            self._count_missed(lane, claim)
            report.missed(claim, reason)

    def _count_missed(self, lane: Lane, claim: Claim) -> None:
        if lane.counter is not None:
            lane.counter.missed(claim)
        if self.table is not None:
            self.table.missed(lane.broker.schedule, claim.fn)

    def _hand_out(self, lane: Lane, claim: Claim) -> None:
        if not claim.crashes or not self.hands.runs_code:
            self.hands.execute(lane, [claim])
        elif claim.crashes > (self._crashes(claim) or claim.crashes):  # with 0 none of its runs has begun: see `route`
            self._bury(lane, claim, f"crashed its listener {claim.crashes} times")
        elif not self._is_last_chance(claim):
            self.hands.execute(lane, [claim])
        elif self._last_chance is None and not any(self._is_last_chance(run.claim) for run in self.hands.runs):
            self._last_chance = lane, claim
        else:
            lane.ends.append((claim, Released(delay_ms=ALONE_MS)))

    def _bury(self, lane: Lane, claim: Claim, why: str) -> None:
        failure = Failure(type="Crashed", message=why)
        report.dead(claim, failure)
        if self.hands.pings is not None:
            self.hands.pings.put(claim, "fail")
        lane.ends.append((claim, with_result(Dead(failure=failure, reason="crashed"), self.hands.options(claim))))

    def _crashes(self, claim: Claim) -> int:
        """How often its run begins again after it was cut off."""
        said = self.hands.options(claim).crashes
        return CRASHES if said is None else said

    def _is_last_chance(self, claim: Claim) -> bool:
        return claim.crashes >= min(self._crashes(claim), CRASHES) > 0

    @property
    def is_waiting(self) -> bool:
        """Whether a job on its last chance waits until no other suspect is held here."""
        return self._last_chance is not None

    def give_last_chance(self) -> None:
        """Run a job that may be what killed its listeners, once no other suspect is held here.

        One of the jobs that ran as a listener died is the culprit. If they ran together again, the innocent ones would
        end in the dead set with it; so this listener gives the others back first.
        """
        if self._last_chance is None:
            return
        lane, claim = self._last_chance
        if not lane.ends and lane.lost_at is None:
            self._last_chance = None
            self.hands.execute(lane, [claim])

    def ended(self, attempts: Sequence[Attempt[LaneRun]]) -> None:
        """Decide what becomes of runs that have ended. A run that returned, the usual case, takes the short way."""
        self.hands.ended(attempts)
        latest_ms, wanted = 0, events.wanted("done")
        usual: list[Attempt[LaneRun]] = []
        for attempt in attempts:
            run = attempt.run
            kept = attempt.kept is not None
            if wanted or attempt.error is not None or self._fenced or run.claim.standing is not None or kept:
                self._ended(attempt)
                wanted = events.wanted("done")
                continue
            outcome = DONE
            # fault: decided {type(outcome).__name__}
            run.lane.ends.append((run.claim, outcome))
            usual.append(attempt)
            if run.late_ms > latest_ms:
                latest_ms = run.late_ms
        if usual:
            self._count(usual)
            events.count("done", len(usual), latest_ms)

    def _count(self, done: Sequence[Attempt[LaneRun]]) -> None:
        self._ran += len(done)
        if self.table is not None:
            self.table.done(done)
        for lane, attempts in groupby(done, key=_LANE):
            if lane.counter is not None:
                lane.counter.done(list(attempts))

    def _ended(self, attempt: Attempt[LaneRun]) -> None:
        lane, claim = attempt.run.lane, attempt.run.claim
        if attempt.error is not None and issubclass(type(attempt.error), CannotRun) and attempt.options.crashes != 0:
            self._cannot_run(lane, claim, attempt.error)
            return
        if attempt.error is not None and (left_ms := self._unfit_ms(attempt)):
            self._cannot_run(lane, claim, attempt.error, unfit_ms=left_ms)
            lane.look = lane.look or bool(claim.slots)
            return
        outcome, has_begun = attempt.decide(), not attempt.run.is_prevented
        if has_begun and (outcome is not DONE or claim.standing is not None):
            outcome = measured(outcome, Ran(late_ms=attempt.run.late_ms, took_ms=round(attempt.took_ms)))
        if isinstance(outcome, Again) and outcome.is_wait and (told := attempt.run.reports) is not None:
            outcome = replace(outcome, progress=json.dumps(told.latest))
        # fault: decided {type(outcome).__name__}
        if self.table is not None and has_begun:
            self._note(self.table, attempt, outcome)
        lane.ends.append((claim, outcome))
        if isinstance(outcome, Again):
            lane.wake_in(outcome.delay_ms)
        if claim.slots:
            lane.look = True  # a job that waits for the slot is due with this ending
        if self._fenced and claim.receipt in self._fenced:
            return
        if lane.counter is not None and has_begun and not (isinstance(outcome, Again) and outcome.is_wait):
            lane.counter.ended(attempt, outcome)
        if isinstance(outcome, Done):
            self._ran += 1
        elif isinstance(outcome, Dead):
            self._failed += 1
        elif isinstance(outcome, Again):
            self._retried += 1
        report.ended(attempt, outcome)
        if self.hands.pings is not None and claim.standing is not None:
            match run_outcome(outcome, attempt.error):
                case "done" | "discarded":
                    self.hands.pings.put(claim, "success")
                case "failed":
                    self.hands.pings.put(claim, "fail")

    def show_counts(self) -> None:
        """Show others the counts of runs. Before their endings are sent: what is settled is counted, however this
        process ends.
        """
        if self.table is not None:
            self.table.flush()

    def _note(self, table: RunTable, attempt: Attempt[LaneRun], outcome: Outcome) -> None:
        run, ending = attempt.run, run_outcome(outcome, attempt.error)
        if ending is not None:
            fenced: RunOutcome = "fenced" if run.claim.receipt in self._fenced else ending
            late_ms = run.late_ms if not run.claim.attempt else None
            table.note(run.lane.broker.schedule, run.claim.fn, fenced, took_ms=attempt.took_ms, late_ms=late_ms)

    def _unfit_ms(self, attempt: Attempt[LaneRun]) -> int:
        """For how long a job is left for others, because its arguments do not fit the function as it is here. Some
        layouts count its lateness anew when it was put off, so the first look at it counts too.
        """
        run, now = attempt.run, time.monotonic()
        error: Any = attempt.error
        if not (issubclass(type(error), InvalidArguments) and error.unfit) or run.cancelled:
            return 0
        key, left_ms = (run.lane, run.claim.occurrence), self.keep_unfit_ms - run.late_ms
        until = self._unfit.pop(key, now + left_ms / 1000)
        if left_ms <= 0 or until <= now:
            return 0
        if len(self._unfit) >= MOST_NAMES:
            self._unfit.clear()
        self._unfit[key] = until
        return max(1, round((until - now) * 1000))

    def _cannot_run(self, lane: Lane, claim: Claim, error: BaseException, *, unfit_ms: int = 0) -> None:
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
        """Give it back, with no attempt spent. Its event follows once the server has confirmed it."""
        # fault: given back
        lane.giving_back.append(claim)
        lane.ends.append((claim, Released()))

    def given_back(self, lane: Lane, *, but: Sequence[Claim]) -> None:
        """Report the releases that the server has confirmed: all `but` these, which it has refused."""
        refused = {claim.receipt for claim in but}
        for claim in lane.giving_back:
            if claim.receipt not in refused:
                self._given_back += 1
                events.emit("given_back", lane.broker.schedule, job=claim.job)
        lane.giving_back = []

    def abandon(self, lanes: Sequence[Lane]) -> None:
        """Report the endings that no server has confirmed, at the end of a listener."""
        for lane in lanes:
            if count := len(lane.unstored) + len(lane.ends):
                self._unstored += count
                events.emit("unstored", lane.broker.schedule, url=lane.broker.url, endings=count)

    def release_unbegun(self, lanes: Sequence[Lane]) -> None:
        """Give back every claim that no thread has begun, and from now on every new one."""
        self.stopping = self.hands.stopping = True
        for task in self.hands.taken_back(lambda _: True):
            self.release(task.lane, task.claim)
        for lane in lanes:
            for claim, _ in lane.unarmed:
                self.release(lane, claim)
            lane.unarmed = []
        if self._last_chance is not None:
            self.release(*self._last_chance)
            self._last_chance = None

    def release_overdue(self) -> None:
        """Give back claims that wait behind long runs: other listeners may have room. Emits nothing, as this is no
        event in the life of a job.
        """
        for task in self.hands.overdue():
            if self.stopping:
                self.release(task.lane, task.claim)
                continue
            task.lane.ends.append((task.claim, Released()))
            task.lane.look = True  # a burst is not over

    def release_running(self) -> None:
        """Give back what still runs, and what a thread still looks up. Other listeners run it again, unless it runs at
        most once.
        """
        for task in self.hands.lookups.copy():
            self.release(task.lane, task.claim)
        for run in self.hands.runs:
            run.ask_to_stop()
            if run.claim.receipt in self._fenced:
                continue
            if run.started and self.hands.runs_code and self._crashes(run.claim) == 0:
                self._bury(run.lane, run.claim, "may have run: its listener stopped before it ended")
            else:
                self.release(run.lane, run.claim)

    def cancel(self, lane: Lane, names: Collection[str]) -> None:
        """Interrupt the runs of these jobs or occurrences."""
        for run in self.hands.runs:
            if run.lane is lane and (run.claim.id in names or run.claim.occurrence in names):
                run.cancel()

    def lose(self, lane: Lane, fenced: Sequence[Claim]) -> None:
        """Drop claims that belong to other listeners now: this one was taken for dead, or a failover has lost them.
        Those that have not begun never start; runs are asked to stop, and the server will refuse their endings.
        """
        if not fenced:
            return
        # fault: lost
        lost = {claim.receipt: claim for claim in fenced}
        lane.ends = [end for end in lane.ends if end[0].receipt not in lost]
        lane.unarmed = [pair for pair in lane.unarmed if pair[0].receipt not in lost]
        lane.giving_back = [claim for claim in lane.giving_back if claim.receipt not in lost]
        lane.look = True
        if self._last_chance is not None and self._last_chance[1].receipt in lost:
            self._last_chance = None
        self.hands.taken_back(lambda task: task.lane is lane and task.claim.receipt in lost)
        for run in self.hands.runs:
            if run.lane is lane and lost.pop(run.claim.receipt, None) is not None:
                self._fenced[run.claim.receipt] = None if lane.is_on_time else lane.away
                run.ask_to_stop()
        self.refuse(lane, list(lost.values()))

    def refuse(self, lane: Lane, refused: Sequence[Claim]) -> None:
        """Report endings that came too late, and for how long this listener was away, if that was too long."""
        for claim in refused:
            away = self._fenced.pop(claim.receipt, None if lane.is_on_time else lane.away)
            report.fenced(claim, None if away is None else round(away * 1000))


def _is_for_others(claim: Claim) -> CannotRun:
    name, reason = claim.id[:8], claim.reason or ""
    return CannotRun(f"cannot run {name}: {reason}", where=name, trouble=reason.removesuffix("."))
