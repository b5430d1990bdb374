"""The part of time that a page looks at: instants as somebody types them, the window of an address. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from urllib.parse import urlencode

from workkit.contract.history import KEPT_MS, Tier
from workkit.errors import InvalidOptions, TriggerError
from workkit.text.duration import MILLISECOND
from workkit.text.wording import zone_name
from workkit.web.charts.axis import SPANS, Axis, Span, axis

LONGEST: Final = 100
ACCEPTED_INSTANTS: Final = '"2 hours ago", "yesterday 14:00", "Monday 9am", 2026-11-20T14:00'
SECOND: Final = timedelta(seconds=1)
_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_DAY: Final = re.compile(r"(today|yesterday|tomorrow)\b\s*(?:at\b)?\s*(.*)", re.IGNORECASE)
_AGO: Final = re.compile(r"(.*\S)\s+ago", re.IGNORECASE)
_BACK: Final = (timedelta(days=7), timedelta(days=31), timedelta(days=366))


def read_instant(text: str, *, name: str, now: datetime, zone: tzinfo) -> datetime:
    """Read an instant; words that fit several are those of the last one before now. Raises InvalidOptions, which names
    the parameter.
    """
    found = None
    if len(text) <= LONGEST:
        try:
            found = instant(text, now=now, zone=zone, leans_back=True)
        except (TriggerError, OverflowError, ValueError):
            found = None
    if found is None:
        trouble = "is no time that is understood"
        remedy = f"Write for example {ACCEPTED_INSTANTS}."
        raise InvalidOptions.about(
            f'{name}="{text[:LONGEST]}"', trouble, remedy, where=name, given=text, accepted=ACCEPTED_INSTANTS
        )
    return found


def instant(text: str, *, now: datetime, zone: tzinfo, leans_back: bool = False) -> datetime | None:
    """Read an instant: ISO, on the wall clock of `zone` where it names no other; how long ago; words, with a day of the
    past too. Other words mean the next time they fit, of what recurs too; with `leans_back` the last one before now,
    and what recurs is refused. Raises TriggerError as the reader of phrases does, OverflowError for what no calendar
    has.
    """
    text = text.strip()
    if text.lower() == "now":
        return now
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        pass
    else:
        return at if at.tzinfo is not None else at.replace(tzinfo=zone)
    if (ago := _AGO.fullmatch(text)) is not None:
        from workkit.triggers.duration import duration  # its grammar takes a while to import

        return now - duration(ago[1], name="ago")
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    if (day := _DAY.fullmatch(text)) is not None:
        start = midnight + timedelta(days=_DAYS[day[1].lower()])
        return _once(f"today {day[2]}", start, zone) if day[2] else start
    return _back(text, midnight, now, zone) if leans_back else _next(text, now, zone)


def _back(text: str, midnight: datetime, now: datetime, zone: tzinfo) -> datetime | None:
    first = _once(text, midnight, zone)
    if first is None or first <= now:
        return first
    for back in _BACK:
        found = _once(text, now - back, zone)
        if found is not None and found <= now:
            return found
    return first


def _once(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """Read words that mean one time, as if they were said at that time."""
    from workkit.triggers.when import When, read_when

    return read_when(When(at=text, tz=zone_name(zone)), now=now).next_after(now - SECOND)


def _next(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    from workkit.triggers.when import read_when

    return read_when(text, now=now, tz=zone_name(zone)).next_after(now - SECOND)


ACCEPTED_SPANS: Final[tuple[Span, ...]] = ("24h", "2h", "7d", "90d")  # the first is the default
FURTHEST: Final = timedelta(days=3660)
FINEST: Final[dict[Span, Tier]] = {"2h": "1", "24h": "5", "7d": "h", "90d": "d"}
_TIERS: Final[tuple[Tier, ...]] = ("1", "5", "h", "d")


def read_middle(text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """Read the middle of a window: see `instants.instant`. Raises PhraseError or CronError as the reader of phrases
    does, InvalidOptions for what lies ten years off.
    """
    try:
        found = instant(text, now=now, zone=zone)
    except OverflowError:
        found = None
    if found is None or abs(found - now) > FURTHEST:
        raise InvalidOptions.about(
            f'at="{text}"', "is too far off", "Accepted: an instant within ten years.", where="at", given=text
        )
    return found.astimezone(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The addresses beside this one, each below the schedule's."""

    spans: tuple[tuple[Span, str], ...]
    groups: tuple[tuple[str, str], ...]
    all: str
    earlier: str
    now: str
    later: str


def read_axis(params: Mapping[str, str], span: Span, *, now: datetime, zone: tzinfo) -> Axis:
    """Make the axis that an address asks for."""
    at = params.get("at", "").strip()
    return axis(span, now=now, zone=zone, at=read_middle(at, now=now, zone=zone) if at else None)


def links(axis: Axis, *, by: str, q: str, at: bool) -> Links:
    """Make the addresses beside a window: earlier and later by half of it. `at`: whether it is another than now's."""
    middle = axis.start + (axis.end - axis.start) / 2
    here = local_text(middle, axis.zone) if at else ""
    reach = SPANS[axis.span]

    def path(**other: str) -> str:
        return timeline_path(**{"span": axis.span, "at": here, "by": by, "q": q} | other)

    return Links(
        spans=tuple((span, path(span=span)) for span in ("2h", "24h", "7d", "90d")),
        groups=tuple((group, path(by=group)) for group in ("job", "fn", "listener")),
        all=path(q=""),
        earlier=path(at=local_text(middle - reach, axis.zone)),
        now=path(at=""),
        later=path(at=local_text(middle + reach, axis.zone)),
    )


def timeline_path(**params: str) -> str:
    """Write the address of a window: parameters that are empty or usual are left out."""
    usual = {"span": "24h", "by": "job"}
    known = {name: value for name, value in params.items() if value and usual.get(name) != value}
    return "timeline" + (f"?{urlencode(known)}" if known else "")


def local_text(at: datetime, zone: tzinfo) -> str:
    """Write an instant as the address has it: on the wall clock, with its offset, since a clock may show it twice."""
    return f"{at.astimezone(zone):%Y-%m-%dT%H:%M:%S%z}"


def tier_of(axis: Axis) -> Tier:
    """Choose the shortest cells that are drawn in a span, and kept as far back as it goes."""
    needed = (axis.now - axis.start) / MILLISECOND
    fitting = _TIERS[_TIERS.index(FINEST[axis.span]) :]
    return next((tier for tier in fitting if KEPT_MS[tier] >= needed), "d")
