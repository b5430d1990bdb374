"""What the hours of recurring words mean: products of hours, minutes and seconds, the last three fields of a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from workkit.text.calendar import clock_text
from workkit.text.listing import listed
from workkit.triggers.crons.field import HOUR, MINUTE, SECOND, Spec, field_text
from workkit.triggers.english.grammar.parts import Parts
from workkit.triggers.english.grammar.words import Unit
from workkit.triggers.english.meaning.here import Here
from workkit.triggers.english.meaning.once import HOURS

_ALL: Final = tuple(range(60))
_HOURS: Final = tuple(range(24))
MOST_LISTED: Final = 12
"""So many times of day are listed in a hint."""

_SUB_DAY: Final = ("second", "minute", "hour")
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Hours x minutes x seconds; `occurrence` is the n of the one v/n, in the field that `unit` names."""

    hours: tuple[int, ...] = _HOURS
    minutes: tuple[int, ...] = (0,)
    seconds: tuple[int, ...] = (0,)
    unit: str = ""
    occurrence: int = 1

    @property
    def text(self) -> str:
        """The three fields."""
        parts = (("day", self.hours, HOUR), ("hour", self.minutes, MINUTE), ("minute", self.seconds, SECOND))
        return " ".join(self._field(values, spec, unit=unit) for unit, values, spec in parts)

    def _field(self, values: tuple[int, ...], spec: Spec, *, unit: str) -> str:
        if unit == self.unit and self.occurrence > 1:
            return field_text((), spec, nth=[(value, self.occurrence) for value in values])
        return field_text(values, spec)


def clocks(here: Here, parts: Parts) -> list[Clocks]:
    """Give the times of day, as the products whose union they are."""
    step = parts.step
    if parts.count is not None:
        parts = _counted(here, parts)
        step = parts.step
    if step is None or step.unit not in _SUB_DAY:
        if parts.window:
            said = f"every hour {here.text.strip()}"
            raise here.refusal("does not say how often in that window", f'Say for example "{said}"', offered=said)
        if parts.marks:
            raise here.refusal("names a minute but no hour", 'Say "every hour at :15", or a full time')
        if parts.day_part and not parts.times:
            said = f"{here.text.strip()} at {HOURS[parts.day_part]}"
            raise here.refusal("does not say which hour", f'Say for example "{said}"', offered=said)
        n = step.n if step is not None and step.unit == "day" else 1
        if n > 1 and not parts.times:
            raise here.refusal("does not say at which hour", f'Say "every {n} days at 9am"')
        return _boxes(parts.times or (0,), occurrence=n)
    if parts.times or parts.day_part:
        raise here.refusal("names both an interval and a time of day", _either(parts))
    base = stepped(here, parts)
    return _windowed(here, parts, base) if parts.window else [base]


def _either(parts: Parts) -> str:
    """Say to keep the interval, in the phase of the hour, or the hour alone."""
    step = parts.step
    if step is None or not parts.times:
        return 'Say one, or an interval in a window: "every hour from 9am to 5pm"'
    hour, often = clock_text(parts.times[0]), step.unit if step.n == 1 else f"{step.n} {step.unit}s"
    if len(parts.times) > 1:
        return f'Say "every day at {listed([clock_text(time) for time in parts.times])}", or the interval alone'
    return f'Say "every {often} starting at {hour}", or "every day at {hour}"'


