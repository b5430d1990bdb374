"""The error about a value within a structured argument. A place is where it is: ``args[0].lines[2].quantity``."""

from __future__ import annotations

from typing import Any

from workkit.errors import InvalidArguments
from workkit.jobs.json_value import shown_value


def refused(place: str, value: Any, trouble: str, remedy: str | None = None) -> InvalidArguments:
    """Make the error about a value that does not fit: ``args[0].quantity: "three" is no whole number.``"""
    return InvalidArguments.about(f"{place}: {shown_value(value)}", trouble, remedy, where=place, given=value)


def missing(place: str) -> InvalidArguments:
    """Make the error about a field that has no default and is not there."""
    return InvalidArguments.about(place, "is missing", where=place)
