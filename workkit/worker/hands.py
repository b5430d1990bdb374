"""The threads of a listener, and the tasks they hold: runs and lookups. A task that no thread has begun can be taken
back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from workkit import events, tracing
from workkit.clocks import time
from workkit.contract.claim import Claim
from workkit.errors import CannotRun, FunctionNotFound, described
from workkit.jobs.admission import Admission, Control
from workkit.jobs.functions.registry import MOST_NAMES
from workkit.jobs.names import brief
from workkit.jobs.run_options import RunOptions
from workkit.worker import report
from workkit.worker.executor import Executor
from workkit.worker.lane import Lane, LaneRun, LookUp, Task
from workkit.worker.monitoring.pings import Pings
from workkit.worker.read_ahead import ReadAhead
from workkit.worker.run import forks
from workkit.worker.run.attempt import Attempt
from workkit.worker.run.ending import failure_of
from workkit.worker.thread_pool import ThreadPool

PATIENCE = 0.05  # seconds without an ending after which waiting claims go back to the server
WAKE = 0.001  # seconds of work that justify waking another thread


Posted = Attempt[LaneRun] | LookUp


class Hands:
    """The threads of one listener. Everything except `_do` is for the loop's thread. With 0 threads, `do_here` does the
    work.
    """

    state = "listening"  # of the listener, as others see it
    runs_code = True  # which can kill the process
    stopping = False  # set once nothing new is taken

    def __init__(self, threads: int, *, executor: Executor, post: Callable[[Posted], None]) -> None:
        self.threads, self.executor = threads, executor
        self.runs: set[LaneRun] = set()  # handed over, begun or not
        self.looking_up = 0
        self.lookups: set[LookUp] = set()  # those that a thread has begun
        self._post = post
        self._born = forks.count
        self._pool: ThreadPool[Task] = ThreadPool(threads, self._do)
        self._pending: list[Task] = []
        self._read_ahead = ReadAhead(threads)
        self._ended_at = 0.0
        self._moved_at = 0.0  # when work came to an empty queue, or something ended
        self._mean = 0.0  # recent mean duration of short runs, in seconds
        self.pings: Pings | None = None  # None: no monitor is told
        self._tells_start = self._tells_late = self._traces = False  # asked once for all tasks of a `flush`
        self._late: list[int] = []  # how many ms late: of runs that began late, and have no event
        self.free: set[str] = set()  # names of functions that can be run, and have neither limit nor rate

    def _do(self, task: Task) -> None:
        """Do a task, in a thread of the pool, and post its result. Never raises: it would end the thread, and lose the
        task.
        """
        posted: Posted
        try:
            if isinstance(task, LookUp):
                posted = self._looked_up(task)
            else:
                claim, ahead_ms = task.claim, task.lane.ahead_ms
                now_ms = task.lane.now_ms() if ahead_ms is None else round(time.monotonic() * 1000 + ahead_ms)
                if (late_ms := now_ms - (claim.due_ms if claim.waited is None else claim.asked_ms)) > 0:
                    task.late_ms = late_ms
                    if late_ms >= report.LATE_MS and not claim.attempt:
                        if self._tells_late:
                            report.late(task)
                        else:
                            self._late.append(late_ms)
                if self._tells_start:
                    report.started(task)
                if self.pings is not None and claim.standing is not None:
                    self.pings.put(claim, "start")
                # fault: starting
                span = report.span(task) if self._traces else None
                posted = self.executor.run(task)
                # fault: returned
                if span is not None:
                    span.end(posted.error)
        except BaseException as error:
            posted = _failed(task, error)
        if forks.count != self._born:
            forks.leave()
        self._post(posted)

    def _looked_up(self, task: LookUp) -> LookUp:
        self.lookups.add(task)
        try:
            return replace(task, error=self.refusal(task.claim))
        finally:
            self.lookups.discard(task)

    def prepare(self) -> None:
        """Import what may run. Raises InvalidFunction."""
        self.executor.registry.load()

    def announce(self, text: str) -> None:
        """Emit what may run: `text` words it."""
        events.emit("may_run", text=text)

    def trouble(self) -> str | None:
        """Word why these hands do nothing right now, or None. From any thread."""
        return None

    def start(self) -> None:
        """Start the threads."""
        self._pool.start()

    @property
    def busy(self) -> int:
        """How many claims are in these hands."""
        return len(self.runs) + self.looking_up

    @property
    def idle(self) -> int:
        """How many threads have nothing to do."""
        return self.threads - self.busy

    @property
    def unbegun(self) -> int:
        """How many claims no thread has begun."""
        return self._pool.unbegun + len(self._pending)

    def room(self, *, is_asked: bool) -> int:
        """Count how many more claims are useful: one per idle thread, and while runs are short as many as will begin
        within `read_ahead.AHEAD`. 0 while half of these are still held, unless a request goes out anyway (`is_asked`).
        """
        busy = self.busy
        most = self.threads + self._read_ahead.ahead(time.monotonic(), idle=not busy)
        return max(0, most - busy) if is_asked or busy < self.threads or busy <= most // 2 else 0

    def knows(self, claim: Claim) -> bool:
        """Whether `refusal` answers at once."""
        return self.executor.registry.knows(claim.fn)

    def refusal(self, claim: Claim) -> CannotRun | None:
        """Why the function of a claim cannot be run here, or None."""
        return self.executor.refusal(claim.fn)

    def admission(self, claim: Claim, control: Control) -> Admission | None:
        """Return what a claim needs before its start. Its function is known and can be run."""
        wanted = self.executor.admission(claim, control)
        if wanted is None and not (self.executor.event_loop.was_silent and self.executor.event_loop.is_silent):
            if len(self.free) >= MOST_NAMES:
                self.free.clear()
            self.free.add(claim.fn)
        return wanted

    def options(self, claim: Claim) -> RunOptions:
        """Return the options of a claim's run, with those of its function as far as it is known here."""
        registry = self.executor.registry
        if not registry.knows(claim.fn) or registry.refusal(claim.fn) is not None:
            return claim.options
        return claim.options.over(registry.handler(claim.fn)[1])

    def execute(self, lane: Lane, claims: Sequence[Claim]) -> None:
        """Make threads run them, after the next `flush`; their Attempts are posted."""
        runs = [LaneRun(claim, lane) for claim in claims]
        self.runs.update(runs)
        self._pending += runs

    def look_up(self, lane: Lane, claim: Claim) -> None:
        """Make a thread look its function up, after the next `flush`; a LookUp is posted."""
        self.looking_up += 1
        self._pending.append(LookUp(lane, claim))

    def looked_up(self) -> None:
        """Note that a lookup has ended."""
        self.looking_up -= 1

    def do_here(self) -> None:
        """Do every waiting task in the calling thread."""
        self.flush()
        for task in self._pool.withdraw():
            self._do(task)

    def flush(self) -> None:
        """Submit the new tasks to the threads, and wake as many threads as the work is worth."""
        if self._late:
            self.count_late()
        if self._pending:
            now = time.monotonic()
            self._tells_start, self._tells_late = events.wanted("started"), events.wanted("late")
            self._traces = tracing.opentelemetry() is not None
            for lane in {task.lane for task in self._pending}:
                lane.estimate_clock(now)
            if len(self._pending) == self.busy:
                self._read_ahead.begin(now)
            if not self._pool.unbegun:
                self._moved_at = now
            self._pool.submit(self._pending)
            self._pending = []
        if unbegun := self._pool.unbegun:
            worth = self.threads if not self._mean else math.ceil(unbegun * self._mean / WAKE)
            self._pool.wake(max(1, worth))

    def count_late(self) -> None:
        """Count the late runs that no event tells."""
        late = self._late[:]
        del self._late[: len(late)]
        events.count("late", len(late), max(late))

    def ended(self, attempts: Sequence[Attempt[LaneRun]]) -> None:
        """Note that these runs have ended."""
        self.runs.difference_update([attempt.run for attempt in attempts])
        took = min([attempt.took_ms for attempt in attempts]) / 1000
        self._mean += (took - self._mean) / (8 if took > self._mean else 2) if self._mean else took
        self._moved_at = self._ended_at = time.monotonic()
        self._read_ahead.note(len(attempts), self._moved_at)

    def progress(self) -> tuple[int, int, float]:
        """How many claims wait for a thread, how many threads are free, and when a run last began or ended."""
        started = [run.started for run in self.runs if run.started]
        waiting = self.busy - len(started) - len(self.lookups)
        return waiting, self.threads - len(started) - len(self.lookups), max(*started, self._ended_at, 0.0)

    @property
    def looks_at(self) -> float:
        """When to look after work that waits for a thread; infinite where none does. `time.monotonic()` seconds."""
        return time.monotonic() + 2 * WAKE if self._pool.unbegun else math.inf

    def overdue(self) -> Iterable[Task]:
        """Take back the tasks that have waited too long, behind runs that take longer than the ones before."""
        if not self._pool.unbegun:
            return ()
        self._pool.wake(self.threads)
        if time.monotonic() - self._moved_at < PATIENCE:
            return ()
        return self.taken_back(lambda _: True)

    def taken_back(self, which: Callable[[Task], bool]) -> list[Task]:
        """Take back tasks that no thread has begun."""
        waiting = self._pool.withdraw() + self._pending
        taken = [task for task in waiting if which(task)]
        self._pending = [task for task in waiting if not which(task)] if len(taken) < len(waiting) else []
        for task in taken:
            if isinstance(task, LaneRun):
                self.runs.discard(task)
            else:
                self.looking_up -= 1
        return taken

    def close(self) -> None:
        """Let the threads end, and stop the event loop."""
        self._pool.close()
        self.executor.close()


def _failed(task: Task, error: BaseException) -> Posted:
    """Word the result of a task that raised: a run has failed, a function cannot be run here."""
    if isinstance(task, LaneRun):
        return Attempt(task, error, failure_of(error))
    name, trouble = brief(task.claim.fn), described(error)
    return replace(task, error=FunctionNotFound(f"cannot run {name}: {trouble}", where=name, trouble=trouble))
