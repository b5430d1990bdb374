"""The trigger that a payload stores (spec/job.md), whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from workkit.errors import CronError, TriggerError
from workkit.triggers.clock.zone import zone
from workkit.triggers.crons.cron import LAST_SECOND, parse_cron
from workkit.triggers.crons.field import shown_text
from workkit.triggers.interval import Interval, plain, read_interval
from workkit.triggers.trigger import Trigger, is_one_second, published

MOST_RULES = 64  # of one trigger: each costs a search at every run
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_fields(fields: Mapping[str, Any], *, dialect: str = "published") -> Trigger:
    """Read the trigger that a payload stores, whoever wrote it. Raises CronError or TriggerError.

    `local` without `zone`, or fields of another type, are refused: half of a time is not a time.
    """
    start = _bound(fields, "from") if "from" in fields else None
    end = _bound(fields, "until") if "until" in fields else None
    if fields.get("interval") is not None and (interval := read_interval(fields["interval"])) is not None:
        return _counted(fields, interval, start, end, dialect)
    local = fields.get("local")
    if local is not None:
        return _local(local, fields.get("zone"), start, end)
    cron = fields.get("cron")
    if not isinstance(cron, str):
        raise CronError(f"cron={shown_text(repr(cron))} is not text.", given=cron)
    return from_cron(cron, dialect=dialect) if start is None and end is None else _stored(cron, dialect, start, end)


def from_cron(cron: str, *, dialect: str = "published") -> Trigger:
    """Read the trigger of a payload that says its time by its `cron` alone. Raises CronError."""
    if dialect == "published" and is_one_second(cron):
        return Trigger(cron=cron, recurs=False, rules=(cron,))
    return _stored(cron, dialect, None, None)


def zone_of_stored(trigger: Trigger | None, *, default: str, now: datetime) -> str:
    """Tell in which zone a stored trigger was given. A payload names none where seven UTC fields say the time: then it
    is the zone `default`, or UTC where words in that zone cannot have become this time.
    """
    if trigger is None or not trigger.recurs or default == "UTC":
        return default if trigger is None or trigger.tz == "UTC" else trigger.tz
    if trigger.tz != "UTC":
        return trigger.tz
    from workkit.triggers.clock.lowering import is_lowered

    if not follows_clock(trigger):
        return default

    return default if is_lowered(trigger.rules[0], zone=zone(default), since=now) else "UTC"


def follows_clock(trigger: Trigger) -> bool:
    """Tell whether its zone matters to a recurring trigger: intervals of minutes are the same in every zone."""
    from workkit.triggers.clock.lowering import is_elapsed

    if trigger.interval is not None and trigger.interval.is_elapsed:
        return False
    return not all(is_elapsed(parse_cron(rule, stored=True, rule=True)) for rule in trigger.rules)


def _counted(
    fields: Mapping[str, Any], interval: Interval, start: int | None, end: int | None, dialect: str
) -> Trigger:
    """Read a trigger whose instants, or whose days, an interval counts."""
    cron = fields.get("cron")
    if interval.is_elapsed and isinstance(cron, str):  # it is not read: it stands for those who do not know intervals
        return _bounded(Trigger(cron=None, recurs=True, rules=(cron,), interval=interval), start, end)
    rules = from_fields({name: value for name, value in fields.items() if name != "interval"}, dialect=dialect)
    for rule in rules.rules:
        plain(rule)
    return replace(rules, cron=None, recurs=True, interval=interval)


def _local(local: Any, tz: Any, start: int | None, end: int | None) -> Trigger:
    if not isinstance(local, list) or not local or not all(isinstance(rule, str) for rule in local):
        raise CronError(f"local={shown_text(repr(local))} is not a list of cron strings.", given=local)
    if not isinstance(tz, str):
        raise TriggerError(f"zone={shown_text(repr(tz))} is not a zone.", given=tz)
    if len(local) > MOST_RULES:
        raise CronError(f"local has {len(local):,} rules. Accepted: up to {MOST_RULES}.", given=len(local))
    return _zoned(tuple(local), tz, start, end)


def _bound(fields: Mapping[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is not None and (type(value) is not int or not 0 <= value <= LAST_SECOND * 1000):
        raise TriggerError(f"{name}={shown_text(repr(value))} is not a time in milliseconds.", given=value)
    return value


@lru_cache(maxsize=4096)
def _stored(cron: str, dialect: str, start: int | None, end: int | None) -> Trigger:
    if start is not None or end is not None:
        return _bounded(_stored(cron, dialect, None, None), start, end)
    if dialect == "cuckoo":
        from workkit.triggers.dialects.cuckoo import cuckoo

        return cuckoo(cron)
    return published(cron, stored=True)


@lru_cache(maxsize=4096)
def _zoned(rules: tuple[str, ...], tz: str, start: int | None, end: int | None) -> Trigger:
    zone(tz)
    for rule in rules:
        parse_cron(rule, stored=True, rule=True)
    return _bounded(Trigger(cron=None, tz=tz, recurs=True, rules=rules), start, end)


def _bounded(trigger: Trigger, start: int | None, end: int | None) -> Trigger:
    bounds = [None if ms is None else _EPOCH + timedelta(milliseconds=ms) for ms in (start, end)]
    return replace(trigger, start=bounds[0], end=bounds[1])
