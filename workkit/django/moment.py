"""Instants as a project has them: aware in UTC with USE_TZ, else naive in TIME_ZONE."""

from __future__ import annotations

from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone

from workkit.text.wording import epoch_ms


def of_ms(ms: int) -> datetime:
    """The instant so many milliseconds after 1970."""
    return of_instant(datetime.fromtimestamp(ms / 1000, UTC))


def of_instant(instant: datetime) -> datetime:
    """An aware instant, as the project has it."""
    if settings.USE_TZ:
        return instant
    naive: datetime = timezone.make_naive(instant, timezone.get_default_timezone())
    return naive


def aware(instant: datetime) -> datetime:
    """An instant of the project with its zone."""
    if timezone.is_aware(instant):
        return instant
    found: datetime = timezone.make_aware(instant, timezone.get_default_timezone())
    return found


def to_ms(instant: datetime) -> int:
    """Milliseconds from 1970 to an instant of the project."""
    return epoch_ms(aware(instant))


def now_ms() -> int:
    """Milliseconds from 1970 until now, by the clock of this machine."""
    return epoch_ms(datetime.now(UTC))


def of_iso(text: str) -> datetime:
    """The instant of a text in ISO 8601, with its zone."""
    return of_instant(datetime.fromisoformat(text))
