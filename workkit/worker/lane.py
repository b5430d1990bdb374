"""One schedule in a listener: its broker, the time of the next request, waiting endings, and a lost server. Also its
runs and lookups of functions, which come back to the loop in an inbox.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from workkit import events
from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.contract.listener import Claim, Ending
from workkit.errors import CannotRun, ServerError, ServerRefused, Unsupported, WorkkitError
from workkit.jobs.admission import FREE, Admission, Control
from workkit.worker.counting import RunCounter
from workkit.worker.run.run import Run, homes
from workkit.worker.run.running_job import Progress, ProgressWriter, Reports, RunLog

TICK = 0.9  # seconds between looks when idle, so that an addition by a foreign producer is seen within a second
BEAT = 2.0  # seconds between heartbeats when busy
BACKOFF = 0.05, 1.0  # seconds: the first and the longest pause between tries when the server is lost

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Lane:
    """A broker and the loop's state for it. Times are `time.monotonic()` seconds."""

    broker: Broker
    weight: int = 1
    at: float = 0.0  # time of the next request even if nothing arrives
    look: bool = True  # whether due work may wait there
    asked: bool = False  # whether claims are on their way
    wake_at: float = float("inf")
    seen_at: float = 0.0  # the last claim or beat
    beat_at: float = 0.0
    answered_at: float = field(default_factory=time.monotonic)
    away: float = 0.0  # seconds between the last two answers of the server
    lease: float = 5.0  # seconds without a heartbeat until others take over
    name: str = ""  # last known name of its registration
    shuns: bool = False  # whether it released as unknown a job that it only could not begin then
    more: bool = False  # whether more was due than was claimed
    passes: bool = False  # whether it passed by jobs of a kind that had no room here then
    passing: int = 0  # how many to claim next, after it could run none of the last
    settle_at: float = 0.0  # time by which the first of its endings must be settled
    ends: list[Ending] = field(default_factory=list)
    unstored: list[Ending] = field(default_factory=list)  # sent, but not confirmed by the server
    giving_back: list[Claim] = field(default_factory=list)  # the server has not confirmed their release
    unarmed: list[tuple[Claim, Admission | None]] = field(default_factory=list)  # to be admitted
    control: Control = FREE
    quiet: frozenset[str] = frozenset()  # the listeners of this schedule that claim nothing new
    lost_at: float | None = None
    retry_at: float = 0.0
    pause: float = BACKOFF[0]
    room: threading.Event = field(default_factory=threading.Event)  # set while this listener can use a wake-up
    waiter: threading.Thread | None = None
    progress: ProgressWriter | None = None  # None: progress has no reader
    counter: RunCounter | None = None  # None: the layout, or the schedule, keeps no counts
    ahead_ms: float | None = None  # the server's clock minus the steady one here; None: each run asks for its time
    pretended_ms: int | None = None  # the pretended time of claims, if it is not the server's
    clock_ms: int | None = None  # the time of the server's clock, if a test moves it

    def __post_init__(self) -> None:
        """Count runs where the broker keeps counts."""
        self._follow_history()

    @property
    def time_ms(self) -> int | None:
        """The time that claims name, in epoch milliseconds; None: the time of the server's clock."""
        return self.clock_ms if self.pretended_ms is None else self.pretended_ms

    def now_ms(self) -> int:
        """Return the time of its schedule, in epoch milliseconds."""
        return self.broker.now_ms() if (time_ms := self.time_ms) is None else time_ms

    def estimate_clock(self, now: float) -> None:
        """Compute `ahead_ms` for the runs that begin from `now` on."""
        moves = self.time_ms is None and not self.broker.is_on_test_clock
        self.ahead_ms = self.broker.now_ms() - now * 1000 if moves else None

    def _follow_history(self) -> None:
        if self.broker.count is None:
            self.counter = None
        elif self.counter is None:
            self.counter = RunCounter()

    def next_at(self) -> float:
        """Return the time of the next request even if nothing arrives."""
        if self.lost_at is not None:
            return self.retry_at
        return min(self.wake_at, self.seen_at + TICK, self.beat_at + BEAT, self.writes_at())

    def writes_at(self) -> float:
        """Return the time to write progress or counts of runs."""
        progress = float("inf") if self.progress is None else self.progress.at
        return progress if self.counter is None else min(progress, self.counter.at)

    def answered(self) -> float:
        """Note that the server has answered now, and return the time."""
        now = time.monotonic()
        self.away, self.answered_at = now - self.answered_at, now
        return now

    @property
    def is_on_time(self) -> bool:
        """Whether this listener was away for too short a time to count as dead."""
        return self.away < self.lease / 2

    def compare_name(self) -> None:
        """Report once that the server has lost this registration. Reports only a loss that no other listener and no cut
        connection can have caused.
        """
        name = self.broker.listener
        if name == self.name:
            return
        if self.name and self.is_on_time and self.lost_at is None:
            events.emit("unregistered", self.broker.schedule, listener=self.name, url=self.broker.url)
        self.name = name

    def update(self, control: Control) -> None:
        """Store the changed pauses and limits of the schedule."""
        was_quiet, self.quiet = self.is_quiet, control.quiet
        self.control = FREE if control == FREE else control
        self._follow_history()
        if self.is_quiet != was_quiet:
            self.look = True
            events.emit("resumed" if was_quiet else "quiet", self.broker.schedule)

    @property
    def is_quiet(self) -> bool:
        """Whether a user has made this listener quiet for this schedule, so that it claims nothing new."""
        return bool(self.quiet) and self.broker.listener in self.quiet

    @property
    def looks(self) -> bool:
        """Whether this listener must claim jobs that may be due in this schedule."""
        return self.look and not self.is_quiet

    @property
    def is_due(self) -> bool:
        """Whether more jobs were due here than this listener has claimed."""
        return self.more and not self.is_quiet

    def retrying(self) -> int:
        """Count the jobs that wait for another attempt; 0 if the server or the layout does not report them."""
        with suppress(ServerError, Unsupported):
            counts = self.broker.inspector.counts()
            return 0 if "retrying" in counts.unknown else counts.retrying
        return 0

    def wake_in(self, ms: float) -> None:
        """Ask again after `ms`: this listener has put a job back, and other listeners may not notice it."""
        self.wake_at = min(self.wake_at, time.monotonic() + ms / 1000)
        self.at = min(self.at, self.wake_at)

    def lost(self, error: ServerError, *, running: int) -> None:
        """Report once that the server did not answer, and plan a new try after a jittered, growing pause. Raises a
        `lasting` ServerRefused.
        """
        if isinstance(error, ServerRefused) and error.lasting:
            raise error
        now = time.monotonic()
        if self.lost_at is None:
            self.lost_at = now
            reason = error.trouble or str(error)
            events.emit("lost", self.broker.schedule, url=self.broker.url, reason=reason, running=running)
        self.retry_at = now + self.pause * random.uniform(0.5, 1.0)
        self.pause = min(self.pause * 2, BACKOFF[1])

    def back(self) -> None:
        """Report that a lost server answers again."""
        assert self.lost_at is not None, "it was lost"
        after_ms = round((time.monotonic() - self.lost_at) * 1000)
        self.lost_at, self.pause, self.look = None, BACKOFF[0], True
        events.emit("back", self.broker.schedule, url=self.broker.url, after_ms=after_ms)

    def listen_for_tokens(self, post: Callable[[Lane], None], over: threading.Event) -> None:
        """Wait for wake-ups in a separate thread until `over`, while there is room; `post` this lane for each."""
        self.waiter = threading.Thread(target=self._wait, args=(post, over), name="workkit-wake", daemon=True)
        self.waiter.start()

    def _wait(self, post: Callable[[Lane], None], over: threading.Event) -> None:
        while not over.is_set():
            if not self.room.wait(1.0):
                continue
            try:
                if self.broker.wait(30.0):
                    self.room.clear()  # until the loop has looked, so that the loop gets the interpreter at once
                    post(self)
            except WorkkitError:
                over.wait(random.uniform(0.2, 0.6))
            except Exception:  # the connection was closed during the wait, and the client failed on that
                if not over.is_set():
                    raise

    def close(self) -> None:
        """Close the broker, and end the thread that waits on it. The thread may be about to connect, so repeat this."""
        self.room.set()
        for _ in range(40):
            self.broker.close()
            if self.waiter is None:
                return
            self.waiter.join(0.05)
            if not self.waiter.is_alive():
                return


