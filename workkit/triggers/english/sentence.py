"""A trigger in plain English. Every valid trigger has a sentence; if the grammar reads it, it means the same.

The sentence of an interval has its length and its start: every 90 seconds starting at 0:00:30.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from workkit.text.wording import clock_text, date_text, full_date_text, time_text
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.english.spoken_clock import MAX_TIMES, spoken_clock
from workkit.triggers.english.spoken_days import spoken_days
from workkit.triggers.phase import counted_from, pace_in, phase_in
from workkit.triggers.trigger import Interval, Pace, Trigger
from workkit.triggers.zone import segments
from workkit.triggers.zone import zone as zone_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def explain(trigger: Trigger, *, zone: bool = True) -> str:
    """Write in English when a trigger fires: "every weekday at 9:00 UTC". Without `zone`, UTC is left out."""
    return _explained(trigger, trigger.origin, zone)


@lru_cache(maxsize=1024)
def _explained(trigger: Trigger, origin: tuple[int, str] | None, zone: bool) -> str:
    """Write the sentence, cached for equal triggers with the same origin, which is no part of their equality."""
    name = f" {trigger.tz}" if zone or trigger.tz != "UTC" else ""
    if not trigger.recurs:
        return _once(trigger, name)
    if (interval := _spoken_interval(trigger, origin)) is not None:
        return _bounded(interval[0], _bounds(trigger), name, is_free=interval[1])
    crons = [parse_cron(rule, stored=True, rule=True) for rule in trigger.rules]
    by_date: dict[tuple[str, ...], list[Cron]] = {}
    for cron in crons:
        by_date.setdefault(tuple(part.text for part in cron.fields[:4]), []).append(cron)
    sentences = [_sentence(group, None if origin is None else origin[0]) for group in by_date.values()]
    text = " and ".join(sentence for sentence, _ in sentences)
    bounds = _bounds(trigger)
    free = all(bare for _, bare in sentences) and (trigger.tz == "UTC" or trigger.cron == trigger.rules[0])
    return _bounded(text, bounds, name, is_free=free)


def _bounded(text: str, bounds: str, zone: str, *, is_free: bool) -> str:
    """Write bounds and the zone after the text, if it depends on the zone; a bound in UTC needs no zone."""
    if not bounds:
        return text if is_free else text + zone
    if not is_free:
        return f"{text}{zone}, {bounds}"
    return f"{text}, {bounds}" if bounds.endswith("Z") else f"{text}, {bounds}{zone}"


def _once(trigger: Trigger, zone: str) -> str:
    """Write one instant by the wall clock, or by UTC if a change of the clock shows that time twice."""
    local = _instant(parse_cron(trigger.rules[0], stored=True))
    utc = _instant(parse_cron(trigger.cron or trigger.rules[0], stored=True))
    if local.replace(tzinfo=zone_of(trigger.tz)).astimezone(UTC) != utc.replace(tzinfo=UTC):
        local, zone = utc, " UTC"
    return f"once, {full_date_text(local)} at {time_text(local)}{zone}"


def _instant(cron: Cron) -> datetime:
    year, month, day, _, hour, minute, second = (part.items[0].low for part in cron.fields)
    return datetime(year, month, day, hour, minute, second)


def _sentence(crons: list[Cron], origin: int | None) -> tuple[str, bool]:
    """Write rules that share their dates, and return whether the text means the same in every zone."""
    days = spoken_days(crons[0])
    time = spoken_clock(crons, any_day=not days.which, origin=origin)
    where = days.where and (days.where if days.where.startswith(",") else f" {days.where}")
    comma = "," if days.comma else ""
    match time.kind:
        case "times":
            return f"{days.which or 'every day'}{where}{comma} {time.text}", False
        case "step" if days.which:
            return f"{days.which}{where}, {time.text}", False
    return f"{time.text}{where}", time.bare and not where


def _bounds(trigger: Trigger) -> str:
    found = []
    interval = trigger.interval
    if interval is not None and not interval.is_elapsed and not is_chosen(trigger):  # as other programs may store it
        first = trigger.next_after(_EPOCH)
        since = "1970" if first is None else _moment(first, trigger.tz)
        found.append(f"every {interval.n} {interval.unit} counted from {since}")
    if trigger.start is not None:
        word = "starting" if is_chosen(trigger) else "not before"
        found.append(f"{word} {_moment(trigger.start, trigger.tz)}")
    if trigger.end is not None:
        end = trigger.end.astimezone(zone_of(trigger.tz)).replace(tzinfo=None)
        day = end.time() == datetime.min.time()
        found.append(
            f"until {date_text(end - timedelta(days=1))}" if day else f"before {_moment(trigger.end, trigger.tz)}"
        )
    return " ".join(found)


def _moment(moment: datetime, tz: str) -> str:
    local = moment.astimezone(zone_of(tz)).replace(tzinfo=None)
    return (
        date_text(local)
        if local.time() == datetime.min.time()
        else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    )


_DAY = 86_400
_PRESENT: Final = 2026
"""The year from which the offsets of zones count."""


def _spoken_interval(trigger: Trigger, origin: tuple[int, str] | None) -> tuple[str, bool] | None:
    """Write an interval without its bounds: "every 90 seconds", "every 5 minutes starting at 0:04:56". Return also
    whether the text means the same in every zone. None if days, times of the day or minutes of the hour are better.
    `origin` is the time of day and the zone to count from, if it is another time than the first of the day.
    """
    if trigger.interval is not None and trigger.interval.is_elapsed:
        return _elapsed(trigger, trigger.interval, origin or (trigger.interval.phase, "UTC")), True
    if (found := _unlisted(trigger)) is None:
        return None
    pace, wall = found
    text = f"every {_length(pace.seconds)}"
    is_said = trigger.start is not None and is_chosen(trigger)
    return (
        (text, trigger.tz == "UTC")
        if is_said
        else (f"{text} starting at {clock_text(origin[0] if origin else wall)}", False)
    )


def _elapsed(trigger: Trigger, interval: Interval, origin: tuple[int, str]) -> str:
    text = f"every {_length(interval.n)}"
    if trigger.start is not None and is_chosen(trigger):
        return text
    if trigger.start is None and not interval.phase and interval.n % 60:
        return text
    if _DAY % interval.n == 0 and trigger.start is None:
        return f"{text} starting at {clock_text(origin[0])} {origin[1]}"
    return f"{text} counted from {_EPOCH + timedelta(seconds=interval.phase):%Y-%m-%dT%H:%M:%SZ}"


def _unlisted(trigger: Trigger) -> tuple[Pace, int] | None:
    """Return an interval that divides its unit, and its first time of the day. None if that time is a multiple of the
    interval, or if there are few enough times to list.
    """
    found = phase_in(trigger)
    if found is None:
        return None
    pace, wall = found
    match pace.unit:
        case "second":
            is_odd = bool(wall % pace.n)
        case "minute":
            is_odd = bool(wall % 60) or (60 // pace.n > MAX_TIMES and bool(wall // 60 % pace.n))
        case _:
            is_odd = bool(wall % 60) or (24 // pace.n > MAX_TIMES and bool(wall // 3600 % pace.n))
    return found if is_odd else None


def _length(seconds: int) -> str:
    """Write a length in one unit. Whole days stay hours, because a number of days would need an hour of the day."""
    size, unit = next(one for one in ((3600, "hour"), (60, "minute"), (1, "second")) if seconds % one[0] == 0)
    n = seconds // size
    return unit if n == 1 else f"{n} {unit}s"


def is_chosen(trigger: Trigger) -> bool:
    """Return whether words that start the interval at the trigger's start mean the same."""
    start, interval = trigger.start, trigger.interval
    if start is None:
        return interval is None
    second = (start - _EPOCH) // timedelta(seconds=1)
    if interval is None:
        unlisted = _unlisted(trigger)
        pace = pace_in(trigger) if unlisted is None else unlisted[0]
        counted = counted_from(replace(trigger, start=None, pace=pace), start)
        return (counted.rules, counted.interval) == (trigger.rules, None)
    if interval.is_elapsed:
        return second % interval.n == interval.phase
    said = pace_in(trigger)
    if said is None or (said.n, f"{said.unit}s") != (interval.n, interval.unit):
        return False
    first = replace(interval, n=1, phase=0).day_after(second - 1, rules=trigger.rules, tz=zone_of(trigger.tz))
    return first is None or interval.number(first, zone_of(trigger.tz)) % interval.n == interval.phase


