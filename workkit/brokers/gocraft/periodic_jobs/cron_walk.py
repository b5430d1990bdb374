"""When the spec of a periodic job fires next, second for second as in a Go pool, so that all pools of a fleet enqueue
the same runs. Normative: spec/layouts/gocraft.md, section 4.

workkit's own cron engine is not asked: where a clock changes it runs a skipped time at the end of the gap and a
repeated time once, and Go skips the one and repeats the other. Go walks the clock of the zone, unit by unit, and looks
again at the greater units only where a unit comes back to its least value. In zones whose clock changes at midnight,
or by part of an hour, what that walk passes over never fires, and a Go pool does not fire it either.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.periodic_jobs.cron_spec import CronSpec, EverySpec, PeriodicSpec
from workkit.triggers.zone import offset_at

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = 5  # Go looks no further ahead
_MINUTE, _HOUR = 60, 3600


def next_activation(spec: PeriodicSpec, after: int, *, local: ZoneInfo) -> int | None:
    """Find the first second of a spec strictly after `after` (epoch seconds); None if there is none in five years.

    A spec without a zone goes by `local`. The interval of ``@every`` begins at `after`.
    """
    if isinstance(spec, EverySpec):
        return after + spec.seconds
    if not (spec.second and spec.minute and spec.hour and spec.month):
        return None  # a list without items names nothing, which Go finds out second by second
    try:
        start = after + 1
        found = _Walk(spec, tz=spec.zone or local, start=start).find()
        # Where a clock goes back by other than an hour, the walk can come out before its start, for ever in Go.
        while found is not None and found <= after:
            start += _HOUR
            found = _Walk(spec, tz=spec.zone or local, start=start).find()
    except (OverflowError, ValueError):  # beyond the year 9999
        return None
    return found


class _Walk:
    """A walk over the clock of a zone. Each `to_...` moves to the first value of its unit that matches, and answers
    False where it came back to the least value, so that the greater units must be looked at again.
    """

    def __init__(self, spec: CronSpec, *, tz: ZoneInfo, start: int) -> None:
        self._spec = spec
        self._tz = tz
        self._has_moved = False
        self._go(start)

    def find(self) -> int | None:
        last = self._shown.year + _YEARS
        while self._shown.year <= last:
            if self.to_month() and self.to_day() and self.to_hour() and self.to_minute() and self.to_second():
                return self._second
        return None

    def to_month(self) -> bool:
        while not self._spec.month >> self._shown.month & 1:
            if self._is_first_move():
                self._go(self._instant(self._midnight().replace(day=1)))
            month = self._shown.month % 12 + 1
            year = self._shown.year + (month == 1)
            first = self._shown.replace(year=year, month=month, day=1)
            self._go(self._instant(first + timedelta(days=self._shown.day - 1)))
            if self._shown.month == 1:
                return False
        return True

    def to_day(self) -> bool:
        while not self._is_day():
            if self._is_first_move():
                self._go(self._instant(self._midnight()))
            self._go(self._instant(self._shown + timedelta(days=1)))
            hour = self._shown.hour
            if hour:  # the clock skips or repeats midnight
                self._go(self._second + (24 - hour if hour > 12 else -hour) * _HOUR)
            if self._shown.day == 1:
                return False
        return True

    def to_hour(self) -> bool:
        while not self._spec.hour >> self._shown.hour & 1:
            if self._is_first_move():
                self._go(self._instant(self._shown.replace(minute=0, second=0)))
            self._go(self._second + _HOUR)
            if self._shown.hour == 0:
                return False
        return True

    def to_minute(self) -> bool:
        while not self._spec.minute >> self._shown.minute & 1:
            if self._is_first_move():
                self._go(self._second - self._second % _MINUTE)
            self._go(self._second + _MINUTE)
            if self._shown.minute == 0:
                return False
        return True

    def to_second(self) -> bool:
        while not self._spec.second >> self._shown.second & 1:
            self._has_moved = True
            self._go(self._second + 1)
            if self._shown.second == 0:
                return False
        return True

    def _is_day(self) -> bool:
        day = bool(self._spec.day >> self._shown.day & 1)
        weekday = bool(self._spec.weekday >> self._shown.isoweekday() % 7 & 1)
        return day or weekday if self._spec.either_day else day and weekday

    def _is_first_move(self) -> bool:
        """Tell whether the lesser units still have the values of the start; from then on they have their least."""
        first, self._has_moved = not self._has_moved, True
        return first

    def _midnight(self) -> datetime:
        return self._shown.replace(hour=0, minute=0, second=0)

    def _go(self, second: int) -> None:
        self._second = second
        local = (_EPOCH + timedelta(seconds=second)).astimezone(self._tz)
        self._shown = local.replace(tzinfo=None, fold=0)

    def _instant(self, shown: datetime) -> int:
        """Give the instant of a local time as Go's `time.Date` does, near a change of the clock too."""
        wall = round((shown.replace(tzinfo=UTC) - _EPOCH) / timedelta(seconds=1))
        return wall - offset_at(self._tz, wall - offset_at(self._tz, wall))
