"""The requests of a listener to the server of one schedule, and the outcomes of runs that have ended. Endings wait in
their lane for the next request. The loop and `drain` share these steps.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.contract.listener import Claim, Orders, PastDeadline, Turn
from workkit.contract.producer import Tally
from workkit.errors import CannotRun, InvalidArguments
from workkit.jobs.admission import FREE
from workkit.jobs.outcome import DONE, Again, Dead, Done, Outcome, Ran, Released, measured
from workkit.jobs.registry import MOST_NAMES
from workkit.jobs.terms import deadline_ms
from workkit.worker import report
from workkit.worker.counting import lengths_of
from workkit.worker.lane import Lane, LaneRun, Task
from workkit.worker.report import Pings
from workkit.worker.router import Router, Runner
from workkit.worker.run.call import outcome_of
from workkit.worker.run_table import BATCHES, ENDED_LATE, PAST_DEADLINE, RunOutcome, RunTable, run_outcome

MOST_PAST = 500  # most claims in one request while a listener can run none of them


@dataclass(slots=True, eq=False)
class Settle:
    """The requests of a listener. Only the loop's thread uses it. Requests raise ServerUnreachable or ServerRefused."""

    runner: Runner
    router: Router
    late_pings: Pings | None = None  # of any listener, also of a forward: about jobs that are past their deadline
    keep_unfit_ms: int = 0  # time from its due time that a job with unfit arguments is left for others
    is_burst: bool = False  # it ends as soon as nothing is due
    _counts: Counter[str] = field(default_factory=Counter)  # runs by their endings, and released claims
    _fenced: dict[Any, float | None] = field(default_factory=dict)  # receipts of lost runs: seconds away, if too long
    _unfit: dict[tuple[Lane, str], float] = field(default_factory=dict)  # until when such a job is left for others, s

    @property
    def tally(self) -> Tally:
        """Return the counts of runs so far by their endings, and of released claims."""
        counts = self._counts
        return Tally(
            ran=counts["ran"],
            failed=counts["failed"],
            retried=counts["retried"],
            given_back=counts["given_back"],
            unstored=counts["unstored"],
        )

    # The requests.

    def claim(self, lane: Lane, limit: int) -> Turn:
        """Settle ended runs, claim up to `limit` jobs, and take the next step of each."""
        has_ends = bool(lane.ends)
        turn = self._ask(lane, limit)
        now = lane.seen_at = lane.answered()
        lane.compare_name()
        lane.asked = turn.asked
        if limit > 0:
            wake = turn.wake_in_ms
            lane.look = lane.more = wake == 0
            lane.wake_at = now + wake / 1000 if wake else math.inf
        elif has_ends and self.is_burst:
            lane.look = True  # jobs that waited for these may be due now
        if turn.fenced:
            self.lose(lane, turn.fenced)
        if turn.refused:
            self._refuse(lane, turn.refused)
        if turn.control is not None:
            lane.update(turn.control)
        # fault: claimed
        if turn.claims:
            held = len(self.runner.held)
            self._take(lane, turn.claims)
            is_kept = lane.unarmed or len(self.runner.held) > held
            lane.passing = 0 if is_kept else min(MOST_PAST, 2 * len(turn.claims))  # to claim next: more each time
        if lane.unarmed:
            self.admit(lane)
        return turn

    def _ask(self, lane: Lane, limit: int) -> Turn:
        """Send the endings, and claim. The answer confirms all endings; if a further request is already on its way, it
        confirms only those that were sent before.
        """
        if self.router.table is not None:
            self.router.table.flush()  # settled runs are counted, however this process ends
        ends, lane.ends = lane.ends, []
        lane.unstored += ends
        turn = lane.broker.claim(limit, ends=ends, now_ms=lane.time_ms)  # it keeps the endings even if it raises
        lane.unstored = ends if turn.asked else []
        for name, outcome in turn.batches:
            self._batch_ended(lane, name, outcome)
        if lane.giving_back and not turn.asked:
            self._given_back(lane, but=(*turn.fenced, *turn.refused))
        return turn

    def _take(self, lane: Lane, claims: Sequence[Claim]) -> None:
        """Take the next step of each claim. A usual claim runs at once: it is plain, with a known function without
        limits.
        """
        router = self.router
        free = router.free if lane.control is FREE and not (router.stopping or self.runner.is_silent) else ()
        usual: list[Task] = []
        for claim in claims:
            if claim.fn in free and claim.standing is None and claim.armed and not (claim.trouble or claim.crashes):
                usual.append(LaneRun(claim, lane))
                continue
            if usual:
                self.runner.submit(usual)
                usual = []
            router.route(lane, claim)
        if usual:
            self.runner.submit(usual)

    def admit(self, lane: Lane) -> None:
        """Re-arm recurring jobs, take slots and turns. The claims that wait for this start only afterwards."""
        turn = lane.broker.admit(lane.unarmed, now_ms=lane.pretended_ms)
        lane.answered()
        if turn.wake_in_ms is not None:
            lane.wake_in(turn.wake_in_ms)
        # fault: admitted
        lane.unarmed = []
        if turn.fenced:
            self.lose(lane, turn.fenced)
        self._refuse(lane, turn.refused)
        self.router.admitted(lane, turn)

    def beat(self, lane: Lane, orders: Orders) -> None:
        """Carry out the orders from a heartbeat, and reap the claims of dead listeners."""
        lane.seen_at = lane.beat_at = lane.answered()
        lane.compare_name()
        lane.look = lane.look or orders.look
        if orders.fenced:
            self.lose(lane, orders.fenced)
        if orders.control is not None:
            lane.update(orders.control)
        for one in orders.late:
            self._report_late(lane, one)
        is_barred = self.runner.is_blocked if lane.passes else self.runner.is_silent
        reconsiders = lane.shuns and not is_barred
        if orders.cancelled:
            self._cancel(lane, orders.cancelled)
        for name, jobs in lane.broker.maintain(reconsider=reconsiders):
            lane.look = True
            events.emit("crashed", lane.broker.schedule, listener=name, jobs=jobs)
        if reconsiders:
            lane.shuns = lane.passes = False
            lane.look = True
            self.runner.offer_again()

    def _batch_ended(self, lane: Lane, name: str, outcome: str) -> None:
        events.emit(f"batch_{outcome}", lane.broker.schedule, batch=name)
        if (table := self.router.table) is not None:
            table.count(lane.broker.schedule, "", BATCHES[outcome])
            table.flush()

    def _report_late(self, lane: Lane, late: PastDeadline) -> None:
        report.past_deadline(late)
        if (table := self.router.table) is not None:
            table.count(lane.broker.schedule, late.job.fn, PAST_DEADLINE)
            table.flush()
        if self.late_pings is not None:
            self.late_pings.put(late.job, "late")

    def count(self, lane: Lane, *, is_last: bool = False) -> None:
        """Send the counts of runs if it is time, or if this is the last chance."""
        counter = lane.counter
        if counter is not None and (counter.at <= time.monotonic() or (is_last and counter.at < math.inf)):
            counter.write(lane.broker)
            # fault: counted

    def farewell(self, lane: Lane) -> None:
        """Settle ended runs, release claims that still arrive, and end the registration."""
        while True:
            turn = self._ask(lane, 0)
            lane.asked = turn.asked
            lane.answered()
            self._refuse(lane, [*turn.fenced, *turn.refused])
            for claim in turn.claims:
                self.router.release(lane, claim)
            if not lane.ends and not turn.asked:
                self.count(lane, is_last=True)
                lane.broker.leave()
                return

    # Runs that have ended.

    def ended(self, runs: Sequence[LaneRun]) -> None:
        """Decide the outcomes of runs that have ended. A run that returned, the usual case, takes the short way."""
        self.runner.ended(runs)
        latest_ms, wanted = 0, events.wanted("done")
        usual: defaultdict[Lane, list[LaneRun]] = defaultdict(list)
        for run in runs:
            claim, lane = run.claim, run.lane
            is_usual = run.error is None and claim.standing is None and run.kept is None and not claim.attempt
            if wanted or self._fenced or not is_usual:
                self._ended(run)
                wanted = events.wanted("done")
                continue
            outcome = DONE
            # fault: decided {type(outcome).__name__}
            lane.ends.append((claim, outcome))
            usual[lane].append(run)
            if run.late_ms > latest_ms:
                latest_ms = run.late_ms
        for lane, done in usual.items():
            self._count(lane, done)
        if usual:
            events.count("done", sum(map(len, usual.values())), latest_ms)

    def _count(self, lane: Lane, done: Sequence[LaneRun]) -> None:
        self._counts["ran"] += len(done)
        table, counter = self.router.table, lane.counter
        if table is None and counter is None:
            return
        lengths = lengths_of(done)
        if table is not None:
            table.done(lane.broker.schedule, lengths)
        if counter is not None:
            counter.done(done, lengths)

    def _ended(self, run: LaneRun) -> None:
        lane, claim = run.lane, run.claim
        if run.error is not None and issubclass(type(run.error), CannotRun) and run.options.crashes != 0:
            self.router.cannot_run(lane, claim, run.error)
            return
        if run.error is not None and (left_ms := self._unfit_ms(run)):
            self.router.cannot_run(lane, claim, run.error, unfit_ms=left_ms)
            lane.look = lane.look or bool(claim.slots)
            return
        outcome, has_begun = outcome_of(run), not run.is_prevented
        if has_begun and (outcome is not DONE or claim.standing is not None):
            outcome = measured(outcome, Ran(late_ms=run.late_ms, took_ms=round(run.took_ms)))
        if isinstance(outcome, Dead):
            outcome = self.router.followed(lane, claim, outcome)
        if run.reports is not None:
            if isinstance(outcome, Again) and outcome.is_wait and run.reports.latest is not None:
                outcome = replace(outcome, progress=json.dumps(run.reports.latest))
            run.reports.keeps_log = isinstance(outcome, Again | Dead) and outcome.failure is not None
        # fault: decided {type(outcome).__name__}
        if self.router.table is not None and has_begun:
            self._note(self.router.table, run, outcome)
        lane.ends.append((claim, outcome))
        if isinstance(outcome, Again):
            lane.wake_in(outcome.delay_ms)
        if claim.slots:
            lane.look = True  # a job that waits for the slot is due with this ending
        if self._fenced and claim.receipt in self._fenced:
            return
        if lane.counter is not None and has_begun and not (isinstance(outcome, Again) and outcome.is_wait):
            lane.counter.ended(run, outcome)
        match outcome:
            case Done():
                self._counts["ran"] += 1
            case Dead():
                self._counts["failed"] += 1
            case Again():
                self._counts["retried"] += 1
        report.ended(run, outcome)
        if (pings := self.router.pings) is not None and claim.standing is not None:
            match run_outcome(outcome, run.error):
                case "done" | "discarded":
                    pings.put(claim, "success")
                case "failed":
                    pings.put(claim, "fail")

    def _note(self, table: RunTable, run: LaneRun, outcome: Outcome) -> None:
        ending = run_outcome(outcome, run.error)
        if ending is not None:
            fenced: RunOutcome = "fenced" if run.claim.receipt in self._fenced else ending
            late_ms = run.late_ms if not run.claim.attempt else None
            by = deadline_ms(run.claim.terms, run.claim.due_ms) if isinstance(outcome, Done | Dead) else None
            if by is not None and by < run.lane.now_ms():
                table.count(run.lane.broker.schedule, run.claim.fn, ENDED_LATE)
            table.note(run.lane.broker.schedule, run.claim.fn, fenced, took_ms=run.took_ms, late_ms=late_ms)

    def _unfit_ms(self, run: LaneRun) -> int:
        """Return the time in ms for which a job is left for others, because its arguments do not fit the function here.
        Some layouts reset the lateness of a job that was put off, so the time of its first look counts too.
        """
        error: Any = run.error
        if not (issubclass(type(error), InvalidArguments) and error.unfit) or run.cancelled:
            return 0
        now = time.monotonic()
        key, left_ms = (run.lane, run.claim.occurrence), self.keep_unfit_ms - run.late_ms
        until = self._unfit.pop(key, now + left_ms / 1000)
        if left_ms <= 0 or until <= now:
            return 0
        if len(self._unfit) >= MOST_NAMES:
            self._unfit.clear()
        self._unfit[key] = until
        return max(1, round((until - now) * 1000))

    # Claims that are released, interrupted, or lost.

    def _given_back(self, lane: Lane, *, but: Sequence[Claim]) -> None:
        """Report the releases that the server has confirmed: all except `but`, which it has refused."""
        refused = {claim.receipt for claim in but}
        for claim in lane.giving_back:
            if claim.receipt not in refused:
                self._counts["given_back"] += 1
                events.emit("given_back", lane.broker.schedule, job=claim.job)
        lane.giving_back = []

    def abandon(self, lanes: Sequence[Lane]) -> None:
        """Report the endings that no server has confirmed, at the end of a listener."""
        for lane in lanes:
            if count := len(lane.unstored) + len(lane.ends):
                self._counts["unstored"] += count
                events.emit("unstored", lane.broker.schedule, url=lane.broker.url, endings=count)

    def release_unbegun(self, lanes: Sequence[Lane]) -> None:
        """Release every claim that has not begun, and from now on every new one."""
        router = self.router
        router.stopping = True
        self.release_overdue(self.runner.take_back())
        for lane in lanes:
            for claim, _ in lane.unarmed:
                router.release(lane, claim)
            lane.unarmed = []
        if router.last_chance is not None:
            router.release(*router.last_chance)
            router.last_chance = None

    def release_overdue(self, tasks: Collection[Task]) -> None:
        """Release claims that have waited too long, as other listeners may have room. A claim with an error is passed
        by here, and the next claims look further. Emits nothing unless this listener stops, because this is no event
        in the life of a job.
        """
        for task in tasks:
            if self.router.stopping:
                self.router.release(task.lane, task.claim)
                continue
            lane = task.lane
            if task.error is None:
                lane.ends.append((task.claim, Released()))
            else:
                self.router.cannot_run(lane, task.claim, task.error)
                lane.passes, lane.passing = True, min(MOST_PAST, 2 * len(tasks)) if lane.more else 0
            lane.look = True  # a burst continues

    def release_running(self) -> None:
        """Release claims that still run, and those that a thread still looks up. Other listeners run them again, unless
        a job runs at most once.
        """
        for task in self.runner.held:
            if isinstance(task, LaneRun):
                task.ask_to_stop()
                if task.claim.receipt in self._fenced:
                    continue
                if task.started and self.runner.runs_code and self.router.crashes(task.claim) == 0:
                    why = "may have run: its listener stopped before it ended"
                    self.router.bury(task.lane, task.claim, why)
                    continue
            self.router.release(task.lane, task.claim)

    def _cancel(self, lane: Lane, names: frozenset[str]) -> None:
        """Interrupt the runs of these jobs or occurrences, or of the members of these batches (`batch:NAME`)."""
        for run in self.router.runs():
            claim = run.claim
            if run.lane is lane and not names.isdisjoint((claim.id, claim.occurrence, f"batch:{claim.terms.batch}")):
                run.cancel()

    def lose(self, lane: Lane, fenced: Sequence[Claim]) -> None:
        """Drop claims that now belong to other listeners: this one counted as dead, or a failover has lost them. Claims
        that have not begun never start. Active runs are asked to stop, and the server will refuse their endings.
        """
        # fault: lost
        router, lost = self.router, {claim.receipt: claim for claim in fenced}
        lane.ends = [end for end in lane.ends if end[0].receipt not in lost]
        lane.unarmed = [pair for pair in lane.unarmed if pair[0].receipt not in lost]
        lane.giving_back = [claim for claim in lane.giving_back if claim.receipt not in lost]
        lane.look = True
        if router.last_chance is not None and router.last_chance[1].receipt in lost:
            router.last_chance = None
        self.runner.take_back(lambda task: task.lane is lane and task.claim.receipt in lost)
        for run in router.runs():
            if run.lane is lane and lost.pop(run.claim.receipt, None) is not None:
                self._fenced[run.claim.receipt] = None if lane.is_on_time else lane.away
                run.ask_to_stop()
        self._refuse(lane, list(lost.values()))

    def _refuse(self, lane: Lane, refused: Sequence[Claim]) -> None:
        """Report endings that came too late, with the time that this listener was away, if that was too long."""
        for claim in refused:
            away = self._fenced.pop(claim.receipt, None if lane.is_on_time else lane.away)
            report.fenced(claim, None if away is None else round(away * 1000))
