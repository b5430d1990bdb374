"""A trigger in plain English. Every valid trigger has a sentence; where the grammar reads it, it means the same."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from workkit.text.calendar import date_text, full_date_text, time_text
from workkit.triggers.clock.zone import zone as zone_of
from workkit.triggers.crons.cron import Cron, parse_cron
from workkit.triggers.english.spoken_clock import spoken_clock
from workkit.triggers.english.spoken_days import spoken_days
from workkit.triggers.english.spoken_interval import is_chosen, spoken_interval
from workkit.triggers.trigger import Trigger

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def explain(trigger: Trigger, *, zone: bool = True) -> str:
    """Say in English when a trigger fires: "every weekday at 9:00 UTC". Without `zone`, UTC is left out."""
    return _explained(trigger, trigger.origin, zone)


@lru_cache(maxsize=1024)
def _explained(trigger: Trigger, origin: tuple[int, str] | None, zone: bool) -> str:
    """Say it once for equal triggers with the same origin, which is no part of their equality."""
    name = f" {trigger.tz}" if zone or trigger.tz != "UTC" else ""
    if not trigger.recurs:
        return _once(trigger, name)
    if (interval := spoken_interval(trigger, origin)) is not None:
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
    """Put bounds and the zone behind what recurs, if that depends on the zone; a bound in UTC needs none."""
    if not bounds:
        return text if is_free else text + zone
    if not is_free:
        return f"{text}{zone}, {bounds}"
    return f"{text}, {bounds}" if bounds.endswith("Z") else f"{text}, {bounds}{zone}"


def _once(trigger: Trigger, zone: str) -> str:
    """Say one instant by the wall clock, or by UTC where a change of the clock shows that time twice."""
    local = _instant(parse_cron(trigger.rules[0], stored=True))
    utc = _instant(parse_cron(trigger.cron or trigger.rules[0], stored=True))
    if local.replace(tzinfo=zone_of(trigger.tz)).astimezone(UTC) != utc.replace(tzinfo=UTC):
        local, zone = utc, " UTC"
    return f"once, {full_date_text(local)} at {time_text(local)}{zone}"


def _instant(cron: Cron) -> datetime:
    year, month, day, _, hour, minute, second = (part.items[0].low for part in cron.fields)
    return datetime(year, month, day, hour, minute, second)


def _sentence(crons: list[Cron], origin: int | None) -> tuple[str, bool]:
    """Say rules that share their dates; and tell whether that is the same in every zone."""
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
