"""What a phrase is read against: its text, the present, the zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from workkit.errors import PhraseError
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
