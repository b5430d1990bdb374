"""What becomes of a run, as a value: decided by one pure function, applied elsewhere in one atomic step."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.errors import CannotRun, Discard, Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception as it is kept: type name, one line, ``file.py:31`` of the handler's innermost frame, traceback
    (the handler's frames only, at most 8 kB).
    """

    type: str
    message: str
    where: str | None = None
    traceback: str = ""

    @property
    def line(self) -> str:
        """The failure in one line: ``OSError: disk full (export.py:31)``."""
        text = f"{self.type}: {self.message}" if self.message else self.type
        return f"{text} ({self.where})" if self.where else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run is over and counted; `discarded` carries the reason of a `Discard`."""

    discarded: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Run this occurrence again after `delay_ms`, as attempt number `attempt` (from 0)."""

    delay_ms: int
    attempt: int
    failure: Failure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dead:
    """The occurrence failed for good, or its record cannot be used; a record of it is kept."""

    failure: Failure
    reason: str = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """Given back with no attempt spent. `unknown`: this listener cannot run it and must not be offered it again."""

    delay_ms: int = 0
    unknown: bool = False


Outcome = Done | Again | Dead | Released


def decide(error: BaseException | None, failure: Failure | None, *, attempt: int) -> Outcome:
    """What becomes of a run that ended with `error` (None: it returned), as attempt number `attempt` (from 0).

    `Retry` and `Discard` are answers of the handler. A function that this listener cannot run is given back for
    others, to be offered to them from two seconds on (spec/layouts/native.md). Any other exception ends the
    occurrence, and a record of it is kept.
    """
    match error:
        case None:
            return Done()
        case Discard(reason=reason):
            return Done(discarded=reason)
        case Retry(after=after):
            from workkit.triggers.duration import duration  # its grammar takes a while to import

            return Again(delay_ms=round(duration(after, name="after").total_seconds() * 1000), attempt=attempt + 1)
        case CannotRun():
            return Released(delay_ms=2000, unknown=True)
        case _:
            return Dead(failure=failure or Failure(type=type(error).__name__, message=str(error)))
