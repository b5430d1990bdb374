"""Errors about one option that gives a time, with their parts as fields."""

from __future__ import annotations

from typing import Final, TypeVar

from workkit.errors import TriggerError

NO_ZONE: Final = 'Use datetime(..., tzinfo=ZoneInfo("Europe/Paris")), or words with tz=.'
"""What to do about a naive datetime."""

E = TypeVar("E", bound=TriggerError)


def refused(
    kind: type[E],
    name: str,
    shown: str,
    trouble: str,
    remedy: str | None = None,
    *,
    given: object,
    accepted: str | None = None,
    suggestion: str | None = None,
) -> E:
    """Make the error ``name=shown trouble. Remedy``; a `trouble` may begin with a colon or end in a question mark."""
    joint, stop = "" if trouble.startswith(":") else " ", "" if trouble.endswith("?") else "."
    return kind(
        f"{name}={shown}{joint}{trouble}{stop}" + (f" {remedy}" if remedy else ""),
        given=given,
        where=name,
        trouble=trouble,
        remedy=remedy,
        accepted=accepted,
        suggestion=suggestion,
    )


def not_a_length(name: str, value: object, *, accepted: str) -> TriggerError:
    """Make the error about a value that is neither words nor a timedelta; a number lacks its unit."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        remedy = f'Write "{value}s" or timedelta(seconds={value}).'
        return refused(TriggerError, name, repr(value), "has no unit", remedy, given=value, accepted=accepted)
    trouble, remedy = "is no length of time", f"Accepted: {accepted}."
    return refused(TriggerError, name, repr(value), trouble, remedy, given=value, accepted=accepted)
