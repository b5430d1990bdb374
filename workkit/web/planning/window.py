"""Which part of time is looked at: `span` and `at` of an address, and the addresses of what is beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from urllib.parse import urlencode

from workkit.contract.history import KEPT_MS, Tier
from workkit.errors import InvalidOptions
from workkit.text.duration import MILLISECOND
from workkit.web.drawing.axis import SPANS, Axis, Span, axis
from workkit.web.typed.instants import instant

ACCEPTED: Final[tuple[Span, ...]] = ("24h", "2h", "7d", "90d")  # the first is the default
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


def read_axis(
    params: Mapping[str, str], span: Span, *, now: datetime, zone: tzinfo, typed_zone: tzinfo | None = None
) -> Axis:
    """Make the axis that an address asks for. `typed_zone`: where `at` is read, if not in the zone that is shown."""
    at = params.get("at", "").strip()
    return axis(span, now=now, zone=zone, at=read_middle(at, now=now, zone=typed_zone or zone) if at else None)


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
