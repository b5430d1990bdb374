"""The outcome of a run, as a value. One pure function decides it; a broker applies it in one atomic step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Literal

from workkit.errors import CannotRun, Discard, InvalidArguments, JobCancelled, Retry, TriggerError, WorkerLost
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The record of an exception: type name, one line, ``file.py:31`` of the handler's innermost frame, traceback
    (the handler's frames only, at most 8 kB). `log`: the last lines that the run logged, on their way to the server.
    """

    type: str
    message: str
    where: str | None = None
    traceback: str = field(default="", repr=False)
    log: str = field(default="", repr=False, compare=False)

    __repr__ = brief_repr

    @property
    def line(self) -> str:
        """The failure in one line: ``OSError: disk full (export.py:31)``."""
        text = f"{self.type}: {self.message}" if self.message else self.type
        return f"{text} ({self.where})" if self.where else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The measurements of a run by its listener, in ms: the lateness of its start, and the duration of its handler."""

    late_ms: int
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The result that is kept of an ending, for `ms`: a value as JSON, or the reason why there is none."""

    ms: int
    kind: str
    text: bytes = b""
    failure: Failure | None = None

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run has ended and counts as done. `discarded`: the reason of a `Discard`. `kept`: its result, if any.
    `expired`: it did not start in time.
    """

    discarded: str | None = None
    expired: bool = False
    ran: Ran | None = field(default=None, repr=False, compare=False)
    kept: Kept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Run this occurrence again after `delay_ms`, as attempt number `attempt` (from 0). `progress`: its progress while
    it waits, as JSON.
    """

    delay_ms: int
    attempt: int
    failure: Failure | None = None
    ran: Ran | None = field(default=None, repr=False, compare=False)
    progress: str | None = field(default=None, repr=False, compare=False)

    @property
    def is_wait(self) -> bool:
        """Whether the run asked to wait: a `Retry` with a pause."""
        return self.failure is None and self.delay_ms > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """The occurrence failed for good, or its record is not usable; it goes to the dead set."""

    failure: Failure
    reason: str = "failed"
    ran: Ran | None = field(default=None, repr=False, compare=False)
    kept: Kept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The listener releases the job, and no attempt is spent. `unknown`: this listener cannot run it and must not get
    it again. `unfit_ms`: its arguments do not fit here. A layout that supports this offers the job to other listeners
    at once, and to this one again after `unfit_ms`; any other layout puts it off by `delay_ms`.
    """

    delay_ms: int = 0
    unknown: bool = False
    unfit_ms: int = 0


class NotBegun(CannotRun):
    """The handler was not called, because something that it needs is missing now. The listener releases the job and
    tries it again soon. Without `where` the error was already reported.
    """


DONE = Done()  # the usual one
Outcome = Done | Again | Dead | Released


def measured(outcome: Outcome, ran: Ran) -> Outcome:
    """Return the outcome with the measurements of its run; a release has none."""
    return outcome if isinstance(outcome, Released) else replace(outcome, ran=ran)


def decide(
    error: BaseException | None,
    failure: Failure | None,
    *,
    attempt: int,
    options: RunOptions = UNSAID,
    cancelled: bool = False,
    chance: float = 0.0,
    waits: int = 0,
) -> Outcome:
    """Return the outcome of a run that ended with `error` (None: it returned), as attempt number `attempt` (from 0).
    `waits`: how many earlier attempts asked to wait; they spend none of `retries`.

    `Retry` and `Discard` are answers of the handler. A Retry is honoured until `retries` is used up, or always if
    `retries` is not set. Other errors are retried while attempts are left, if they are among `retry_on` (any error if
    it is not set). Errors among `discard_on` end the run without a record. The listener releases a function that it
    cannot run, for other listeners (spec/layouts/native.md). With `crashes` 0 neither that nor a lost worker process
    begins the run again. A `cancelled` run has ended, also if it raised another error. Arguments that do not fit are
    not retried. In all other cases the occurrence ends in the dead set. `chance` (0 to 1) is the jitter of the
    back-off.
    """
    if error is None:
        return DONE
    kept = failure or Failure(type=type(error).__name__, message=str(error))
    failures = attempt - waits
    tries_left = options.retries is None or failures < options.retries
    match error:
        case Discard(reason=reason):
            return Done(discarded=reason)
        case JobCancelled():
            return Done(discarded="cancelled")
        case CannotRun() if options.crashes != 0:
            return Released(unknown=True)
        case _ if cancelled:
            return Done(discarded="cancelled" if isinstance(error, Retry) else f"cancelled, {kept.line}")
        case Retry(after=after) if tries_left:
            try:
                return Again(delay_ms=after_ms(after), attempt=attempt + 1)
            except TriggerError as wrong:
                return Dead(failure=Failure(type="Retry", message=str(wrong), where=kept.where))
        case _ if options.discard_on and isinstance(error, options.discard_on):
            return Done(discarded=kept.line)
        case InvalidArguments():
            pass  # a retry of a call that does not fit cannot help
        case WorkerLost() if options.crashes == 0:
            pass  # the run was cut off
        case _ if options.retries and tries_left and not isinstance(error, Retry):
            if options.retry_on is None or isinstance(error, options.retry_on):
                delay = options.delay_ms(failures, chance=chance)
                return Again(delay_ms=delay, attempt=attempt + 1, failure=kept)
    return Dead(failure=kept)


def after_ms(after: str | timedelta) -> int:
    """Return the pause that a Retry asks for, in ms. Raises TriggerError."""
    from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

    return round(duration(after, name="after") / timedelta(milliseconds=1))


ResultKind = Literal["value", "failed", "discarded", "cancelled", "unkept"]
"""The kind of a result. Only `value` has a value. `unkept`: the run is done, but its value could not be kept."""


def with_result(outcome: Outcome, options: RunOptions, returned: Kept | None = None) -> Outcome:
    """Return an outcome with its kept result. `returned`: the kept value of a run that is done."""
    if options.keep_ms is None:
        return outcome
    match outcome:
        case Done(discarded=None):
            return outcome if returned is None else replace(outcome, kept=returned)
        case Done(discarded=reason):
            return replace(outcome, kept=_without_value(options.keep_ms, reason or ""))
        case Dead(failure=failure):
            return replace(outcome, kept=Kept(ms=options.keep_ms, kind="failed", failure=failure))
    return outcome


CANCELLED: Final = "cancelled"  # the reason of a discarded run begins so if the run was cancelled


def of_cancelled(ms: int, message: str) -> Kept:
    """Make the result of a job that is cancelled before it begins, kept for `ms`."""
    return Kept(ms=ms, kind="cancelled", failure=Failure(type="JobCancelled", message=message))


def _without_value(ms: int, reason: str) -> Kept:
    if reason.startswith(CANCELLED):
        return of_cancelled(ms, reason)
    return Kept(ms=ms, kind="discarded", failure=Failure(type="Discard", message=reason))
