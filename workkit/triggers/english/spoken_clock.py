"""Hours, minutes and seconds of a rule in English: at 9:00, every 5 seconds from 9:00 to 17:59:59."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, Literal

from workkit.text.wording import clock_text, listed, ordinal
from workkit.triggers.crons.cron import Cron
from workkit.triggers.crons.field import Field
from workkit.triggers.english.spoken_days import COUNTED, counted, runs

MAX_TIMES: Final = 8
"""The most times of day in a list; more are written by their fields."""

MAX_ENUMERATED: Final = 1_500
_DAY: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenClock:
    """A time of day in words.

    `times`: comes after the day ("at 9:00"). `step`: needs no day ("every 5 minutes"). `days`: needs no day, as it
    names the days ("every other day at 9:00"). `bare` is a step that means the same in every zone.
    """

    kind: Literal["times", "step", "days"]
    text: str
    bare: bool = False


def spoken_clock(crons: Sequence[Cron], *, any_day: bool, origin: int | None = None) -> SpokenClock:
    """Write the times of the day; the crons differ in their last three fields only. `any_day`: every date matches.

    `origin` is the time of day (seconds) to count an interval from, if it is not the first one.
    """
    numbered = [c for c in crons if any(counted(part) for part in c.fields[4:])]
    if not numbered:
        return _plain(crons, any_day=any_day, origin=origin)
    if any_day and (nth_days := _nth_days(crons)) is not None:
        return nth_days
    if len(crons) == 1:
        return _numbered(crons[0])
    texts = [_by_fields(cron) for cron in crons]
    return SpokenClock(kind="times", text=" and ".join(texts))


def _plain(crons: Sequence[Cron], *, any_day: bool, origin: int | None) -> SpokenClock:
    cron = crons[0]
    count = sum(len(c.hour.values) * len(c.minute.values) * len(c.second.values) for c in crons)
    if len(crons) == 1 and count > MAX_ENUMERATED:
        return _dense(cron, any_day=any_day) or SpokenClock(kind="times", text=_by_fields(cron))
    each = (product(c.hour.values, c.minute.values, c.second.values) for c in crons)
    times = sorted({h * 3600 + m * 60 + s for some in each for h, m, s in some})
    step = _step(times, any_day=any_day)
    if step is not None and (len(times) > 3 or (len(times) == 3 and times[1] - times[0] < 3600)):
        return step
    if any_day and len(times) > MAX_TIMES and (around := _around(times, origin)) is not None:
        return around
    if len(times) <= MAX_TIMES:
        return SpokenClock(kind="times", text=f"at {listed([clock_text(t) for t in times])}")
    if len(crons) == 1 and cron.second.values == [0] and len(cron.minute.values) <= MAX_TIMES:
        return _marked(cron)
    return SpokenClock(kind="times", text=" and ".join(_by_fields(c) for c in crons))


def _around(times: list[int], origin: int | None) -> SpokenClock | None:
    """Write times at even distances round the clock, in steps that divide a day but not an hour."""
    gap = times[1] - times[0]
    if gap % 60 or 3600 % gap == 0 or times != list(range(times[0], _DAY, gap)) or times[-1] + gap != times[0] + _DAY:
        return None
    first = times[0] if origin is None else origin
    return SpokenClock(kind="step", text=f"every {gap // 60} minutes starting at {clock_text(first)}")


def _step(times: list[int], *, any_day: bool) -> SpokenClock | None:
    """Write times at even distances, through the day or within one window."""
    gaps = {after - before for before, after in pairwise(times)}
    if len(gaps) == 1:
        return _window(times[0], times[-1], gap=gaps.pop())
    if len(gaps) != 2 or not any_day:
        return None
    turn = next(k for k, (before, after) in enumerate(pairwise(times), 1) if after - before == max(gaps))
    round_midnight = times[0] + _DAY - times[-1] == min(gaps)
    single = sum(after - before == max(gaps) for before, after in pairwise(times)) == 1
    return _window(times[turn], times[turn - 1] + _DAY, gap=min(gaps)) if round_midnight and single else None


def _dense(cron: Cron, *, any_day: bool) -> SpokenClock | None:
    """Write an even step through whole hours, for times that are too many to list."""
    seconds = sorted(m * 60 + s for m, s in product(cron.minute.values, cron.second.values))
    gaps = {after - before for before, after in pairwise([*seconds, seconds[0] + 3600])}
    hours = cron.hour.values
    turns = [k for k, (before, after) in enumerate(pairwise(hours), 1) if after - before > 1]
    if len(gaps) != 1 or len(turns) > 1 or (turns and not (any_day and hours[0] == 0 and hours[-1] == 23)):
        return None
    turn = turns[0] if turns else 0
    first, last = hours[turn], hours[turn - 1] + (24 if turns else 0)
    return _window(first * 3600 + seconds[0], last * 3600 + seconds[-1], gap=gaps.pop())


def _window(first: int, last: int, *, gap: int) -> SpokenClock | None:
    """Write every `gap` seconds from `first` to `last`, which may be past midnight; None if that is no interval."""
    interval = _interval(gap)
    mark = first % 3600 // 60 if gap % 3600 == 0 and first % 60 == 0 else 0
    if interval is None or (first - mark * 60) % gap:
        return None
    text = interval + (f" at :{mark:02}" if mark else "")
    if last - first + gap == _DAY:
        return SpokenClock(kind="step", text=text, bare=gap <= 3600)
    hour_is_full = gap < 3600 and last % 3600 + gap >= 3600
    start, end = first - mark * 60, last - last % 3600 + 3599 if mark or hour_is_full else last
    sharp = ":00" if end % 3600 == 0 and gap < 3600 else ""
    return SpokenClock(kind="step", text=f"{text} from {clock_text(start)} to {clock_text(end % _DAY)}{sharp}")


def _interval(gap: int) -> str | None:
    for size, whole, name in ((3600, 24, "hour"), (60, 60, "minute"), (1, 60, "second")):
        if gap % size == 0 and gap // size < whole:
            n = gap // size
            return None if whole % n else f"every {name}" if n == 1 else f"every {n} {name}s"
    return None


def _marked(cron: Cron) -> SpokenClock:
    """Write several minutes of many hours."""
    hours, marks = cron.hour.values, listed([f":{m:02}" for m in cron.minute.values])
    whole = range(hours[0], hours[-1] + 1)
    if len(hours) == 24:
        return SpokenClock(kind="step", text=f"every hour at {marks}")
    if hours == list(whole):
        window = f"from {hours[0]}:00 to {hours[-1]}:59:59"
        return SpokenClock(kind="step", text=f"every hour at {marks} {window}")
    return SpokenClock(kind="times", text=_by_fields(cron))


def _numbered(cron: Cron) -> SpokenClock:
    """Write a v/n: every nth minute or hour."""
    hour, minute, second = cron.fields[4:]
    window = _hours_window(hour)
    if len(counted(second)) == 1 and not second.mask and len(minute.values) == 60 and window is not None:
        value, n = counted(second)[0]
        if not counted(minute):
            at = f" at second {value}" if value else ""
            tail = COUNTED if 60 % n == 0 or window else ""
            return SpokenClock(kind="step", text=f"every {n} minutes{at}{window}{tail}", bare=not window)
    if len(counted(minute)) == 1 and not minute.mask and second.values == [0] and window is not None:
        value, n = counted(minute)[0]
        if not counted(second):
            at = f" at :{value:02}" if value else ""
            tail = COUNTED if 24 % n == 0 or window else ""
            return SpokenClock(kind="step", text=f"every {n} hours{at}{window}{tail}", bare=not window)
    return SpokenClock(kind="times", text=_by_fields(cron))


def _nth_days(crons: Sequence[Cron]) -> SpokenClock | None:
    """Write times of every nth day; None for any other rule."""
    counts = {n for c in crons for _, n in counted(c.hour)}
    if len(counts) != 1 or any(c.hour.mask or counted(c.minute) or counted(c.second) for c in crons):
        return None
    each = (product((h for h, _ in counted(c.hour)), c.minute.values, c.second.values) for c in crons)
    times = sorted({h * 3600 + m * 60 + s for some in each for h, m, s in some})
    if len(times) > MAX_TIMES:
        return None
    n = counts.pop()
    often = "every other day" if n == 2 else f"every {n} days"
    return SpokenClock(kind="days", text=f"{often} at {listed([clock_text(t) for t in times])}")


def _hours_window(hour: Field) -> str | None:
    values = hour.values
    if counted(hour) or values != list(range(values[0], values[-1] + 1)):
        return None
    return "" if len(values) == 24 else f" from {values[0]}:00 to {values[-1]}:59:59"


def _by_fields(cron: Cron) -> str:
    """Write each field by itself: at second 5 of minutes 3 and 7 of hours 9 to 17."""
    hour, minute, second = cron.fields[4:]
    parts = [] if second.values == [0] and not counted(second) else [_field_text(second, "second")]
    parts.append(_field_text(minute, "minute"))
    if parts[-1] != "every minute" or _field_text(hour, "hour") != "every hour":
        parts.append(_field_text(hour, "hour"))
    return "at " + " of ".join(parts)


def _field_text(part: Field, name: str) -> str:
    values = part.values
    if len(values) == part.spec.high + 1:
        return f"every {name}"
    step = values[1] - values[0] if len(values) > 3 else 0
    if step > 1 and values == list(range(values[0], values[-1] + 1, step)):
        items = [f"{values[0]} to {values[-1]} in steps of {step}"]
    else:
        items = runs(values)
    texts = [f"{name}{'s' if len(values) > 1 else ''} {listed(items)}"] if items else []
    return listed([*texts, *(f"every {ordinal(n)} {name} {value}" for value, n in counted(part))])
