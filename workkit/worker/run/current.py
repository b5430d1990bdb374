"""`current_job()`: what a handler can know of its own run, and tell about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from workkit.contract.claim import Claim
from workkit.errors import InvalidArguments, JobCancelled
from workkit.jobs.job import Job
from workkit.triggers import Trigger
from workkit.worker.lane import Lane
from workkit.worker.run.interruption import Clock, Interruption
from workkit.worker.run.progress import Said

MOST_SAID = 1000  # characters of a check-in
MOST_DONE = 2**53  # the greatest whole number that every reader of JSON can tell
_NUMBERS = (int, float)  # looked at first, as others take longer


@dataclass(slots=True, kw_only=True)
class RunningJob:
    """The run that is going on: the job's fields, when it started and how late. Outside a run `id` is None, and the
    methods do nothing, so that a handler stays callable in a test.
    """

    id: str | None = None
    schedule: str | None = None
    name: str | None = None
    fn: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    trigger: Trigger | None = None
    due: datetime | None = None
    attempt: int = 0
    started: datetime | None = None
    lateness: timedelta = timedelta()
    cancelled: bool = False
    context: dict[str, Any] = field(default_factory=dict)
    _clock: Clock | None = field(default=None, repr=False)
    _say: Callable[[Said], None] | None = field(default=None, repr=False)

    def checkin(self, text: str) -> None:
        """Say how far it is, in at most 1,000 characters. Cheap enough for a loop: it is shown once a second at most.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(text) is not str:
            text = _text(text)
        if len(text) > MOST_SAID:
            raise InvalidArguments(
                f"a check-in of {len(text):,} characters is too long. Accepted: up to {MOST_SAID:,}.", given=text
            )
        if self._say is not None:
            self._say(text)

    def progress(self, done: float, total: float) -> None:
        """Say how far it is, in numbers; as cheap as `checkin`.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(done) not in _NUMBERS or type(total) not in _NUMBERS:
            done, total = _number(done), _number(total)
        if not (-MOST_DONE <= done <= MOST_DONE and -MOST_DONE <= total <= MOST_DONE):
            raise _wrong_number(done if not -MOST_DONE <= done <= MOST_DONE else total)
        if self._say is not None:
            self._say((done, total))

    def extend(self, time: str | timedelta) -> None:
        """Give this run so long from now before its timeout ends it; without a timeout nothing changes.

        Raises JobCancelled once the run was cancelled, TriggerError.
        """
        from workkit.triggers.duration import duration  # its grammar takes a while to import

        seconds = duration(time, name="time").total_seconds()
        if self.cancelled:
            raise self._cancellation()
        if self._clock is not None:
            self._clock.extend(seconds)

    def _cancellation(self) -> JobCancelled:
        return JobCancelled(f"job {self.id} was cancelled", given=self.id)


@dataclass(slots=True, eq=False)
class Run:
    """One claim in the hands of a thread. What `current_job()` shows is made only when asked for."""

    claim: Claim
    lane: Lane
    late_ms: int = 0
    started: float = 0.0
    cancelled: bool = False
    shown: RunningJob | None = None
    clock: Clock | None = None
    interruption: Interruption | None = None  # the clock, where there is one
    thread: int = 0  # the one that its handler is in; 0 before and after

    def show(self) -> RunningJob:
        """The run as its handler sees it, the same object every time."""
        if self.shown is None:
            job: Job = self.claim.job
            telling = self.lane.telling
            self.shown = RunningJob(
                id=job.id,
                schedule=job.schedule,
                name=job.name,
                fn=job.fn,
                args=job.args,
                kwargs=job.kwargs,
                trigger=job.trigger,
                due=job.due,
                attempt=job.attempt,
                started=datetime.fromtimestamp(time.time() - (time.monotonic() - self.started), UTC),
                lateness=timedelta(milliseconds=self.late_ms),
                _clock=self.clock,
                _say=None if telling is None else telling.words(self).say,
            )
        self.shown.cancelled = self.cancelled
        return self.shown

    def begin(self) -> None:
        """Its handler is about to be called, here; from now on until `end` it can be interrupted. Raises JobCancelled
        where it was cancelled before.
        """
        self.thread = threading.get_ident()
        if self.cancelled:
            raise JobCancelled(f"job {self.claim.id} was cancelled before it started", given=self.claim.id)

    def end(self) -> None:
        """Its handler has ended, and is not interrupted any more. See `Interruption.stop` for calling it again."""
        self.thread = 0
        if self.interruption is not None:
            self.interruption.stop()

    def interruptible(self) -> Interruption:
        """The way to interrupt it; made only for those that need it."""
        if self.interruption is None:
            with _making:
                if self.interruption is None:
                    self.interruption = Interruption(self.thread)
        return self.interruption

    def ask_to_stop(self) -> None:
        """Have its next check-in raise JobCancelled."""
        self.cancelled = True
        if self.shown is not None:
            self.shown.cancelled = True

    def cancel(self) -> None:
        """Have it end now: its handler is interrupted, or not even called. Harmless when repeated."""
        self.ask_to_stop()  # first: a handler that is being called right now either sees this, or is seen here
        if self.thread:
            interruption = self.interruptible()
            if self.thread:  # not over, or `end` comes across the interruption
                interruption.cancel()


_making = threading.Lock()  # two threads that make the same interruption

current: ContextVar[Run | None] = ContextVar("workkit_run", default=None)


def current_job() -> RunningJob:
    """The job that this code is running for, in its thread or coroutine; an inert one outside a run."""
    run = current.get()
    return RunningJob() if run is None else run.show()


def _number(given: object) -> float:
    """What counts as a number: whole ones and fractions of any library, and no truth values."""
    import numbers  # most handlers count in Python's own

    match given:
        case bool():
            raise _wrong_number(given)
        case numbers.Integral():
            return int(given)
        case numbers.Real():
            return float(given)
    raise _wrong_number(given)


def _wrong_number(given: object) -> InvalidArguments:
    kind = f"{given:.3g}" if type(given) is float else "a number so great" if type(given) is int else _kind(given)
    return InvalidArguments(
        f"progress cannot show {kind}. Give two numbers, as in progress(340, 1000); for words there is checkin.",
        given=given,
    )


def _text(given: object) -> str:
    if isinstance(given, str):
        return given
    raise InvalidArguments(
        f"checkin cannot show {_kind(given)}. Give a text; for numbers there is progress(done, total).", given=given
    )


def _kind(given: object) -> str:
    return f"a value of type {type(given).__name__}"
