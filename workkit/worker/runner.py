"""The threads of a listener, the tasks that they hold, and the amount of work to claim for them."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from queue import SimpleQueue
from typing import Any, Literal

from workkit import events, tracing
from workkit.clocks import time
from workkit.contract.listener import Claim
from workkit.errors import CannotRun, FunctionNotFound, described
from workkit.jobs.admission import Admission, Control
from workkit.jobs.names import brief, read_name
from workkit.jobs.run_options import RunOptions
from workkit.worker import report
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox, LaneRun, LookUp, Task
from workkit.worker.report import Pings
from workkit.worker.router import LOOK_UP, Opened
from workkit.worker.run import interruption
from workkit.worker.run.call import failure_of
from workkit.worker.run.event_loop import EventLoop

PATIENCE = 0.05  # seconds without an ending after which waiting claims go back to the server
WAKE = 0.001  # seconds of work that justify waking another thread
AHEAD = 0.025  # seconds of work that may wait for a thread
MOST_AHEAD = 6000  # claims beyond one for each thread; a server rereads them in one step if a reply is lost
PAUSE = 0.1  # seconds without work after which new work may be longer
FORGET = 1.0  # seconds without work after which an old speed is useless for new work
SAMPLE = 0.001  # the least seconds of work that yield a speed
LOOK = 1.0  # seconds between looks for tasks that do not move
SOON = 2.0  # the least seconds of silence after which the event loop counts as blocked
MOST_PASSED = 2.0  # the most seconds that count between two looks: a suspended process is not stuck


class Threads:
    """Threads over one queue of runs and lookups. With 0 threads, `flush` does the work in the calling thread.

    Idle threads are woken one by one, and take tasks from the queue until it is empty, so that many short runs cost one
    wake-up. They are daemon threads: a handler that never ends must not keep the process from ending.
    """

    runs_code = True

    def __init__(
        self,
        threads: int,
        *,
        executor: Executor,
        inbox: Inbox[Any],
        pings: Pings | None = None,
        may_run: str = "",
        patience: float = math.inf,
    ) -> None:
        """`may_run`: the functions that may run, in words. `patience`: seconds without a move that count as stuck."""
        self.threads, self.executor = threads, executor
        self.held: set[Task] = set()
        self.look_at = 0.0
        self._inbox, self._pings, self._may_run = inbox, pings, may_run  # pings may be None
        self._born = interruption.forks
        self._queue: deque[Task] = deque()
        self._parked: deque[SimpleQueue[bool]] = deque()
        self._bells: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(threads)]
        self._pending: list[Task] = []  # until the next `flush`
        self._lookups: set[LookUp] = set()  # those that a thread has begun
        self._read_ahead = ReadAhead(threads)
        self._stalls = Stalls(seconds=patience)
        self._ended_at = 0.0
        self._moved_at = 0.0  # time when work came to an empty queue, or a task ended
        self._mean = 0.0  # recent mean duration of short runs, in seconds
        self._tells_start = False  # asked once for all tasks of a `flush`
        self._tells_late: bool | None = None  # asked once for all late ones; None: not yet
        self._traces, self._trace_at = False, 0.0  # asked once a second
        self._late: list[int] = []  # lateness in ms of runs that began late without an event

    # The threads.

    def _serve(self, bell: SimpleQueue[bool]) -> None:
        take, do = self._queue.popleft, self._do
        while True:
            try:
                while True:
                    do(take())
            except IndexError:
                pass
            self._parked.append(bell)
            if self._queue:  # submitted after the last look, before this thread was parked
                try:
                    self._parked.remove(bell)
                except ValueError:
                    pass  # it is being woken anyway
                else:
                    continue
            if not bell.get():
                return

    def _do(self, task: Task) -> None:
        """Do a task, and post it. Never raises, because that would end the thread and lose the task."""
        try:
            if isinstance(task, LookUp):
                self._look_up(task)
            else:
                claim, ahead_ms = task.claim, task.lane.ahead_ms
                now_ms = task.lane.now_ms() if ahead_ms is None else round(time.monotonic() * 1000 + ahead_ms)
                if (late_ms := now_ms - (claim.due_ms if claim.waited is None else claim.asked_ms)) > 0:
                    task.late_ms = late_ms
                    if late_ms >= report.LATE_MS and not claim.attempt:
                        if self._tells_late is None:
                            self._tells_late = events.wanted("late")
                        if self._tells_late:
                            report.late(task)
                        else:
                            self._late.append(late_ms)
                if self._tells_start:
                    report.started(task)
                if self._pings is not None and claim.standing is not None:
                    self._pings.put(claim, "start")
                # fault: starting
                span = report.span(task) if self._traces else None
                self.executor.run(task)
                # fault: returned
                if span is not None:
                    span.end(task.error)
        except BaseException as error:
            _fail(task, error)
        if interruption.forks != self._born:
            interruption.end_fork()
        inbox = self._inbox
        inbox.messages.append(task)  # copies `put`, to save a call for each run
        if not inbox.is_rung:
            inbox.ring()

    def _look_up(self, task: LookUp) -> None:
        self._lookups.add(task)
        try:
            task.error = self.executor.refusal(task.claim.fn)
        finally:
            self._lookups.discard(task)

    # Requests of the loop.

    @property
    def unbegun(self) -> int:
        """The number of claims that no thread has begun."""
        return len(self._queue) + len(self._pending)

    @property
    def trouble(self) -> str | None:
        """Return in words the part that does not move: see `Stalls`. At most a second old."""
        return self._stalls.trouble

    @property
    def is_silent(self) -> bool:
        """Whether the event loop of coroutines does not answer."""
        return self.executor.event_loop.was_silent and self.executor.event_loop.is_silent

    def open(self) -> Opened:
        """Import the modules of the functions, and start the threads. Raises InvalidFunction."""
        self.executor.registry.load()
        for n, bell in enumerate(self._bells, 1):
            threading.Thread(target=self._serve, args=(bell,), name=f"workkit-{n}", daemon=True).start()
        return Opened("listening", self.executor.registry.serves(), "may_run", {"text": self._may_run})

    def room(self, *, is_asked: bool) -> int:
        """Return how many more claims are useful: one per idle thread and, while runs are short, as many as will begin
        within `AHEAD` seconds. 0 while half of these are still held, unless a request goes out anyway (`is_asked`).
        """
        busy = len(self.held)
        most = self.threads + self._read_ahead.ahead(time.monotonic(), idle=not busy)
        return max(0, most - busy) if is_asked or busy < self.threads or busy <= most // 2 else 0

    def needs(self, claim: Claim, control: Control) -> Admission | CannotRun | Literal["look up"] | None:
        """Return the needs of a claim before its start, or why its function cannot run here, or not now."""
        if not self.executor.registry.knows(claim.fn):
            return LOOK_UP
        refused = self.executor.refusal(claim.fn)
        return self.executor.admission(claim, control) if refused is None and not claim.trouble else refused

    def options(self, claim: Claim) -> RunOptions:
        """Return the options of a claim's run, with those of its function as far as it is known here."""
        registry = self.executor.registry
        if not registry.knows(claim.fn) or registry.refusal(claim.fn) is not None:
            return claim.options
        return claim.options.over(registry.handler(claim.fn)[1])

    def submit(self, tasks: Sequence[Task]) -> None:
        """Make threads do these tasks, after the next `flush`."""
        self.held.update(tasks)
        self._pending += tasks

    def flush(self) -> None:
        """Pass the new tasks to the threads, and wake as many threads as the work is worth."""
        if self._late:
            self.count_late()
        if self._pending:
            now = time.monotonic()
            self._tells_start, self._tells_late = events.wanted("started"), None
            if now >= self._trace_at:
                self._trace_at, self._traces = now + LOOK, tracing.opentelemetry() is not None
            for lane in {task.lane for task in self._pending}:
                lane.estimate_clock(now)
            if len(self._pending) == len(self.held):
                self._read_ahead.begin(now)
            if not self._queue:
                self._moved_at = now
            self._queue.extend(self._pending)
            self._pending = []
        if self._queue:
            worth = self.threads if not self._mean else math.ceil(len(self._queue) * self._mean / WAKE)
            self._wake(max(1, worth))
            while self._queue and not self.threads:
                self._do(self._queue.popleft())

    def _wake(self, threads: int) -> None:
        """Wake up to `threads` idle threads, but no more than there are tasks."""
        for _ in range(min(threads, len(self._queue))):
            try:
                bell = self._parked.popleft()
            except IndexError:
                return
            bell.put(True)

    def count_late(self) -> None:
        """Count the late runs without an event."""
        late = self._late[:]
        del self._late[: len(late)]
        events.count("late", len(late), max(late))

    def ended(self, runs: Sequence[LaneRun]) -> None:
        """Note that these runs have ended."""
        self.held.difference_update(runs)
        took = min([run.took_ms for run in runs]) / 1000
        self._mean += (took - self._mean) / (8 if took > self._mean else 2) if self._mean else took
        self._moved_at = self._ended_at = time.monotonic()
        self._read_ahead.note(len(runs), self._moved_at)

    def look(self, now: float, is_due: Callable[[], bool]) -> Collection[Task]:
        """Look once a second for tasks that do not move. Take back tasks that have waited too long behind runs that are
        longer than the earlier ones.
        """
        if now >= self.look_at:
            self.look_at = now + LOOK
            self._look_for_stalls(now, is_due)
        if not self._queue:
            return ()
        self._wake(self.threads)
        return () if now - self._moved_at < PATIENCE else self.take_back()

    def _look_for_stalls(self, now: float, is_due: Callable[[], bool]) -> None:
        lookups = self._lookups.copy()
        begun = [task.started for task in self.held if isinstance(task, LaneRun) and task.started]
        busy, latest = len(begun) + len(lookups), max([*begun, self._ended_at])
        free = self.threads - busy if len(self.held) > busy or is_due() else 0
        self._stalls.look(now, lookups=lookups, free=free, latest=latest, event_loop=self.executor.event_loop)

    def take_back(self, which: Callable[[Task], bool] | None = None) -> list[Task]:
        """Take back tasks that no thread has begun."""
        waiting: list[Task] = []
        while self._queue:
            try:
                waiting.append(self._queue.popleft())
            except IndexError:  # a thread has begun it
                break
        waiting += self._pending
        taken = waiting if which is None else [task for task in waiting if which(task)]
        self.held.difference_update(taken)
        self._pending = [task for task in waiting if task in self.held]
        return taken

    def close(self) -> None:
        """Let each thread end after its current task, send the last pings, and stop the event loop."""
        for bell in self._bells:
            bell.put(False)
        self.executor.close()
        if self._pings is not None:
            self._pings.close()