class LaneRun(Run):
    """A run of a claim from a lane. Its ending and its progress wait in the lane."""

    reports: Reports | None = None

    def __init__(self, claim: Claim, lane: Lane) -> None:
        self.claim = claim  # copies `Run.__init__`, because this is called for each job
        self.lane = lane

    @property
    def schedule(self) -> str:
        """The schedule of its job."""
        return self.lane.broker.schedule

    def home(self) -> Any:
        """Return the Schedule of its listener."""
        return homes.get(self.lane.broker)

    def reporter(self) -> Callable[[Progress], None] | None:
        """Return the function that takes reports of progress; None if they have no reader."""
        found = self._reports()
        return None if found is None else found.put

    def open_log(self) -> RunLog:
        """Make the log for the lines that its code logs; it is written with the progress."""
        found = self._reports()
        if found is None:
            return RunLog()
        found.log = RunLog(found.announce)
        return found.log

    def _reports(self) -> Reports | None:
        if self.reports is None and self.lane.progress is not None:
            self.reports = self.lane.progress.reports(self)
        return self.reports


@dataclass(slots=True, eq=False)
class LookUp:
    """A claim with a function that a thread looks up, since an import can take long. When it comes back to the loop,
    the function is known, or `error` is the reason why it cannot run here.
    """

    lane: Lane
    claim: Claim
    error: CannotRun | None = None


Task = LaneRun | LookUp


class Inbox(Generic[T]):
    """Messages to the loop, in order. Any thread or signal handler puts them in; one thread takes them. Only the first
    message rings, since each ring wakes the taker, which then needs the interpreter.
    """

    def __init__(self) -> None:
        self.messages: deque[T] = deque()
        self.is_rung = False
        self._bell: SimpleQueue[None] = SimpleQueue()

    def put(self, message: T) -> None:
        """Add a message."""
        self.messages.append(message)
        if not self.is_rung:
            self.ring()

    def ring(self) -> None:
        """Wake the thread that takes the messages."""
        self.is_rung = True
        self._bell.put(None)

    def take(self, wait: float) -> list[T]:
        """Return all messages so far; wait up to `wait` seconds for the first."""
        try:
            if wait > 0:
                self._bell.get(timeout=wait)
            else:
                self._bell.get_nowait()
        except Empty:
            return []
        self.is_rung = False  # before the read: any later message rings again
        found: list[T] = []
        while True:
            try:
                found.append(self.messages.popleft())
            except IndexError:
                return found
