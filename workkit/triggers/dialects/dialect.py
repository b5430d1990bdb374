"""The dialects of cron strings by name, and the reader of each."""

from __future__ import annotations

from typing import Literal

from workkit.errors import CronError
from workkit.triggers.trigger import Trigger, published

Dialect = Literal["published", "standard", "cuckoo", "auto"]


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
            from workkit.triggers.dialects.cuckoo import cuckoo  # most programs never need it

            return cuckoo(text)
        case "standard" | "auto":
            from workkit.triggers.dialects.crontab import standard  # most programs never need it

            if dialect == "auto" and len(str(text).split()) == 7:
                return published(text)
            return standard(text, tz=tz, six=dialect == "standard")
    raise CronError(f"dialect={dialect!r} is not known. Accepted: published, standard, cuckoo, auto.", given=dialect)