def _counted(here: Here, parts: Parts) -> Parts:
    """Read "twice a day": at the named times, which must be that many, or evenly from 0:00."""
    count, unit = parts.count, parts.count.unit if parts.count else ""
    assert count is not None
    given = {"day": parts.times, "hour": parts.marks, "week": parts.weekdays, "month": parts.days}.get(unit, ())
    if given:
        if len(given) != count.n:
            raise here.refusal(f"says {count.n} times a {unit} but names {len(given)}", "Make the two agree")
        return parts
    whole = {"day": 24, "hour": 60, "minute": 60}.get(unit)
    if whole is None or (unit == "day" and parts.day_part):
        raise here.refusal(
            "does not say when", f'Name them, for example "every {_EXAMPLES.get(unit, "monday")} at 9am"'
        )
    if whole % count.n:
        raise here.refusal(f"does not divide a {unit} evenly", f"Name the times, or say a number that divides {whole}")
    if unit == "day":
        return replace(parts, times=tuple(hour * 3600 for hour in range(0, 24, 24 // count.n)))
    finer: Unit = "minute" if unit == "hour" else "second"
    return replace(parts, step=replace(count, n=whole // count.n, unit=finer))


_EXAMPLES: Final = {"week": "monday and thursday", "month": "1st and 15th", "year": "1st of march and september"}


def _boxes(times: tuple[int, ...], *, occurrence: int = 1) -> list[Clocks]:
    """Say times of day as products of hours, minutes and seconds, as few as go by grouping."""
    boxes: dict[tuple[int, int], list[int]] = {}
    for time in times:
        boxes.setdefault((time // 60 % 60, time % 60), []).append(time // 3600)
    merged: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for (minute, second), hours in boxes.items():
        merged.setdefault((tuple(sorted(hours)), second), []).append(minute)
    final: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for (in_hours, second), minutes in merged.items():
        final.setdefault((in_hours, tuple(sorted(minutes))), []).append(second)
    return [
        Clocks(hours=h, minutes=m, seconds=tuple(sorted(s)), unit="day", occurrence=occurrence)
        for (h, m), s in final.items()
    ]


def around(seconds: int, wall: int) -> tuple[str, ...]:
    """Say the times of the day in steps of so many seconds, which divide a day, one of them at `wall`: as clocks."""
    return tuple(box.text for box in _boxes(tuple(range(wall % seconds, _DAY, seconds))))


def stepped(here: Here, parts: Parts) -> Clocks:
    """Say an interval of hours, minutes or seconds: clock-aligned if it divides the next unit, else every nth."""
    step = parts.step
    assert step is not None
    n, marks = step.n, parts.marks or (0,)
    if parts.marks and step.unit != "hour":
        each = (
            sorted({minute for mark in marks for minute in range(mark % n, 60, n)}) if step.unit == "minute" else marks
        )
        remedy = f'Say "every hour at {listed([f":{minute:02}" for minute in each])}", or the interval alone'
        raise here.refusal("names minutes of the hour beside an interval of its own", remedy)
    match step.unit:
        case "second":
            return Clocks(minutes=_ALL, seconds=tuple(range(0, 60, n))) if 60 % n == 0 else _coarser(n)
        case "minute":
            if 60 % n:
                return Clocks(minutes=_ALL, unit="minute", occurrence=n)
            return Clocks(minutes=tuple(range(0, 60, n)))
        case _:
            if 24 % n:
                return Clocks(minutes=marks, unit="hour", occurrence=n)
            return Clocks(hours=tuple(range(0, 24, n)), minutes=marks)


def _coarser(seconds: int) -> Clocks:
    """Say the shortest interval that divides its unit and is no shorter: what a peer runs that knows no intervals."""
    if (n := _divisor(60, seconds)) < 60:
        return Clocks(minutes=_ALL, seconds=tuple(range(0, 60, n)))
    if (n := _divisor(60, -(-seconds // 60))) < 60:
        return Clocks(minutes=tuple(range(0, 60, n)))
    if (n := _divisor(24, -(-seconds // 3600))) < 24:
        return Clocks(hours=tuple(range(0, 24, n)))
    return _boxes((0,), occurrence=-(-seconds // _DAY))[0]


def _divisor(whole: int, least: int) -> int:
    """Give the least divisor of `whole` that is not below `least`; `whole` where there is none."""
    return next((n for n in range(least, whole) if whole % n == 0), whole)


def _windowed(here: Here, parts: Parts, base: Clocks) -> list[Clocks]:
    """Keep of `base` what lies in the window."""
    assert parts.window is not None
    assert parts.step is not None
    (first, last), step = parts.window, parts.step
    size = {"second": 1, "minute": 60, "hour": 3600}[step.unit] * step.n
    if base.occurrence > 1:
        times = [clock_text(at) for at in range(first, last + 1, size)]
        remedy = "Say an interval that divides an hour: 15, 20 or 30 minutes"
        if 1 < len(times) <= MOST_LISTED:
            remedy += f", or list the times in its place: at {listed(times)}"
        raise here.refusal("does not divide the hours evenly, so it fits no window", remedy)
    if (first - first % 3600 if parts.marks else first) % size:
        at = f"starting at {clock_text(first)}, or at multiples of {step.n} {step.unit}s"
        remedy = "Begin the window at such a multiple, or list the times"
        if first < last < first + MOST_LISTED * size and not (parts.marks or parts.weekdays or parts.days):
            remedy += f': "every day at {listed([clock_text(at) for at in range(first, last + 1, size)])}"'
        raise here.refusal(f"may be counted {at}", remedy)
    if first > last and (parts.weekdays or parts.days or parts.places or parts.without or parts.months or parts.years):
        raise here.refusal(
            "runs past midnight, into a day that may not be meant", "Say two windows, each within its day"
        )
    windows = [(first, last)] if first <= last else [(first, 86_399), (0, last)]
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for low, high in windows:
        for hours, minutes, seconds in _split(low, high):
            kept_minutes = tuple(m for m in base.minutes if m in minutes)
            kept_seconds = tuple(s for s in base.seconds if s in seconds)
            kept = [h for h in base.hours if h in hours]
            if kept and kept_minutes and kept_seconds:
                found.setdefault((kept_minutes, kept_seconds), []).extend(kept)
    if not found:
        raise here.refusal("never fires: nothing falls into that window", "Make it wider")
    return [Clocks(hours=tuple(sorted(h)), minutes=m, seconds=s) for (m, s), h in found.items()]


def _split(low: int, high: int) -> list[tuple[range, range, range]]:
    """Split the seconds from `low` to `high` of a day into products of hours, minutes and seconds."""
    found = []
    (h1, m1, s1), (h2, m2, s2) = ((t // 3600, t // 60 % 60, t % 60) for t in (low, high))
    whole = range(60)
    if (low // 60) == (high // 60):
        return [(range(h1, h1 + 1), range(m1, m1 + 1), range(s1, s2 + 1))]
    if s1:
        found.append((range(h1, h1 + 1), range(m1, m1 + 1), range(s1, 60)))
        h1, m1 = divmod(low // 60 + 1, 60)
    if s2 < 59:
        found.append((range(h2, h2 + 1), range(m2, m2 + 1), range(s2 + 1)))
        h2, m2 = divmod(high // 60 - 1, 60)
    if h1 * 60 + m1 > h2 * 60 + m2:
        return found
    if h1 == h2:
        return [*found, (range(h1, h1 + 1), range(m1, m2 + 1), whole)]
    if m1:
        found.append((range(h1, h1 + 1), range(m1, 60), whole))
        h1 += 1
    if m2 < 59:
        found.append((range(h2, h2 + 1), range(m2 + 1), whole))
        h2 -= 1
    return [*found, (range(h1, h2 + 1), whole, whole)] if h1 <= h2 else found
