"""Triggers: convert cron strings and English phrases to instants. Pure: reads no clock and no server."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from workkit.errors import CronError, PhraseError, TriggerError
from workkit.triggers.dialect import cron
from workkit.triggers.trigger import Trigger

__all__ = ["CronError", "PhraseError", "Trigger", "TriggerError", "cron", "explain", "parse"]


def parse(text: str, *, now: datetime, tz: str | ZoneInfo = "UTC") -> Trigger:
    """Read a time in English, relative to the aware `now`, in the zone `tz`. Raises PhraseError, TriggerError."""
    from workkit.triggers.english import phrase

    return phrase.parse(text, now=now, tz=tz)


def explain(trigger_or_text: Trigger | str, *, zone: bool = True) -> str:
    """Write in English when a trigger, or a cron string, fires: "every weekday at 9:00 UTC".

    Without `zone`, the name UTC is left out, as in a list headed "times in UTC"; any other zone is always named.
    Raises CronError for an invalid cron string.
    """
    from workkit.triggers.english import sentence

    trigger = trigger_or_text if isinstance(trigger_or_text, Trigger) else cron(trigger_or_text, "auto")
    return sentence.explain(trigger, zone=zone)