def _fail(task: Task, error: BaseException) -> None:
    """Store the error of a task that raised: a run has failed, or a function cannot run here."""
    if isinstance(task, LaneRun):
        task.error, task.failure = error, failure_of(error)
        return
    name, trouble = brief(task.claim.fn), described(error)
    task.error = FunctionNotFound(f"cannot run {name}: {trouble}", where=name, trouble=trouble)


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


class Stalls:
    """The search for stalls: an endless lookup, due work that no thread begins, a blocked or dead event loop. `/readyz`
    shows them. Only the loop's thread uses it; `trouble` is thread-safe. Times are `time.monotonic()` seconds.
    """

    def __init__(self, *, seconds: float) -> None:
        self.trouble: str | None = None  # in words
        self._patience = seconds
        self._looked_at = math.inf
        self._looking: dict[LookUp, float] = {}  # seconds since it began
        self._latest = 0.0  # when a run last began or ended
        self._idle = 0.0  # seconds in which threads were free, work was due, and none began
        self._ticks: int | None = None
        self._silent = 0.0  # seconds in which the event loop did not tick

    def look(self, now: float, *, lookups: Collection[LookUp], free: int, latest: float, event_loop: EventLoop) -> None:
        """Check all parts: `lookups` that threads have begun; the number of threads that are `free` for due work; the
        `latest` time when a run began or ended; and the event loop.
        """
        passed = max(0.0, min(now - self._looked_at, MOST_PASSED))
        self._looked_at = now
        stuck = self._lookups(lookups, passed)
        unbegun = self._unbegun(free, latest, passed)
        silent = self._event_loop(event_loop, passed) if event_loop.has_begun else None
        self.trouble = stuck or unbegun or silent

    def _lookups(self, lookups: Collection[LookUp], passed: float) -> str | None:
        before = self._looking
        self._looking = {task: before[task] + passed if task in before else 0.0 for task in lookups}
        stuck = [task for task, seconds in self._looking.items() if seconds >= self._patience]
        if not stuck:
            return None
        longest = max(stuck, key=self._looking.__getitem__)
        name = read_name(longest.claim.fn)
        what = brief(longest.claim.fn if name is None else name.space)
        who = "1 thread has" if len(stuck) == 1 else f"{len(stuck)} threads have"
        return f"{who} been importing {what} for {self._looking[longest]:.0f} s"

    def _unbegun(self, free: int, latest: float, passed: float) -> str | None:
        self._idle = self._idle + passed if free > 0 and latest <= self._latest else 0.0
        self._latest = max(self._latest, latest)
        if self._idle < self._patience:
            return None
        who = "1 thread is" if free == 1 else f"{free} threads are"
        return f"work is due and {who} free, but none has begun any for {self._idle:.0f} s"

    def _event_loop(self, event_loop: EventLoop, passed: float) -> str | None:
        ticks = event_loop.ticks
        self._silent = self._silent + passed if ticks is not None and ticks == self._ticks else 0.0
        self._ticks = ticks
        if lost := event_loop.lost:
            return f"the event loop of coroutines has died: {lost}. The next coroutine starts another."
        trouble = f"the event loop of coroutines has not answered for {self._silent:.0f} s: a handler blocks it"
        if self._silent >= max(SOON, self._patience / 6) and not event_loop.is_silent:  # half of `listener_timeout`
            event_loop.give_back()
            events.emit("stuck", reason=f"{trouble}. Coroutines that have not begun go back, until it answers.")
        return trouble if self._silent >= self._patience else None
