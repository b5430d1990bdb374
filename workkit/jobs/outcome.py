"""What becomes of a run, as a value: decided by one pure function, applied elsewhere in one atomic step."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal

from workkit.errors import CannotRun, Discard, InvalidArguments, JobCancelled, Retry, TriggerError, WorkerLost
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception as it is kept: type name, one line, ``file.py:31`` of the handler's innermost frame, traceback
    (the handler's frames only, at most 8 kB). `log`: on its way to the server, the last lines that the run has logged.
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
    """What a listener measured of a run: how late it started, and how long its handler took, in ms."""

    late_ms: int
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What is kept of an ending, for `ms`: a value as JSON, or why there is none. See `workkit.jobs.outcome`."""

    ms: int
    kind: str
    text: bytes = b""
    failure: Failure | None = None

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run is over and counted; `discarded` carries the reason of a `Discard`. `kept`: its result, if any.
    `expired`: it was not started in time.
    """

    discarded: str | None = None
    expired: bool = False
    ran: Ran | None = field(default=None, repr=False, compare=False)
    kept: Kept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Run this occurrence again after `delay_ms`, as attempt number `attempt` (from 0). `progress`: what is shown of it
    while it waits, as JSON.
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
    """The occurrence failed for good, or its record cannot be used; a record of it is kept."""

    failure: Failure
    reason: str = "failed"
    ran: Ran | None = field(default=None, repr=False, compare=False)
    kept: Kept | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Given back with no attempt spent. `unknown`: this listener cannot run it and must not be offered it again.
    `unfit_ms`: its arguments do not fit here. A layout that can leaves it for others at once, and offers it here again
    after so long; any other one puts it off by `delay_ms`.
    """

    delay_ms: int = 0
    unknown: bool = False
    unfit_ms: int = 0


class NotBegun(CannotRun):
    """Its handler was not called, as what it needs is not there right now: the job goes back, and is tried again soon.
    Without `where` it was reported.
    """


DONE = Done()  # the usual one
Outcome = Done | Again | Dead | Released


def measured(outcome: Outcome, ran: Ran) -> Outcome:
    """Return the outcome with what was measured of its run; a release has none."""
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
    """What becomes of a run that ended with `error` (None: it returned), as attempt number `attempt` (from 0). `waits`
    of the attempts before it asked to wait, which spends none of `retries`.

    `Retry` and `Discard` are answers of the handler; a Retry is honoured until `retries` is used up, always if none
    was said. Other errors are tried again while attempts are left, if they are among `retry_on` (any, where none was
    said); those among `discard_on` end the run without a trace. A function that this listener cannot run is given back
    for others (spec/layouts/native.md). With `crashes` 0 neither that nor a lost worker process begins it again. A run
    that was `cancelled` is over, also if it raised another error. Arguments that do not fit are not tried again.
    Whatever is left ends the occurrence, and a record of it is kept. `chance` (0 to 1) is the jitter of the back-off.
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
            pass  # a call that does not fit never will
        case WorkerLost() if options.crashes == 0:
            pass  # the run was cut off
        case _ if options.retries and tries_left and not isinstance(error, Retry):
            if options.retry_on is None or isinstance(error, options.retry_on):
                delay = options.delay_ms(failures, chance=chance)
                return Again(delay_ms=delay, attempt=attempt + 1, failure=kept)
    return Dead(failure=kept)


def after_ms(after: str | timedelta) -> int:
    """The pause that a Retry asks for. Raises TriggerError."""
    from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

    return round(duration(after, name="after") / timedelta(milliseconds=1))


ResultKind = Literal["value", "failed", "discarded", "cancelled", "unkept"]
"""Why there is a value, or none. `unkept`: the run is done, and its value could not be kept."""


def with_result(outcome: Outcome, options: RunOptions, returned: Kept | None = None) -> Outcome:
    """Return an outcome with what is kept of it. `returned`: what is kept of the value of a run that is done."""
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


def of_cancelled(ms: int, message: str) -> Kept:
    """Make what is kept of a job that is cancelled before it begins."""
    return Kept(ms=ms, kind="cancelled", failure=Failure(type="JobCancelled", message=message))


def _without_value(ms: int, reason: str) -> Kept:
    if reason.startswith("cancelled"):
        return of_cancelled(ms, reason)
    return Kept(ms=ms, kind="discarded", failure=Failure(type="Discard", message=reason))
