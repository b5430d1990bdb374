"""The loop of a listener: it decides when to claim, settle, beat and stop.

One thread sends requests to the brokers, a `Runner` runs the claims, and an inbox connects both. `Settle` makes the
requests and decides the outcome of a run; `Router` decides the next step of a claim.
"""

from __future__ import annotations

import os
import random
import socket
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from workkit import events
from workkit._version import __version__
from workkit.clocks import time
from workkit.contract.broker import Broker, Producer
from workkit.contract.listener import ListenerInfo, Orders
from workkit.contract.producer import Tally
from workkit.errors import ServerError, ServerFull
from workkit.jobs.consumers import Consumer, Functions, known_functions
from workkit.worker import report
from workkit.worker.executor import Executor
from workkit.worker.lane import BEAT, TICK, Inbox, Lane, LaneRun, LookUp
from workkit.worker.publisher import Publisher
from workkit.worker.report import Pings
from workkit.worker.router import Router, Runner
from workkit.worker.run import interruption
from workkit.worker.run.running_job import ProgressWriter
from workkit.worker.run_table import RunTable
from workkit.worker.runner import WAKE, Threads
from workkit.worker.settle import Settle

PROMPT, MANY = 0.004, 100  # an ending waits for at most this many seconds, and this many other endings
TOGETHER = 0.05  # seconds by which a beat may be early, to go out with others
FAREWELL = 3.0  # the least seconds for the last settle; it has until the deadline of a stop


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The options of a listener: see `schedule.listen`."""

    threads: int = 10
    coroutines: int = 100
    imports: tuple[str, ...] = ()
    jobs: tuple[tuple[str, int], ...] | None = None  # job names with priorities; None: all registered ones
    consumers: tuple[Consumer, ...] = ()
    folder: Path | None = None
    deadline: timedelta = timedelta(seconds=25)
    strict: bool = False
    burst: bool = False
    health: tuple[str, int] | None = None
    stuck_after: timedelta = timedelta(seconds=30)
    keep_unfit: timedelta = timedelta(minutes=10)
    publish: bool = True  # publish the functions that it knows
    name: str = ""  # the listener's name; "": that of its host
    passes: bool = True  # its layouts let it pass by single jobs, without their whole queue
    loop: AbstractEventLoop | None = None  # the program's, for coroutines; None: the listener has one


Message = LaneRun | LookUp | Lane | Callable[[], None]


class Loop:
    """One listener's loop: it runs jobs, or forwards them `to` another schedule. Only the thread that calls `run` may
    use it, unless a method states otherwise.
    """

    def __init__(self, brokers: Sequence[tuple[Broker, int]], *, how: How, to: Producer | None = None) -> None:
        self._lanes = [Lane(broker, weight, lease=how.stuck_after / timedelta(seconds=3)) for broker, weight in brokers]
        self._how = how
        self._inbox: Inbox[Message] = Inbox()
        pings = Pings()
        if to is None:
            functions = Functions(imports=how.imports, folder=how.folder, consumers=how.consumers)
            self._runner: Runner = Threads(
                how.threads,
                executor=Executor(functions, loop=how.loop),
                inbox=self._inbox,
                pings=pings,
                may_run=report.may_run(how.imports, how.folder),
                patience=how.stuck_after.total_seconds(),
                coroutines=how.coroutines,
                passes=how.passes,
            )
        else:
            self._runner = Publisher(to, inbox=self._inbox)
        self._router = Router(self._runner, pings if to is None else None)
        keep_unfit_ms = round(how.keep_unfit.total_seconds() * 1000)
        self._settle = Settle(self._runner, self._router, pings, keep_unfit_ms, how.burst)
        for lane in self._lanes:
            lane.progress = ProgressWriter(lane.broker, post=self.post)
        self._stop_at: float | None = None
        self._quiet, self._retrying = False, 0  # jobs that wait for another attempt after a burst
        self._over = threading.Event()
        self._began, self._born = time.monotonic(), interruption.forks
        self.once_imported: Callable[[], None] = lambda: None
        self.pulse = 0  # changes as long as the loop moves; read by the watchdog

    def post(self, order: Callable[[], None]) -> None:
        """Make the loop's thread call `order` soon. Safe in any thread or signal handler."""
        self._inbox.put(order)

    def count_into(self, table: RunTable) -> None:
        """Count each run that ends in this table. Call this before `open`."""
        self._router.table = table

    def counted(self) -> RunTable:
        """Count each run that ends from now on, and return the table. Thread-safe."""
        if self._router.table is None:
            self._router.table = RunTable()
        return self._router.table

    @property
    def brokers(self) -> list[Broker]:
        """The brokers of its schedules."""
        return [lane.broker for lane in self._lanes]

    def open(self) -> None:
        """Import the modules of its functions, and register in every schedule. A server that takes no writes for now
        counts as lost: the listener registers when it takes writes again. Raises InvalidFunction, ServerUnreachable,
        ServerRefused.
        """
        try:
            self._open()
        except BaseException:
            self._runner.close()
            raise

    def _open(self) -> None:
        opened = self._runner.open()
        self.once_imported()
        names = {lane.broker.schedule: lane.weight for lane in self._lanes}
        info = ListenerInfo(
            listener=self._how.name,
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            schedules=names,
            threads=self._how.threads,
            coroutines=self._how.coroutines if self._runner.runs_code else 0,
            state=opened.state,
            serves=opened.serves(self._how.jobs),
            functions=known_functions(self._how.imports) if self._how.publish else (),
        )
        for lane in self._lanes:
            try:
                lane.broker.register(info)
            except ServerFull as error:
                lane.lost(error, running=0)
        for lane in self._lanes:
            lane.listen_for_tokens(self._inbox.put, self._over)
        first = self._lanes[0].broker
        me = {name: getattr(info, name) for name in ("threads", "coroutines", "pid", "version")}
        events.emit("listening", schedules=names, url=first.url, listener=first.listener, **me)
        events.emit(opened.event, **opened.fields)

    def run(self) -> Tally:
        """Serve until stopped, or with `burst` until nothing is due. Raises a `lasting` ServerRefused."""
        try:
            while not self._is_over():
                if messages := self._inbox.take(self._next_at() - time.monotonic()):
                    self._hear(messages)
                if self._stop_at is not None:
                    self._settle.release_overdue(self._runner.take_back())
                if self._runner.unbegun or time.monotonic() >= self._runner.look_at:
                    self._settle.release_overdue(self._runner.look(time.monotonic(), self._is_due))
                if len(self._lanes) > 1:
                    self._beat_together(time.monotonic())
                for lane in self._order(self._awake(time.monotonic())):
                    self._turn(lane)
                if interruption.forks != self._born:  # a subscriber of events forked: the child is no listener
                    interruption.end_fork()
                if self._router.last_chance is not None:
                    self._router.give_last_chance(*self._router.last_chance)
                self._runner.flush()
                self._open_for_tokens(self._idle() > 0)  # after the runs: they need the interpreter first
            self._give_back()
            if self._how.burst and self._stop_at is None:
                self._retrying = sum(lane.retrying() for lane in self._lanes)
        finally:
            self._close()
        return replace(self._settle.tally, retrying=self._retrying)

    def begin_stop(self, deadline: timedelta) -> None:
        """Claim nothing new. Release claims that no thread has begun; active runs may end until the deadline."""
        if self._stop_at is not None:
            return
        self._stop_at = time.monotonic() + deadline.total_seconds()
        self._settle.release_unbegun(self._lanes)
        events.emit("stopping", running=len(self._router.runs()), deadline_ms=round(deadline.total_seconds() * 1000))

    def set_quiet(self, quiet: bool) -> None:
        """Claim nothing new, or take work again. After a stop this changes nothing."""
        if quiet == self._quiet or self._stop_at is not None:
            return
        self._quiet = quiet
        for lane in self._lanes:
            lane.look = True
        events.emit("quiet" if quiet else "resumed")

    def unready(self) -> str | None:
        """Return in words why this listener takes no work now; None if it does. Thread-safe."""
        if self._stop_at is not None:
            return "stopping"
        if self._quiet or all(lane.is_quiet for lane in self._lanes):
            return "quiet"
        if not all(lane.broker.listener for lane in self._lanes):
            return "not registered yet"
        lost = [lane.broker.url for lane in self._lanes if lane.lost_at is not None]
        return f"without {lost[0]}" if lost else self._runner.trouble

    def trouble(self) -> str | None:
        """Return in words the part of this process that does not move although the loop does; None if there is none.
        At most a second old. Thread-safe.
        """
        return self._runner.trouble if self._runner.runs_code else None

    # Arrivals, and the requests of each schedule.

    def _awake(self, now: float) -> list[Lane]:
        """Return the lanes that need a request; there may be many lanes, most of them idle."""
        return [lane for lane in self._lanes if lane.look or lane.ends or lane.unarmed or lane.asked or lane.at <= now]

    def _next_at(self) -> float:
        at = min([lane.at for lane in self._lanes])
        for lane in self._awake(at):
            if lane.lost_at is None and (self._settles(lane) or lane.unarmed or (lane.looks and self._room())):
                return 0.0
        if self._runner.unbegun:
            at = min(at, time.monotonic() + 2 * WAKE)
        at = min([at, self._runner.opens_at, *[lane.settle_at for lane in self._lanes if lane.ends]])
        return at if self._stop_at is None else min(at, self._stop_at)

    def _hear(self, messages: Sequence[Message]) -> None:
        runs = [message for message in messages if type(message) is LaneRun]
        if runs:
            settle_at = time.monotonic() + PROMPT
            for lane in self._lanes:
                if not lane.ends:
                    lane.settle_at = settle_at
            self._settle.ended(runs)
        for message in messages if len(runs) < len(messages) else ():
            match message:
                case LaneRun():
                    pass
                case LookUp():
                    self._router.looked_up(message)
                case Lane():
                    message.look = True
                    if not self._idle() or message.is_quiet:
                        self._pass_on(message)
                case _ if callable(message):
                    message()
                    for lane in self._lanes:  # an order may have changed the needs of any lane
                        lane.at = 0.0

    def _turn(self, lane: Lane) -> None:
        """Make the requests that this lane needs now: admit, settle and claim, beat, write progress."""
        self.pulse += 1
        now = time.monotonic()
        if lane.lost_at is not None and now < lane.retry_at:
            return
        lane.look = lane.look or now >= lane.wake_at
        try:
            if lane.unarmed:
                self._settle.admit(lane)
            settles = self._settles(lane)
            limit = self._room(is_asked=settles) if lane.looks or (lane.asked and not lane.is_quiet) else 0
            if limit > 0 or settles:
                self._settle.claim(lane, max(limit, lane.passing) if limit else 0)
            offers = lane.passes and not self._runner.is_blocked
            if offers or lane.lost_at is not None or now - lane.beat_at >= BEAT or now - lane.seen_at >= TICK:
                self._settle.beat(lane, self._beating(lane)())
            if lane.progress is not None and now >= lane.progress.at:
                lane.progress.write(self._runner.held)
            if lane.counter is not None and now >= lane.counter.at:
                self._settle.count(lane)
            if lane.lost_at is not None:
                lane.back()
        except ServerError as error:
            lane.lost(error, running=len(self._router.runs()))
        lane.at = lane.next_at()

    def _settles(self, lane: Lane) -> bool:
        """Return whether to settle its endings now, and to fetch an answer that is on its way. While claims wait for a
        thread, endings wait for the next claim. An ending waits at most `PROMPT` seconds, or for `MANY` others, because
        an ended run that is not settled runs again elsewhere if this process is killed.
        """
        if lane.ends and (len(lane.ends) >= MANY or time.monotonic() >= lane.settle_at):
            return True
        return (bool(lane.ends) or lane.asked) and not self._runner.unbegun

    def _beat_together(self, now: float) -> None:
        """Send the beats of all lanes that need nothing else at once, so that many beats cost one wait."""
        idle = [lane for lane in self._lanes if lane.lost_at is None and not (lane.look or lane.asked or lane.ends)]
        if not any(lane.at <= now for lane in idle):
            return
        asked: list[tuple[Lane, Callable[[], Orders]]] = []
        for lane in idle:
            if lane.at <= now + TOGETHER and not lane.unarmed and min(lane.wake_at, lane.writes_at()) > now:
                self._guarded(lane, lambda lane: asked.append((lane, self._beating(lane))))
        for lane, orders in asked:
            self._guarded(lane, lambda lane, orders=orders: self._settle.beat(lane, orders()))  # type: ignore[misc]

    def _beating(self, lane: Lane) -> Callable[[], Orders]:
        return lane.broker.beating(trouble=self.trouble(), state=self._state(), awaited=self._runner.awaited)

    def _state(self) -> str | None:
        """Return the state of this listener; None: the usual state."""
        return "stopping" if self._stop_at is not None else "quiet" if self._quiet else None

    def _guarded(self, lane: Lane, act: Callable[[Lane], None]) -> None:
        self.pulse += 1
        try:
            act(lane)
        except ServerError as error:
            lane.lost(error, running=len(self._router.runs()))
        lane.at = lane.next_at()

    # Room, order, the end.

    def _room(self, *, is_asked: bool = False) -> int:
        return 0 if self._quiet or self._stop_at is not None else self._runner.room(is_asked=is_asked)

    def _is_due(self) -> bool:
        """Return whether a server has more work than this listener has claimed, and there is room for it."""
        return any(lane.is_due for lane in self._lanes) and self._room() > 0

    def _idle(self) -> int:
        return 0 if self._quiet or self._stop_at is not None else self._runner.idle

    def _open_for_tokens(self, is_open: bool) -> None:
        for lane in self._lanes:
            if lane.room.is_set() != (is_open and not lane.is_quiet):
                lane.room.clear() if lane.room.is_set() else lane.room.set()

    def _order(self, lanes: list[Lane]) -> list[Lane]:
        """Order the lanes: as the caller listed them (`strict`), or at random in proportion to their weights."""
        if self._how.strict or len(lanes) < 2:
            return lanes
        return sorted(lanes, key=lambda lane: random.random() ** (1 / lane.weight), reverse=True)

    def _pass_on(self, lane: Lane) -> None:
        try:
            lane.broker.pass_on()
        except ServerFull:
            pass  # other listeners look for it within a second
        except ServerError as error:
            lane.lost(error, running=len(self._router.runs()))

    def _is_over(self) -> bool:
        busy = len(self._runner.held) > 0
        if self._stop_at is not None:
            return not busy or time.monotonic() >= self._stop_at
        waiting = any(
            lane.ends or lane.unarmed or lane.look or lane.asked or lane.lost_at is not None for lane in self._lanes
        )
        return self._how.burst and not busy and not waiting

    def _give_back(self) -> None:
        """Settle the last endings, and release jobs that still run. Repeats requests to a lost server until the
        deadline, or for `FAREWELL` seconds: the longer of both, or the shorter if nothing waits for that server.
        """
        self._settle.release_running()
        least = time.monotonic() + FAREWELL
        most = max(least, self._stop_at or 0.0)
        left = list(self._lanes)
        while True:
            left = [lane for lane in left if not self._says_farewell(lane)]
            now = time.monotonic()
            left = [lane for lane in left if now < (most if lane.unstored or lane.asked else least)]
            if not left:
                return
            time.sleep(max(0.0, min(lane.retry_at for lane in left) - now))

    def _says_farewell(self, lane: Lane) -> bool:
        self.pulse += 1
        try:
            self._settle.farewell(lane)
        except ServerError as error:
            lane.lost(error, running=len(self._router.runs()))
            return False
        return True

    def _close(self) -> None:
        self._over.set()
        self._settle.abandon(self._lanes)
        for lane in self._lanes:
            lane.close()
        self._runner.close()
        t, up_ms = self._settle.tally, round((time.monotonic() - self._began) * 1000)
        ran, tried = t.ran + t.failed + t.retried, {"retried": t.retried, "retrying": self._retrying}
        some = {name: number for name, number in tried.items() if number}
        events.emit("stopped", ran=ran, failed=t.failed, given_back=t.given_back, **some, up_ms=up_ms)
