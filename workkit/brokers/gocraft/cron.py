"""The specs of periodic jobs as Go pools read them, the times when they fire, and the runs, which every pool of a fleet
writes alike, in Go or here. A spec that Go refuses is refused with its place. Pure. Normative: spec/layouts/gocraft.md,
section 4.

This grammar is not that of workkit's own cron strings: ``7`` is no weekday, ``N/step`` runs to the greatest value, and
a spec may name a zone. workkit's own cron engine does not compute the times either. At a change of the clock it runs a
skipped time at the end of the gap and a repeated time once; Go skips the first and repeats the second. Go walks the
clock of the zone, unit by unit, and looks again at the greater units only if a unit comes back to its least value. In
some zones the clock changes at midnight, or by part of an hour. A time that the walk skips there never fires, in a Go
pool or here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from workkit.brokers.gocraft.go_values import SECOND, Misread, in_go_form, nanoseconds
from workkit.brokers.gocraft.text import JobText, write
from workkit.errors import CronError, TriggerError
from workkit.text.nearest import nearest_word
from workkit.text.wording import plural
from workkit.triggers.crons.cron import MAX_LENGTH, too_long
from workkit.triggers.crons.field import FieldPlace, field_error, shown_text
from workkit.triggers.crons.grammars import GO, NICKNAMES
from workkit.triggers.crons.reader import read_field
from workkit.triggers.zone import offset_at, zone

ACCEPTED: Final = (
    "minute hour day-of-month month day-of-week, with a second before them or not; @hourly and its like; @every 1h30m"
)
EVERY: Final = "@every "
_UTC: Final = ZoneInfo("UTC")
_BLANKS: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_FIELD: Final = re.compile(f"[^{_BLANKS}]+")  # Go separates fields by these
_MOST_FAULTS: Final = 10  # faults that a suggestion repairs


@dataclass(frozen=True, slots=True, kw_only=True)
class CronSpec:
    """A spec of fields, each as a bit set of the values that match.

    `zone` is None if the spec names none: the local zone of the process applies. `either_day`: both day fields are
    restricted, so one of them has to match and not both.
    """

    text: str
    zone: ZoneInfo | None
    second: int
    minute: int
    hour: int
    day: int
    month: int
    weekday: int
    either_day: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EverySpec:
    """``@every``: a number of whole seconds after the time from which it is asked, at least one."""

    text: str
    seconds: int


PeriodicSpec = CronSpec | EverySpec


def read_spec(text: str) -> PeriodicSpec:
    """Read the spec of a periodic job as a Go pool does. Raises CronError with the place, the accepted values, and, if
    there is a near one, a spec that Go accepts.
    """
    if not isinstance(text, str):
        raise CronError(f"cron={text!r} is not text. Accepted: {ACCEPTED}.", given=text, where="cron")
    try:
        return _read(text)
    except CronError as error:
        error.suggestion = _repaired(error.suggestion)
        raise


def _repaired(text: str | None) -> str | None:
    """Repair the faults of a suggestion too, one after the other. None if one of them has no remedy."""
    for _ in range(_MOST_FAULTS):
        if text is None:
            return None
        try:
            _read(text)
        except CronError as error:
            text = error.suggestion
        else:
            return text
    return None


@lru_cache(maxsize=512)
def _read(text: str) -> PeriodicSpec:
    if len(text) > MAX_LENGTH:
        raise too_long(text)
    if not text:
        raise field_error(text, "is empty", accepted=ACCEPTED)
    tz, start, end = None, 0, len(text)
    if text.startswith(("TZ=", "CRON_TZ=")):
        tz, start = _zone(text)
        end = len(text.rstrip(_BLANKS))
    if text.startswith("@", start):
        return _descriptor(text, start, end, tz=tz)
    fields = [(found.start(), found[0]) for found in _FIELD.finditer(text, start)]
    if len(fields) not in (5, 6):
        raise field_error(text, f"has {plural(len(fields), 'field')}", accepted=ACCEPTED, position=start)
    return _of_fields(text, fields, tz=tz)


def _zone(text: str) -> tuple[ZoneInfo | None, int]:
    """Read the zone at the front, None for ``Local``, and find the place where the rest begins."""
    start = text.index("=") + 1
    name, blank, rest = text[start:].partition(" ")
    if not blank:
        raise field_error(text, "has a zone and no fields", accepted=ACCEPTED, position=len(text))
    begin = len(text) - len(rest.lstrip(_BLANKS))
    if name == "Local":
        return None, begin
    try:
        return (zone(name) if name else _UTC), begin
    except TriggerError as error:
        near = error.suggestion
        raise field_error(
            text,
            f": {shown_text(name)} {error.trouble}",
            accepted=str(error.accepted),
            remedy=error.remedy,
            position=start,
            suggestion=near and text[:start] + near + text[start + len(name) :],
        ) from None


def _descriptor(text: str, start: int, end: int, *, tz: ZoneInfo | None) -> PeriodicSpec:
    name = text[start:end]
    if name in NICKNAMES:
        fields = [(start, part) for part in NICKNAMES[name].split()]
        return _of_fields(text, fields, tz=tz)
    if name.startswith(EVERY):
        return _every(text, start + len(EVERY), end)
    word = name.split()[0].lower()
    near = nearest_word(word, [*NICKNAMES, EVERY.strip()])
    known = f"{', '.join(NICKNAMES)}, @every 1h30m"
    raise field_error(
        text,
        f": {shown_text(name, limit=24)} is no descriptor",
        accepted=known,
        remedy=f"Accepted: {known}." + (f" Did you mean {near}?" if near else ""),
        position=start,
        suggestion=text[:start] + near if near in NICKNAMES else None,
    )


def _every(text: str, start: int, end: int) -> EverySpec:
    try:
        length = nanoseconds(text[start:end])
    except Misread as error:
        near = in_go_form(text[start:end])
        accepted = "numbers with a unit each, h, m, s or ms: 1h30m"
        raise field_error(
            text,
            f": {shown_text(text[start:end], limit=24) or 'nothing'} {error.trouble}",
            accepted=accepted,
            remedy=f"Accepted: {accepted}." + (f" Did you mean @every {near}?" if near else ""),
            position=start + error.at,
            suggestion=near and text[:start] + near,
        ) from None
    return EverySpec(text=text, seconds=max(1, length // SECOND))


def _of_fields(text: str, fields: list[tuple[int, str]], *, tz: ZoneInfo | None) -> CronSpec:
    read = [
        read_field(part, spec, GO, refuse=FieldPlace(given=text, offset=at).error)
        for spec, (at, part) in zip(GO.fields(len(fields)), fields, strict=True)
    ]
    *second, minute, hour, day, month, weekday = (part.mask for part in read)
    return CronSpec(
        text=text,
        zone=tz,
        second=second[0] if second else 1,
        minute=minute,
        hour=hour,
        day=day,
        month=month,
        weekday=weekday,
        either_day=read[-3].restricted and read[-1].restricted,
    )


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEARS = 5  # Go looks no further ahead
_MINUTE, _HOUR = 60, 3600


def next_activation(spec: PeriodicSpec, after: int, *, local: ZoneInfo) -> int | None:
    """Find the first second of a spec strictly after `after` (epoch seconds); None if there is none in five years.

    A spec without a zone uses `local`. The interval of ``@every`` begins at `after`.
    """
    if isinstance(spec, EverySpec):
        return after + spec.seconds
    if not (spec.second and spec.minute and spec.hour and spec.month):
        return None  # a list without items matches nothing, which Go finds out second by second
    try:
        start = after + 1
        found = _Walk(spec, tz=spec.zone or local, start=start).find()
        # If a clock goes back by other than an hour, the walk can end before its start, and never ends in Go.
        while found is not None and found <= after:
            start += _HOUR
            found = _Walk(spec, tz=spec.zone or local, start=start).find()
    except (OverflowError, ValueError):  # beyond the year 9999
        return None
    return found


class _Walk:
    """A walk over the clock of a zone. Each `to_...` moves to the first value of its unit that matches. It returns
    False if the unit came back to its least value, so that the greater units must be checked again.
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
        """Say whether the lesser units still have the values of the start. After the first move they have their least
        values.
        """
        first, self._has_moved = not self._has_moved, True
        return first

    def _midnight(self) -> datetime:
        return self._shown.replace(hour=0, minute=0, second=0)

    def _go(self, second: int) -> None:
        self._second = second
        local = (_EPOCH + timedelta(seconds=second)).astimezone(self._tz)
        self._shown = local.replace(tzinfo=None, fold=0)

    def _instant(self, shown: datetime) -> int:
        """Return the instant of a local time as Go's `time.Date` does, near a change of the clock too."""
        wall = round((shown.replace(tzinfo=UTC) - _EPOCH) / timedelta(seconds=1))
        return wall - offset_at(self._tz, wall - offset_at(self._tz, wall))


