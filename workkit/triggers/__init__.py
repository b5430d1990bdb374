"""Triggers: convert cron strings and English phrases to instants. Pure: reads no clock and no server."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from workkit.errors import CronError, PhraseError, TriggerError
from workkit.later import at_first_use

if TYPE_CHECKING:
    from workkit.triggers.dialect import cron
    from workkit.triggers.trigger import Trigger
else:
    __getattr__ = at_first_use(__name__, {"workkit.triggers.dialect": "cron", "workkit.triggers.trigger": "Trigger"})

__all__ = ["CronError", "PhraseError", "Trigger", "TriggerError", "cron", "explain", "parse"]

KEYWORDS: Final = ("when", "at", "in_", "every", "cron")
"""The keywords of an addition that give it a time."""


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def parse(text: str, *, now: datetime, tz: str | ZoneInfo = "UTC") -> Trigger:
    """Read a time in English, relative to the aware `now`, in the zone `tz`. Raises PhraseError, TriggerError."""
    from workkit.triggers.english import phrase

    return phrase.parse(text, now=now, tz=tz)


def explain(trigger_or_text: Trigger | str, *, zone: bool = True) -> str:
    """Write in English when a trigger, or a cron string, fires: "every weekday at 9:00 UTC".

    Without `zone`, the name UTC is left out, as in a list headed "times in UTC"; any other zone is always named.
    Raises CronError for an invalid cron string.
    """
    from workkit.triggers import dialect
    from workkit.triggers.english import sentence

    trigger = dialect.cron(trigger_or_text, "auto") if isinstance(trigger_or_text, str) else trigger_or_text
    return sentence.explain(trigger, zone=zone)
