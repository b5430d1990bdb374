"""A slow reading of spec/cron.md, written apart from the engine: it walks days and tests every field by its text.

Only for texts that are in the grammar. Weekdays and months by number, values without leading zeros.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache

EPOCH = date(1970, 1, 1)
DAY_SECONDS = 86_400


@lru_cache(maxsize=4096)
def plain(text: str, low: int, high: int) -> frozenset[int]:
    """List the values of a field's items, leaving out v/n, L and #."""
    found: set[int] = set()
    for item in text.split(","):
        body, _, step = item.partition("/")
        if body in ("*", "?"):
            found |= set(range(low, high + 1, int(step or 1)))
        elif "-" in body:
            first, last = body.split("-")
            found |= set(range(int(first), int(last) + 1, int(step or 1)))
        elif body.isdigit() and int(step or 1) == 1:
            found.add(int(body))
    return frozenset(found)


@lru_cache(maxsize=4096)
def counted(text: str) -> tuple[tuple[int, int], ...]:
    """List a field's v/n as (v, n)."""
    items = [item.split("/") for item in text.split(",") if "/" in item and item.partition("/")[0].isdigit()]
    return tuple((int(v), int(n)) for v, n in items if int(n) > 1)


def fires(text: str, value: int, number: int, *, low: int, high: int) -> bool:
    """Tell whether a field names `value`, when it comes round for the `number`-th time since 1970."""
    return value in plain(text, low, high) or any(value == v and number % n == 0 for v, n in counted(text))


@lru_cache(maxsize=64)
def day_numbers(day: int) -> dict[tuple[int, int], int]:
    """Number the months that have such a day, by counting them."""
    having = [
        (year, month) for year in range(1970, 2200) for month in range(1, 13) if monthrange(year, month)[1] >= day
    ]
    return {when: number for number, when in enumerate(having, 1)}


def day_of_month_fits(text: str, when: date) -> bool:
    number = day_numbers(when.day)[when.year, when.month]
    is_last = (when + timedelta(days=1)).day == 1
    return fires(text, when.day, number, low=1, high=31) or (is_last and "L" in text.split(","))


def day_of_week_fits(text: str, when: date) -> bool:
    weekday = when.isoweekday() % 7
    if fires(text, weekday, (when - EPOCH).days // 7 + 1, low=0, high=6):
        return True
    is_last = (when + timedelta(days=7)).month != when.month
    items = text.split(",")
    return f"{weekday}#{(when.day + 6) // 7}" in items or (is_last and f"{weekday}L" in items)


def date_fits(cron: str, when: date) -> bool:
    year, month, day, weekday, *_ = cron.split(" ")
    if when.year not in plain(year, 1970, 9999) or not fires(month, when.month, when.year - 1969, low=1, high=12):
        return False
    joined = day.startswith("&")
    day = day.removeprefix("&")
    if day in ("*", "?") or weekday in ("*", "?"):
        return (day in ("*", "?") or day_of_month_fits(day, when)) and (
            weekday in ("*", "?") or day_of_week_fits(weekday, when)
        )
    both = day_of_month_fits(day, when), day_of_week_fits(weekday, when)
    return all(both) if joined else any(both)


def seconds_of(cron: str, when: date) -> Iterator[int]:
    """Walk a day's matching seconds in order."""
    *_, hours, minutes, seconds = cron.split(" ")
    day = (when - EPOCH).days
    for hour in range(24):
        if not fires(hours, hour, day + 1, low=0, high=23):
            continue
        for minute in range(60):
            if not fires(minutes, minute, day * 24 + hour + 1, low=0, high=59):
                continue
            number = (day * 24 + hour) * 60 + minute + 1
            for second in range(60):
                if fires(seconds, second, number, low=0, high=59):
                    yield hour * 3600 + minute * 60 + second


def next_second(cron: str, after: int, *, days: int) -> int | None:
    """Find the first matching second after `after` by walking at most `days` days; None if there is none in them."""
    today = EPOCH + timedelta(seconds=after)
    for ahead in range(days):
        when = today + timedelta(days=ahead)
        if not date_fits(cron, when):
            continue
        midnight = (when - EPOCH).days * DAY_SECONDS
        for second in seconds_of(cron, when):
            if midnight + second > after:
                return midnight + second
    return None
