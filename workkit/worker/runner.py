"""The threads of a listener, the tasks that they hold, and the amount of work to claim for them."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Literal

from workkit import events, tracing
from workkit.clocks import time
from workkit.contract.listener import Claim
from workkit.errors import CannotRun, FunctionNotFound, described
from workkit.jobs.admission import Admission, Control
from workkit.jobs.consumers import coroutine_names
from workkit.jobs.names import brief
from workkit.jobs.outcome import NotBegun
from workkit.jobs.run_options import RunOptions
from workkit.worker import report
from workkit.worker.counting import PATIENCE, Room, Rooms
from workkit.worker.executor import Executor
from workkit.worker.health import Stalls
from workkit.worker.lane import Inbox, LaneRun, LookUp, Task
from workkit.worker.report import Pings
from workkit.worker.router import LOOK_UP, Opened
from workkit.worker.run import interruption
from workkit.worker.run.call import failure_of

WAKE = 0.001  # seconds of work that justify waking another thread
LOOK = 1.0  # seconds between looks for tasks that do not move


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
        coroutines: int = 1,
        passes: bool = True,
    ) -> None:
        """`may_run`: the functions that may run, in words. `patience`: seconds without a move that count as stuck.
        `coroutines`: how many of them run at once. `passes`: whether it may pass by jobs of a kind that is full.
        """
        self.threads, self.executor = threads, executor
        self.held: set[Task] = set()
        self.rooms = Rooms(threads)
        self.look_at = 0.0
        self._inbox, self._pings, self._may_run = inbox, pings, may_run  # pings may be None
        self._born = interruption.forks
        self._queue: deque[Task] = deque()
        self._parked: deque[SimpleQueue[bool]] = deque()
        self._bells: list[SimpleQueue[bool]] = [SimpleQueue() for _ in range(threads)]
        self._pending: list[Task] = []  # until the next `flush`
        self._coroutines: set[Task] = set()  # of the tasks that it holds
        self._waiting: deque[LaneRun] = deque()  # coroutines that wait for room
        self._most, self._passes = coroutines, passes
        self._lookups: set[LookUp] = set()  # those that a thread has begun
        self._stalls = Stalls(seconds=patience)
        self._ended_at = 0.0
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

    def _do(self, task: Task) -> Coroutine[Any, Any, None] | None:
        """Do a task, and post it. Never raises, because that would end the thread and lose the task. Of a coroutine on
        the event loop only return the rest.
        """
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
                if task.is_on_loop:
                    return self._finish(task, span)
                self.executor.run(task)
                # fault: returned
                if span is not None:
                    span.end(task.error)
        except BaseException as error:
            _fail(task, error)
        if interruption.forks != self._born:
            interruption.end_fork()
        if type(task) is LaneRun and task.is_on_loop:
            return None  # `_over` posts it
        inbox = self._inbox
        inbox.messages.append(task)  # copies `put`, to save a call for each run
        if not inbox.is_rung:
            inbox.ring()
        return None

    def _look_up(self, task: LookUp) -> None:
        self._lookups.add(task)
        try:
            task.error = self.executor.refusal(task.claim.fn)
            if task.error is None:
                self.executor.learn(task.claim.fn)
        finally:
            self._lookups.discard(task)

    async def _finish(self, task: LaneRun, span: tracing.RunSpan | None) -> None:
        await self.executor.run_on_loop(task)
        # fault: returned
        if span is not None:
            span.end(task.error)

    def _over(self, task: Any, error: BaseException | None) -> None:
        """Post a coroutine that has ended. `error`: it was lost with its loop, or has not begun."""
        if error is not None:
            self.executor.end_on_loop(task, error)
        self._inbox.put(task)

    # Requests of the loop.

    @property
    def unbegun(self) -> int:
        """The number of claims that wait for a thread, or for the room of a coroutine."""
        return len(self._queue) + len(self._pending) + len(self._waiting)

    @property
    def idle(self) -> int:
        """The number of claims that could begin at once."""
        if not self.executor.coroutines:
            return self.threads - len(self.held)
        return sum([max(0, room.size - room.held) for room in self._counted().open(time.monotonic())])

    @property
    def trouble(self) -> str | None:
        """Return in words the part that does not move: see `Stalls`. At most a second old."""
        return self._stalls.trouble

    @property
    def is_silent(self) -> bool:
        """Whether the event loop of coroutines does not answer."""
        return self.executor.event_loop.was_silent and self.executor.event_loop.is_silent

    @property
    def awaited(self) -> int:
        """The number of coroutines that it holds."""
        return len(self._coroutines)

    @property
    def opens_at(self) -> float:
        """The time when there may be room again though no task ends."""
        return self.rooms.opens_at if self.executor.coroutines else math.inf

    @property
    def is_blocked(self) -> bool:
        """Whether the event loop does not answer, or the kind of function that was passed by still has no room."""
        return self.is_silent or self._counted().is_full

    def open(self) -> Opened:
        """Import the modules of the functions, and start the threads. Raises InvalidFunction."""
        registry = self.executor.registry
        registry.load()
        for fn in coroutine_names(registry) if self.threads else ():
            with suppress(Exception):  # its first job says why it cannot run
                self.executor.learn(fn)
        for n, bell in enumerate(self._bells, 1):
            threading.Thread(target=self._serve, args=(bell,), name=f"workkit-{n}", daemon=True).start()
        return Opened("listening", self.executor.registry.serves(), "may_run", {"text": self._may_run})

    def _counted(self) -> Rooms:
        rooms = self.rooms
        rooms.coroutines.held = len(self._coroutines)
        rooms.plain.held = len(self.held) - rooms.coroutines.held
        if self.executor.coroutines and self.threads:
            rooms.coroutines.size = 0 if self.is_silent else self._most
        return rooms

    def room(self, *, is_asked: bool) -> int:
        """Return how many more claims are useful: see `Rooms.more`. `is_asked`: a request goes out anyway."""
        rooms = self._counted()
        return (rooms if rooms.coroutines.size else rooms.plain).more(time.monotonic(), is_asked=is_asked)

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
        """Make threads and the event loop do these tasks, after the next `flush`."""
        self.held.update(tasks)
        names = self.executor.coroutines
        if names and self.threads:
            ours = [task for task in tasks if type(task) is LaneRun and task.claim.fn in names]
            if ours:
                if not self._waiting:
                    self.rooms.coroutines.moved_at = time.monotonic()
                self._coroutines.update(ours)
                self._waiting += ours
                tasks = [task for task in tasks if task not in self._coroutines]
        self._pending += tasks

    def flush(self) -> None:
        """Pass the new tasks to the threads and the event loop, and wake as many threads as the work is worth."""
        if self._late:
            self.count_late()
        if self._waiting:
            free = self._counted().coroutines.size - len(self._coroutines) + len(self._waiting)
            if tasks := [self._waiting.popleft() for _ in range(min(free, len(self._waiting)))]:
                self._begins(
                    tasks, self.rooms.coroutines, is_first=len(tasks) + len(self._waiting) == len(self._coroutines)
                )
                for task in tasks:
                    self.executor.begin(task, self._do, self._over)
        if self._pending:
            plain = self._counted().plain
            now = self._begins(self._pending, plain, is_first=len(self._pending) == plain.held)
            if not self._queue:
                plain.moved_at = now
            self._queue.extend(self._pending)
            self._pending = []
        if self._queue:
            worth = self.threads if not self._mean else math.ceil(len(self._queue) * self._mean / WAKE)
            self._wake(max(1, worth))
            while self._queue and not self.threads:
                self._do(self._queue.popleft())

    def _begins(self, tasks: Sequence[Task], room: Room, *, is_first: bool) -> float:
        """Prepare the start of tasks, and return the time. `is_first`: no other task of their kind runs."""
        now = time.monotonic()
        self._tells_start, self._tells_late = events.wanted("started"), None
        if now >= self._trace_at:
            self._trace_at, self._traces = now + LOOK, tracing.opentelemetry() is not None
        for lane in {task.lane for task in tasks}:
            lane.estimate_clock(now)
        if is_first:
            room.read_ahead.begin(now)
        return now

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
        self._ended_at = now = time.monotonic()
        if self._coroutines and (ours := self._coroutines.intersection(runs)):
            self._coroutines -= ours
            self.rooms.coroutines.ended(len(ours), now)
            runs = [run for run in runs if run not in ours]
        if runs:
            took = min([run.took_ms for run in runs]) / 1000
            self._mean += (took - self._mean) / (8 if took > self._mean else 2) if self._mean else took
            self.rooms.plain.ended(len(runs), now)

    def look(self, now: float, is_due: Callable[[], bool]) -> Collection[Task]:
        """Look once a second for tasks that do not move. Take back tasks that have waited too long behind runs that are
        longer than the earlier ones, and mark those that this listener passes by: see `Rooms`.
        """
        if now >= self.look_at:
            self.look_at = now + LOOK
            self._look_for_stalls(now, is_due)
        if self._queue:
            self._wake(self.threads)
        taken: list[Task] = []
        rooms = self._counted()
        for room, queue in ((rooms.plain, self._queue), (rooms.coroutines, self._waiting)):
            if self._passes and rooms.passes(room, now):
                tasks = self._last(queue, room.held - room.size)
                for task in tasks:
                    task.error = NotBegun("all room for this kind of function is taken")
                taken += tasks
            elif queue and now - room.moved_at >= PATIENCE:
                taken += self._last(queue, len(queue))
        return taken

    def _last(self, queue: deque[Any], most: int) -> list[Task]:
        tasks: list[Task] = []
        with suppress(IndexError):  # a thread has begun the rest
            while len(tasks) < most:
                tasks.append(queue.pop())
        self.held.difference_update(tasks)
        self._coroutines.difference_update(tasks)
        return tasks

    def offer_again(self) -> None:
        """Note that the tasks which this listener has passed by are offered again."""
        self.rooms.rest(time.monotonic())

    def _look_for_stalls(self, now: float, is_due: Callable[[], bool]) -> None:
        lookups = self._lookups.copy()
        begun = [task.started for task in self.held if isinstance(task, LaneRun) and task.started]
        plain = self.held - self._coroutines
        busy = len([task for task in plain if isinstance(task, LaneRun) and task.started]) + len(lookups)
        latest = max([*begun, self._ended_at])
        free = self.threads - busy if len(plain) > busy or is_due() else 0
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
        taken = [task for task in (*waiting, *self._waiting) if which is None or which(task)]
        self.held.difference_update(taken)
        self._coroutines.difference_update(taken)
        self._pending = [task for task in waiting if task in self.held]
        self._waiting = deque(task for task in self._waiting if task in self.held)
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