HORIZON_SECONDS: Final = 240
"""Seconds from now: a Go pool enqueues the runs before this time."""

_PREFIX: Final = "periodic"


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicJob:
    """A job name and the spec by which its runs are enqueued. `args` is an extension: Go pools enqueue no arguments."""

    name: str
    spec: PeriodicSpec
    args: Mapping[str, Any] | None = None

    def id_at(self, second: int) -> str:
        """Make the id of one run: ``periodic:NAME:SPEC:EPOCH``, with the spec as the user wrote it."""
        return f"{_PREFIX}:{self.name}:{self.spec.text}:{second}"

    def text_at(self, second: int) -> bytes:
        """Write the job text of one run. `t` is the time of the run itself, so that all pools write equal bytes.

        Raises InvalidArguments for values that JSON cannot carry.
        """
        return write(JobText(name=self.name, id=self.id_at(second), t=second, args=self.args))


def activations(spec: PeriodicSpec, *, after: int, before: int, local: ZoneInfo) -> Iterator[int]:
    """List the runs strictly after one epoch second and strictly before another, in order.

    A spec without a zone uses `local`. The runs of ``@every`` are counted from `after`.
    """
    second = next_activation(spec, after, local=local)
    while second is not None and second < before:
        yield second
        second = next_activation(spec, second, local=local)
