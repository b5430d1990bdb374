"""What a phrase is read against: its text, the present, the zone; and a wall-clock time there as an instant."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from workkit.errors import PhraseError
from workkit.text.calendar import time_text
from workkit.triggers.english.grammar.words import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """What a phrase is read against: its own text, the time and the zone."""

    text: str
    now: datetime
    zone: ZoneInfo
    offset: timedelta | None = None
    """East of UTC; its wall clock is read in place of the zone's."""

    @property
    def clock(self) -> tzinfo:
        """The zone or offset on whose wall clock the phrase is read."""
        return self.zone if self.offset is None else timezone(self.offset)

    @property
    def local(self) -> datetime:
        """The naive wall clock of the present."""
        return self.wall(self.now)

    def wall(self, moment: datetime) -> datetime:
        """Give the wall clock at an instant, naive; its `fold` tells the second of two equal times."""
        return moment.astimezone(self.clock).replace(tzinfo=None)

    def refusal(self, trouble: str, remedy: str | None = None, *, offered: str | None = None) -> PhraseError:
        """Make the error about the phrase as a whole; `offered` is a whole text that the remedy quotes."""
        message = f"{quote(self.text)}{'' if trouble.startswith(':') else ' '}{trouble}."
        error = PhraseError(
            f"{message} {remedy}." if remedy else message,
            given=self.text,
            position=0,
            trouble=trouble,
            remedy=f"{remedy}." if remedy else None,
            accepted=remedy,
        )
        error.offered = () if offered is None else (offered,)
        return error


def at_instant(here: Here, wall: datetime) -> datetime:
    """Give the UTC instant of a wall-clock time, the first if there are two; refuse one that is skipped."""
    found = wall.replace(tzinfo=here.clock).astimezone(UTC)
    if found.astimezone(here.clock).replace(tzinfo=None) == wall:
        return found
    shown = [time_text(t) for t in gap(wall, here.zone)]
    later = time_text(found.astimezone(here.zone))
    raise here.refusal(
        f"does not exist in {here.zone.key}: clocks go from {shown[0]} to {shown[1]} then",
        f"Say {_half_day(later)}, or give UTC",
    )


def gap(wall: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """Give the wall clock just before and just after the change that skips `wall`, or shows it twice."""
    low = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    high = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    low, high = min(low, high) - timedelta(hours=1), max(low, high) + timedelta(hours=1)
    before = low.astimezone(zone).utcoffset()
    while high - low > timedelta(seconds=1):
        middle = low + (high - low) // 2
        low, high = (middle, high) if middle.astimezone(zone).utcoffset() == before else (low, middle)
    change = high.replace(microsecond=0)
    assert before is not None
    return (change + before).replace(tzinfo=None), change.astimezone(zone).replace(tzinfo=None)


def _half_day(time: str) -> str:
    hour, rest = time.split(":", 1)
    return f"{(int(hour) - 1) % 12 + 1}:{rest}{'am' if int(hour) < 12 else 'pm'}"
