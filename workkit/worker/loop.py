"""The loop: claim, hand out, decide, settle, beat, maintain, stop.

One thread talks to the brokers; handlers run in a pool; both meet in one inbox. A run's ending is decided as a value
and settled with the others of the same turn.
"""

from __future__ import annotations

import os
import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from workkit import events
from workkit._version import __version__
from workkit.broker import Broker, Claim, ListenerInfo, Tally
from workkit.errors import CannotRun, ServerError
from workkit.jobs.outcome import Dead, Done, Failure, Outcome, Released, decide
from workkit.jobs.registry import Registry
from workkit.worker import report
from workkit.worker.executor import Attempt, Executor
from workkit.worker.hands import Hands, LookedUp
from workkit.worker.lane import BEAT, TICK, Lane
from workkit.worker.pool import Pool

CRASHES = 3  # after so many listeners died with it, a job is taken for what killed them
FAREWELL = 3.0  # seconds for the last settle, after the deadline of a stop
UNKNOWN_MS = 2000  # how late another listener gets what this one cannot run


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How a listener works: see `schedule.listen`."""

    threads: int = 10
    imports: tuple[str, ...] = ()
    folder: Path | None = None
    deadline: timedelta = timedelta(seconds=25)
    strict: bool = False
    burst: bool = False


Message = Attempt | LookedUp | Lane | Callable[[], None]


class Loop:
    """One listener's loop. Everything but `post` belongs to the thread that calls `run`."""

    def __init__(self, brokers: Sequence[tuple[Broker, int]], *, how: How) -> None:
        self._lanes = [Lane(broker, weight) for broker, weight in brokers]
        self._how = how
        self._inbox: SimpleQueue[Message] = SimpleQueue()
        executor = Executor(Registry(imports=how.imports, folder=how.folder))
        self._hands = Hands(pool=Pool(how.threads), executor=executor, post=self._inbox.put)
        self._fenced_at: dict[Any, float] = {}  # receipts of what was handed to others while it ran here
        self._reported: set[str] = set()  # names whose refusal was said
        self._quiet = False
        self._stop_at: float | None = None
        self._over = threading.Event()
        self._began = time.monotonic()
        self._tally = Tally()

    def post(self, order: Callable[[], None]) -> None:
        """Have the loop's thread call `order` soon. From any thread or signal handler."""
        self._inbox.put(order)

    def open(self) -> None:
        """Import what may be run, and register everywhere. Raises InvalidFunction, ServerUnreachable, ServerRefused."""
        self._hands.executor.registry.load()
        names = {lane.broker.schedule: lane.weight for lane in self._lanes}
        info = ListenerInfo(
            listener="",
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            schedules=names,
            threads=self._how.threads,
        )
        for lane in self._lanes:
            lane.broker.register(info)
        self._hands.pool.start()
        for lane in self._lanes:
            lane.listen_for_tokens(self._inbox.put, self._over)
        first = self._lanes[0].broker
        me = {"listener": first.listener, "threads": info.threads, "pid": info.pid, "version": __version__}
        events.emit("listening", schedules=names, url=first.url, **me)
        events.emit("may_run", text=report.may_run(self._how.imports, self._how.folder))

    def run(self) -> Tally:
        """Serve until stopped, or with `burst` until nothing is due. Raises a `lasting` ServerRefused."""
        try:
            while not self._is_over():
                for message in self._messages():
                    self._hear(message)
                for lane in self._order():
                    self._turn(lane)
            self._give_back()
        finally:
            self._close()
        return self._tally

    def begin_stop(self, deadline: timedelta) -> None:
        """Take nothing new; what no thread has begun goes back now, what runs may end until the deadline."""
        if self._stop_at is not None:
            return
        self._stop_at = time.monotonic() + deadline.total_seconds()
        for task in self._hands.taken_back(lambda _: True):
            self._release(task.lane, task.claim)
        for lane in self._lanes:
            for claim in lane.unarmed:
                self._release(lane, claim)
            lane.unarmed = []
        events.emit("stopping", running=len(self._hands.runs), deadline_ms=round(deadline.total_seconds() * 1000))

    def set_quiet(self, quiet: bool) -> None:
        """Take nothing new, or take work again. A CONT that follows a stop, or nothing, changes nothing."""
        if quiet == self._quiet or self._stop_at is not None:
            return
        self._quiet = quiet
        for lane in self._lanes:
            lane.look = True
        events.emit("quiet" if quiet else "resumed")

    # What comes in, and what each schedule needs.

    def _messages(self) -> list[Message]:
        """What has come in; waits for the first as long as nothing else is to be done."""
        wait = self._next_at() - time.monotonic()
        found: list[Message] = []
        try:
            found.append(self._inbox.get(timeout=wait) if wait > 0 else self._inbox.get_nowait())
            while True:
                found.append(self._inbox.get_nowait())
        except Empty:
            return found

    def _next_at(self) -> float:
        at = [lane.next_at() for lane in self._lanes]
        for lane in self._lanes:
            if lane.lost_at is None and (lane.ends or lane.unarmed or (lane.look and self._free())):
                return 0.0
        return min(at) if self._stop_at is None else min(*at, self._stop_at)

    def _hear(self, message: Message) -> None:
        match message:
            case Attempt():
                self._ended(message)
            case LookedUp(task=task):
                self._hands.looking_up -= 1
                self._route(task.lane, task.claim)
            case Lane():
                message.look = True
                if not self._free():
                    self._pass_on(message)
            case _:
                message()

    def _turn(self, lane: Lane) -> None:
        """Whatever this lane needs now: arm, settle and claim, beat."""
        now = time.monotonic()
        if lane.lost_at is not None and now < lane.retry_at:
            return
        lane.look = lane.look or now >= lane.wake_at
        try:
            self._arm(lane)
            limit = self._free() if lane.look else 0
            if lane.ends or limit > 0:
                self._exchange(lane, limit)
            if lane.lost_at is not None or now - lane.beat_at >= BEAT or now - lane.seen_at >= TICK:
                self._beat(lane)
            lane.back()
        except ServerError as error:
            lane.lost(error, running=len(self._hands.runs))
        if self._free() > 0:
            lane.room.set()
        else:
            lane.room.clear()

    def _exchange(self, lane: Lane, limit: int) -> None:
        ends, lane.ends = lane.ends, []
        turn = lane.broker.claim(limit, ends=ends)  # it keeps the endings, whatever happens
        now = lane.seen_at = time.monotonic()
        if limit > 0:
            wake = turn.wake_in_ms
            lane.look = wake == 0
            lane.wake_at = now + wake / 1000 if wake else float("inf")
        self._lose(lane, turn.fenced)
        self._refuse(turn.refused)
        for claim in turn.claims:
            self._route(lane, claim)
        self._arm(lane)

    def _arm(self, lane: Lane) -> None:
        """Put next occurrences back; only then may these start."""
        if not lane.unarmed:
            return
        turn = lane.broker.admit(lane.unarmed)
        lane.unarmed = []
        self._lose(lane, turn.fenced)
        self._refuse(turn.refused)
        for claim in turn.claims:
            self._route(lane, claim)

    def _beat(self, lane: Lane) -> None:
        orders = lane.broker.heartbeat()
        lane.seen_at = lane.beat_at = time.monotonic()
        lane.look = lane.look or orders.look
        self._lose(lane, orders.fenced)
        for run, of in self._hands.runs.items():
            if of is lane and run.claim.job.id in orders.cancelled:
                run.cancel()
        for name, jobs in lane.broker.maintain():
            lane.look = True
            events.emit("crashed", lane.broker.schedule, listener=name, jobs=jobs)

    # The way of one claim.

    def _route(self, lane: Lane, claim: Claim) -> None:
        """The next step of a claim: to its end if it must not run, to be armed if it recurs, to a thread otherwise."""
        if claim.trouble:
            report.trouble(claim)
            lane.ends.append((claim, Done()))
        elif self._stop_at is not None:
            self._release(lane, claim)
        elif claim.armed:
            self._hand_out(lane, claim)
        elif not self._hands.knows(claim):
            self._hands.look_up(lane, claim)
        elif error := self._hands.refusal(claim):
            self._cannot_run(lane, claim, error)
        else:
            lane.unarmed.append(claim)

    def _hand_out(self, lane: Lane, claim: Claim) -> None:
        if claim.crashes >= CRASHES:
            failure = Failure(type="Crashed", message=f"crashed its listener {claim.crashes} times")
            report.dead(claim, failure)
            lane.ends.append((claim, Dead(failure=failure, reason="crashed")))
            return
        self._hands.execute(lane, claim)

    def _ended(self, attempt: Attempt) -> None:
        lane, claim = self._hands.runs.pop(attempt.run), attempt.run.claim
        if isinstance(attempt.error, CannotRun):
            self._cannot_run(lane, claim, attempt.error)
            return
        try:
            outcome: Outcome = decide(attempt.error, attempt.failure, attempt=claim.job.attempt)
        except Exception as error:  # a Retry whose duration is none
            outcome = Dead(failure=Failure(type=type(error).__name__, message=str(error)))
        lane.ends.append((claim, outcome))
        if claim.receipt in self._fenced_at:
            return
        ran, failed = isinstance(outcome, Done), isinstance(outcome, Dead)
        self._tally = replace(self._tally, ran=self._tally.ran + ran, failed=self._tally.failed + failed)
        report.ended(attempt, outcome)

    def _cannot_run(self, lane: Lane, claim: Claim, error: CannotRun) -> None:
        if claim.job.fn not in self._reported:
            self._reported.add(claim.job.fn)
            report.cannot_run(claim, error)
        lane.ends.append((claim, Released(delay_ms=UNKNOWN_MS, unknown=True)))

    def _release(self, lane: Lane, claim: Claim) -> None:
        self._tally = replace(self._tally, given_back=self._tally.given_back + 1)
        events.emit("given_back", lane.broker.schedule, job=claim.job)
        lane.ends.append((claim, Released()))

    # Work that belongs to somebody else now.

    def _lose(self, lane: Lane, fenced: Sequence[Claim]) -> None:
        """This listener was taken for dead: others have its work. What has not begun must not; what runs is asked to
        stop, and its ending will be refused.
        """
        if not fenced:
            return
        lane.ends, lane.unarmed, lane.look = [], [], True
        lost = {claim.receipt: claim for claim in fenced}
        self._hands.taken_back(lambda task: task.lane is lane and task.claim.receipt in lost)
        for run, of in self._hands.runs.items():
            if of is lane and lost.pop(run.claim.receipt, None) is not None:
                self._fenced_at[run.claim.receipt] = time.monotonic()
                run.cancel()
        self._refuse(list(lost.values()))

    def _refuse(self, refused: Sequence[Claim]) -> None:
        for claim in refused:
            since = self._fenced_at.pop(claim.receipt, None)
            report.fenced(claim, 0 if since is None else round((time.monotonic() - since) * 1000))

    # Room, order, the end.

    def _free(self) -> int:
        if self._quiet or self._stop_at is not None:
            return 0
        return self._how.threads - self._hands.busy

    def _order(self) -> list[Lane]:
        """Which schedule is asked first: as given, or by chance in proportion to the weights."""
        if self._how.strict or len(self._lanes) == 1:
            return self._lanes
        return sorted(self._lanes, key=lambda lane: random.random() ** (1 / lane.weight), reverse=True)

    def _pass_on(self, lane: Lane) -> None:
        lane.room.clear()
        try:
            lane.broker.pass_on()
        except ServerError as error:
            lane.lost(error, running=len(self._hands.runs))

    def _is_over(self) -> bool:
        busy = self._hands.busy > 0
        if self._stop_at is not None:
            return not busy or time.monotonic() >= self._stop_at
        waiting = any(lane.ends or lane.unarmed or lane.look or lane.lost_at is not None for lane in self._lanes)
        return self._how.burst and not busy and not waiting

    def _give_back(self) -> None:
        """The last endings; what still runs after the deadline goes back too, and others run it anew."""
        for run, lane in self._hands.runs.items():
            run.cancel()
            if run.claim.receipt not in self._fenced_at:
                self._release(lane, run.claim)
        until = time.monotonic() + FAREWELL
        for lane in self._lanes:
            while True:
                try:
                    ends, lane.ends = lane.ends, []
                    self._refuse(lane.broker.claim(0, ends=ends).refused)
                    lane.broker.leave()
                    break
                except ServerError as error:
                    lane.lost(error, running=len(self._hands.runs))
                    if time.monotonic() > until:
                        break
                    time.sleep(max(0.0, lane.retry_at - time.monotonic()))

    def _close(self) -> None:
        self._over.set()
        for lane in self._lanes:
            lane.close()
        self._hands.close()
        t, up_ms = self._tally, round((time.monotonic() - self._began) * 1000)
        events.emit("stopped", ran=t.ran, failed=t.failed, given_back=t.given_back, up_ms=up_ms)
