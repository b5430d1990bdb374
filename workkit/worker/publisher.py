"""The runner of a forwarder: instead of threads, it publishes claims to another schedule, many in one request."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.contract.broker import Producer
from workkit.contract.listener import Claim
from workkit.contract.producer import Added, NewJob
from workkit.errors import (
    InvalidArguments,
    JobCancelled,
    ServerError,
    ServerFull,
    ServerRefused,
    Unsupported,
    WorkkitError,
    text_of,
)
from workkit.jobs.admission import Admission, Control
from workkit.jobs.names import brief, shown
from workkit.jobs.outcome import Failure
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, Terms
from workkit.tracing import TraceContext
from workkit.triggers.trigger import once
from workkit.worker import report
from workkit.worker.lane import Inbox, LaneRun, Task
from workkit.worker.router import Opened
from workkit.worker.run.call import failure_of

AT_ONCE = 500  # jobs in one request, and held here
BACKOFF = 0.05, 5.0  # seconds: the first and the longest pause between tries while the other server takes nothing
TRIES = 5  # of a job that the other server refuses for now although it takes others

Pair = tuple[LaneRun, NewJob]


class Publisher:
    """A `Runner` with one thread that publishes. A claim has ended when the other side has acknowledged it.

    While the other server is away or full, the claims stay here, and are retried; between two tries they can be taken
    back. A job that the other layout refuses fails with that error. Only the loop's thread may call these methods,
    except `_serve`.
    """

    threads = AT_ONCE
    opens_at, awaited = math.inf, 0
    look_at = math.inf  # no look is needed: no claim waits for a thread, and no code can block this process
    unbegun = 0
    runs_code = is_silent = is_blocked = False

    def __init__(self, to: Producer, *, inbox: Inbox[Any], is_drain: bool = False) -> None:
        """`is_drain`: there is no thread. `flush` publishes, and raises ServerError if the other server takes
        nothing.
        """
        self.held: set[Task] = set()
        self._to, self._post = to, inbox.put
        self._is_drain = is_drain
        self._news = threading.Condition()
        self._pending: list[LaneRun] = []  # until the next `flush`
        self._waiting: list[LaneRun] = []  # for the next request
        self._trying: set[LaneRun] = set()  # of the requests that are under way, until each has ended
        self._is_sending = False
        self._is_over = False
        self._lost_at: float | None = None

    # Requests of the loop.

    @property
    def trouble(self) -> str | None:
        """Return in words why nothing is published now; None if it is. Thread-safe."""
        return None if self._lost_at is None else f"without {self._to.url}"

    @property
    def idle(self) -> int:
        """The number of claims that could be published at once."""
        return self.threads - len(self.held)

    def offer_again(self) -> None:
        """Do nothing: no task was passed by."""

    def open(self) -> Opened:
        """Check that the other server answers, and start the thread. Raises ServerUnreachable, ServerRefused."""
        self._to.adding([])()
        if not self._is_drain:
            threading.Thread(target=self._serve, name="workkit-forward", daemon=True).start()
        fields = {"to": self._to.schedule, "url": self._to.url}
        return Opened("forwarding", Registry().serves(), "forwarding", fields)

    def room(self, *, is_asked: bool) -> int:
        """Return how many more claims are useful. It is one while the other server takes nothing; that one shows when
        the server takes claims again.
        """
        return max(0, (1 if self._lost_at is not None else self.threads) - len(self.held))

    def needs(self, claim: Claim, control: Control) -> Admission | None:
        """Return the needs of a claim before it is published, by its job and its schedule. Its function need not exist
        here.
        """
        return None if claim.trouble else claim.admission(UNSAID, control)

    def options(self, claim: Claim) -> RunOptions:
        """Return the options of its job, without those of its function, which is not known here."""
        return claim.options

    def submit(self, tasks: Sequence[Task]) -> None:
        """Publish these claims, after the next `flush`."""
        self.held.update(tasks)
        self._pending += [task for task in tasks if isinstance(task, LaneRun)]

    def flush(self) -> None:
        """Put the new claims into the next request."""
        if self._pending:
            with self._news:
                self._waiting += self._pending
                self._pending = []
                self._news.notify()
            while self._is_drain and (batch := self._take()):
                self._publish(batch)

    def ended(self, runs: Sequence[LaneRun]) -> None:
        """Forget claims that have ended."""
        self.held.difference_update(runs)

    def look(self, now: float, is_due: Callable[[], bool]) -> tuple[()]:
        """Return no task: see `look_at`."""
        return ()

    def take_back(self, which: Callable[[Task], bool] | None = None) -> list[Task]:
        """Take back claims that are in no request now."""
        with self._news:
            tried = () if self._is_sending else tuple(self._trying)
            waiting = (*self._pending, *self._waiting, *tried)
            taken: list[Task] = [run for run in waiting if which is None or which(run)]
            self.held.difference_update(taken)
            self._pending = [run for run in self._pending if run in self.held]
            self._waiting = [run for run in self._waiting if run in self.held]
            self._trying.difference_update(run for run in waiting if run not in self.held)
            self._news.notify()
        return taken

    def close(self) -> None:
        """End the thread after its current request, and close the other side."""
        with self._news:
            self._is_over = True
            self._news.notify()
        self._to.close()

    # The thread.

    def _serve(self) -> None:
        while True:
            with self._news:
                while not (self._waiting or self._is_over):
                    self._news.wait()
            if self._is_over:
                return
            try:
                self._publish(self._take())
            except BaseException as error:  # a bug here: it ends the listener, not only this thread
                self._fail(error)
                return

    def _take(self) -> list[LaneRun]:
        with self._news:
            batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            self._trying, self._is_sending = set(batch), True
        return batch

    def _publish(self, batch: Sequence[LaneRun]) -> None:
        """Publish claims and post the ending of each. Never raises in the thread, because the claims would be lost."""
        pairs: list[Pair] = []
        traces = _traces(batch)
        for run in batch:
            run.started = time.monotonic()
            run.late_ms = max(0, run.lane.now_ms() - run.claim.due_ms)
            if run.late_ms >= report.LATE_MS and not run.claim.attempt:
                report.late(run)
            if events.wanted("started"):
                report.started(run)
            try:
                pairs.append((run, publication(run.claim, schedule=run.schedule, trace=traces.get(run))))
            except Exception as error:
                self._end(run, error)
        try:
            self._send(pairs)
        finally:
            with self._news:
                self._is_sending = False

    def _send(self, pairs: list[Pair]) -> None:
        """Publish in one request, with retries. If the other layout refuses the request, halve it until the refused job
        is alone.

        A layout that adds jobs one by one reports its progress: claims that it has taken or refused end at once.
        """
        answer: Callable[[], list[Added]] | None = None
        pause, tries = BACKOFF[0], 0
        while pairs and not self._is_over:
            try:
                if answer is None:
                    if not (pairs := self._still_wanted(pairs)):
                        return
                    answer = self._to.adding([new for _, new in pairs])
                answer()
                break
            except ServerError as error:
                tries += bool(error.refused)
                self._end_known(pairs, error, is_last=tries >= TRIES or self._is_drain)
                left = [pair for pair in pairs if pair[0] in self._trying]
                if not left:
                    self._back()
                    return
                if self._is_drain or (isinstance(error, ServerRefused) and error.lasting):
                    self._fail(error)
                    return
                if error.unanswered or not error.refused:
                    self._lost(error, held=len(left))
                kept = self._pause(left, pause)
                if len(kept) < len(left) or not error.unanswered:
                    answer, pairs = None, kept  # a new request; the old one is repeated only if its reply is missing
                pause = min(2 * pause, BACKOFF[1])
            except Exception as error:
                if len(pairs) == 1:
                    self._end(pairs[0][0], error)
                    return
                half = len(pairs) // 2
                self._send(pairs[:half])
                self._send(pairs[half:])
                return
        else:
            return  # none is left, or this listener has ended
        self._back()
        for run, _ in pairs:
            if run in self._trying:
                self._end(run, None)

    def _end_known(self, pairs: Sequence[Pair], error: ServerError, *, is_last: bool) -> None:
        """End the claims with jobs that are added or refused according to the error. Retry a job that the other server
        may take later, unless this was the last try.
        """
        for place in error.added or ():
            if (run := pairs[place][0]) in self._trying:
                self._end(run, None)
        for place, refusal in error.refused.items():
            if (run := pairs[place][0]) in self._trying and (is_last or not isinstance(refusal, ServerFull)):
                self._end(run, refusal)

    def _still_wanted(self, pairs: Sequence[Pair]) -> list[Pair]:
        """End the claims of cancelled jobs. Return the others, without those that were taken back."""
        for run, _ in pairs:
            if run.cancelled and run in self._trying:
                self._end(run, JobCancelled(f"job {run.claim.id} was cancelled", given=run.claim.id))
        return [pair for pair in pairs if pair[0] in self._trying]

    def _end(self, run: LaneRun, error: Exception | None) -> None:
        with self._news:
            self._trying.discard(run)
        run.took_ms = (time.monotonic() - run.started) * 1000
        if error is not None:
            run.error, run.failure = error, _failure(error, run)
        self._post(run)

    def _pause(self, pairs: Sequence[Pair], seconds: float) -> list[Pair]:
        """Wait for the next try, and return the claims that were not taken back during the wait."""
        self._post(_look)
        until = time.monotonic() + seconds * random.uniform(0.5, 1.0)
        with self._news:
            self._is_sending = False
            while not self._is_over and self._trying and (left := until - time.monotonic()) > 0:
                self._news.wait(left)
            self._is_sending = True
        return [pair for pair in pairs if pair[0] in self._trying]

    def _fail(self, error: BaseException) -> None:
        """Raise in the loop an error that no further try can solve."""
        if self._is_drain:
            raise error

        def fail() -> None:
            raise error

        self._post(fail)

    def _lost(self, error: ServerError, *, held: int) -> None:
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            reason = error.trouble or str(error)
            events.emit("lost", self._to.schedule, url=self._to.url, reason=reason, running=held)

    def _back(self) -> None:
        if self._lost_at is not None and not self._is_over:
            after_ms = round((time.monotonic() - self._lost_at) * 1000)
            self._lost_at = None
            self._post(_look)
            events.emit("back", self._to.schedule, url=self._to.url, after_ms=after_ms)


def publication(claim: Claim, *, schedule: str, trace: TraceContext | None = None) -> NewJob:
    """Make the job for one occurrence of `schedule` elsewhere: the same function, arguments and options.

    `trace`: the context of the addition here; the run elsewhere is linked to it. Leaves out the time, the name and the
    allowed lateness, because this side has honoured them. Raises Unsupported for `overlap` and for jobs of groups,
    because this side cannot see how long a run elsewhere takes.
    """
    terms = claim.terms
    if terms.overlap is not None:
        trouble = "cannot be kept by a forward, which does not see how long a run takes elsewhere"
        remedy = "Leave it out, or give the job a unique_key=."
        raise Unsupported.about(f'overlap="{terms.overlap}" of {brief(shown(claim.fn))}', trouble, remedy)
    if batch := terms.batch or terms.then_of or terms.after:
        named = f'the batch "{batch}"' if terms.after != batch else "after="
        trouble = "cannot be kept by a forward, which does not see when a run ends elsewhere"
        remedy = "Make the batch in the destination, or let listeners run these jobs."
        raise Unsupported.about(f"{named} of {brief(shown(claim.fn))}", trouble, remedy)
    passed = Terms(
        unique_key=terms.unique_key, unique_until=terms.unique_until, priority=terms.priority, tags=terms.tags
    )
    return NewJob(
        fn=claim.fn,
        args=tuple(claim.args),
        kwargs=claim.kwargs,
        trigger=once(datetime.fromtimestamp(claim.due_ms // 1000, UTC)),
        due_ms=None,
        options=claim.options,
        terms=PLAIN if passed == PLAIN else passed,
        identity=f"{schedule} {claim.occurrence}",
        trace=trace,
        meta=claim.meta,
    )


def _traces(batch: Sequence[LaneRun]) -> dict[LaneRun, TraceContext | None]:
    """Read the trace contexts of claims, in one request for each schedule. Claims of a lost server have none: a context
    is not worth a wait.
    """
    found: dict[LaneRun, TraceContext | None] = {}
    for lane in {run.lane for run in batch}:
        runs = [run for run in batch if run.lane is lane]
        with suppress(WorkkitError):
            found.update(zip(runs, lane.broker.traces_of([run.claim for run in runs]), strict=True))
    return found


def _failure(error: Exception, run: LaneRun) -> Failure:
    """Make the failure of a refused claim from the sentence of the refusal. Any other error is a bug here, and the
    failure has its place too. If the other side refuses the arguments, name the command that retries with others.
    """
    if isinstance(error, WorkkitError):
        message = text_of(error)
        if isinstance(error, InvalidArguments):
            message += f" Then publish it: workkit retry {run.schedule} {run.claim.id[:8]} --args JSON."
            if run.claim.recurs:
                message += " Its next runs have the same arguments: cancel it, and add it with others."
        return Failure(type=type(error).__name__, message=message)
    return failure_of(error)


def _look() -> None:
    """Make the loop check the tasks that it holds."""
