"""The options of the verbs that add, checked by name: an unknown one is refused with the nearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workkit.errors import InvalidOptions
from workkit.nearest import nearest

OPTIONS = ("tz",)
ARGUMENTS = ("at", "in_", "every", "cron", "args", "kwargs")
DURATIONS = ("timeout",)  # said as durations wherever they are options


def check_options(verb: str, options: Mapping[str, Any]) -> None:
    """Refuse what is not an option of `verb`. Raises InvalidOptions, or TriggerError for a duration without unit."""
    for name, value in options.items():
        if name in DURATIONS:
            from workkit.triggers.duration import duration  # its grammar takes a while to import

            duration(value, name=name)
        if name not in OPTIONS:
            near = nearest(name, (*OPTIONS, *ARGUMENTS))
            hint = f"Did you mean {near}={value!r}?" if near else f"Options: {', '.join(OPTIONS)}."
            raise InvalidOptions(f"{name}={value!r} is not an option of {verb}. {hint}", given=value)