def how_counted(trigger: Trigger, *, tz: str | None = None) -> str | None:
    """Write the start from which a plain interval is counted: "aligned to the clock", "counted from 1:29 UTC". None for
    any other trigger, and for an interval without a choice, as every minute. Times are on the clock of the zone `tz`,
    or of the trigger's zone if `tz` is None.
    """
    unlisted = _unlisted(trigger) if trigger.recurs and trigger.interval is None else None
    pace = pace_in(trigger) if unlisted is None else unlisted[0]
    is_plain = trigger.recurs and pace is not None and (pace.n > 1 or unlisted is not None)
    if trigger.interval is None and not is_plain:
        return None
    chosen = trigger.start is not None and is_chosen(trigger)
    if trigger.interval is None and pace is not None and pace.divides and not (chosen and unlisted):
        return "aligned to the clock"
    return "counted from its start" if chosen else f"counted from {_first(trigger, pace, tz)}"


def _first(trigger: Trigger, pace: Pace | None, tz: str | None) -> str:
    """Write the time of day from which an interval that divides a day is counted; for any other, the first instant."""
    if trigger.origin is not None:
        return f"{clock_text(trigger.origin[0])} {trigger.origin[1]}"
    name = tz or trigger.tz
    interval = trigger.interval
    seconds = interval.n if interval is not None and interval.is_elapsed else 0 if pace is None else pace.seconds
    first = replace(trigger, start=None, end=None).next_after(_EPOCH - timedelta(seconds=1))
    if first is None:
        return "1970"
    if seconds and seconds < _DAY and _DAY % seconds == 0:
        second = (first - _EPOCH) // timedelta(seconds=1)
        walls = {(second + offset) % seconds for _, _, offset in segments(name, _PRESENT)}
        return f"{clock_text(walls.pop())} {name}" if len(walls) == 1 else f"{clock_text(second % seconds)} UTC"
    local = first.astimezone(zone_of(name)).replace(tzinfo=None)
    return f"{date_text(local)} at {time_text(local)} {name}"
