"""The changes of a zone's clock, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from workkit.triggers.clock.lowering import segments

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """One change of the clock of the zone `tz`: at `second` (since 1970) its offset from UTC, in seconds, becomes
    another.
    """

    tz: str
    second: int
    before: int
    after: int

    @property
    def at(self) -> datetime:
        """The instant (aware UTC)."""
        return _EPOCH + timedelta(seconds=self.second)

    @property
    def skips(self) -> bool:
        """Whether it leaves local times out. If not, it shows them twice."""
        return self.after > self.before

    @property
    def wall_from(self) -> datetime:
        """What the clock would show at the change, had it not been set (as if it were UTC)."""
        return _EPOCH + timedelta(seconds=self.second + self.before)

    @property
    def wall_to(self) -> datetime:
        """What the clock shows from the change on (as if it were UTC)."""
        return _EPOCH + timedelta(seconds=self.second + self.after)


def clock_changes(tz: str, since: datetime, until: datetime) -> list[ClockChange]:
    """List the changes of a zone's clock after `since`, up to `until` (both aware), the first one first."""
    first, last = ((at - _EPOCH).total_seconds() for at in (since, until))
    return [
        ClockChange(tz=tz, second=change, before=before, after=after)
        for (_, _, before), (change, _, after) in pairwise(segments(tz, since.astimezone(UTC).year))
        if first < change <= last
    ]
