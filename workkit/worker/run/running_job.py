"""What a handler sees of its own run, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from workkit.errors import InvalidArguments, JobCancelled
from workkit.text.cells import brief_repr
from workkit.triggers import Trigger
from workkit.worker.run.interruption import Clock
from workkit.worker.run.progress import Progress

LONGEST_CHECKIN = 1000  # characters
GREATEST_NUMBER = 2**53  # the greatest whole number that every reader of JSON represents exactly
_NUMBERS = (int, float)  # tested first, as other types take longer


@dataclass(slots=True, kw_only=True)
class RunningJob:
    """The current run: the fields of its job, when it started and how late. Outside a run `id` is None and the methods
    do nothing, so that a test can call a handler directly.
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
    crashes: int = 0  # how many listeners died while they held it: an earlier run may have been cut off
    started: datetime | None = None
    lateness: timedelta = timedelta()
    cancelled: bool = False
    meta: dict[str, str] = field(default_factory=dict)
    context: dict[str, Any] = field(default_factory=dict)
    _clock: Clock | None = field(default=None, repr=False)
    _report: Callable[[Progress], None] | None = field(default=None, repr=False)

    __repr__ = brief_repr

    def checkin(self, text: str) -> None:
        """Report progress in at most 1,000 characters. Cheap enough for a loop: at most one report a second is stored.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(text) is not str:
            text = _text(text)
        if len(text) > LONGEST_CHECKIN:
            raise InvalidArguments(
                f"a check-in of {len(text):,} characters is too long. Accepted: up to {LONGEST_CHECKIN:,}.", given=text
            )
        if self._report is not None:
            self._report(text)

    def progress(self, done: float, total: float) -> None:
        """Report progress in numbers; as cheap as `checkin`.

        Raises JobCancelled once the run was cancelled, InvalidArguments.
        """
        if self.cancelled:
            raise self._cancellation()
        if type(done) not in _NUMBERS or type(total) not in _NUMBERS:
            done, total = _number(done), _number(total)
        if not (-GREATEST_NUMBER <= done <= GREATEST_NUMBER and -GREATEST_NUMBER <= total <= GREATEST_NUMBER):
            raise _wrong_number(done if not -GREATEST_NUMBER <= done <= GREATEST_NUMBER else total)
        if self._report is not None:
            self._report((done, total))

    def extend(self, time: str | timedelta) -> None:
        """Move the timeout of this run to at least `time` from now; without a timeout nothing changes.

        Raises JobCancelled once the run was cancelled, TriggerError.
        """
        from workkit.triggers.english.numbers import duration  # its grammar takes a while to import

        seconds = duration(time, name="time").total_seconds()
        if self.cancelled:
            raise self._cancellation()
        if self._clock is not None:
            self._clock.extend(seconds)

    def _cancellation(self) -> JobCancelled:
        return JobCancelled(f"job {self.id} was cancelled", given=self.id)


def _number(given: object) -> float:
    """Convert whole numbers and fractions of any library; truth values are no numbers. Raises InvalidArguments."""
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
