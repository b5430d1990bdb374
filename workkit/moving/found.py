"""What a reader of another scheduler finds, entry by entry: carried over exactly, or refused with the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Carried:
    """An entry that a plan says exactly.

    ``when`` is a time as a plan takes it: words or a cron string. ``function`` is a plan's ``fn``, ``options`` holds
    its other keywords (``tz``, ``start``, ``catch_up`` ...). ``where`` is the place in the source (``line 12``,
    ``beat_schedule['digest']``). ``comments`` say what a person should know.
    """

    name: str
    when: str
    function: str
    args: list[object]
    kwargs: dict[str, object]
    options: dict[str, object]
    where: str
    comments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry that no plan says exactly: its place, its text, why, and what a person may write instead."""

    where: str
    text: str
    reason: str
    instead: str = ""


Found = Carried | Refused
