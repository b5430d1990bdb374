"""Pure time: cron strings and English phrases in, instants out. No clock, no server, useful alone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from workkit.errors import CronError, PhraseError, TriggerError
from workkit.triggers.trigger import Dialect, Trigger, published

__all__ = ["CronError", "PhraseError", "Trigger", "TriggerError", "cron", "explain", "parse"]


def cron(text: str, dialect: Dialect = "published", *, tz: str = "UTC") -> Trigger:
    """Read a cron string.

    `published`: seven fields, year first, in UTC. `standard`: five fields or ``@daily`` and its like, or six with the
    second first, in `tz`. `cuckoo`: the Clojure code's order, second first and year last, in UTC. `auto`: seven
    fields published, five standard, six refused. Raises CronError with the place and what is accepted.
    """
    match dialect:
        case "published":
            return published(text)
        case "cuckoo":
            from workkit.triggers.dialects.cuckoo import cuckoo

            return cuckoo(text)
        case "standard" | "auto":
            from workkit.triggers.dialects.crontab import standard

            if dialect == "auto" and len(str(text).split()) == 7:
                return published(text)
            return standard(text, tz=tz, six=dialect == "standard")
    raise CronError(f"dialect={dialect!r} is not known. Accepted: published, standard, cuckoo, auto.", given=dialect)


def parse(text: str, *, now: datetime, tz: str | ZoneInfo = "UTC") -> Trigger:
    """Read a time in English, as it is meant at `now` (aware) in the zone `tz`. Raises PhraseError, TriggerError."""
    from workkit.triggers.english import phrase

    return phrase.parse(text, now=now, tz=tz)


def explain(trigger_or_text: Trigger | str, *, zone: bool = True) -> str:
    """Say in English when a trigger, or a cron string, fires: "every weekday at 9:00 UTC".

    Without `zone`, UTC is left unsaid, as in a list headed "times in UTC"; any other zone is always said. Raises
    CronError for a text that is no cron string.
    """
    from workkit.triggers.english import sentence

    return sentence.explain(trigger_or_text, zone=zone)
