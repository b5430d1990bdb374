"""Instants as a test writes them: words, ISO, a datetime, a length of time. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EARLY = datetime(1970, 1, 2, tzinfo=UTC)

Moment = str | datetime | timedelta


def read_moment(given: Moment, *, name: str, now: datetime, tz: str) -> datetime:
    """Read an instant, in the past too. Words are read as if they were said `now`, in the zone `tz`; a timedelta counts
    from now. Raises TriggerError, PhraseError.
    """
    from workkit.triggers.between import instant  # what reads words takes a while to import

    if isinstance(given, timedelta):
        return now + given
    return instant(name, given, _EARLY if isinstance(given, str) and _is_iso(given) else now, tz)


def _is_iso(text: str) -> bool:
    try:
        datetime.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
