"""The setting WORKKIT of a project, and schedules by keys that it shares with the OPTIONS of a backend."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from workkit.errors import Invalid
from workkit.text.nearest import nearest_word
from workkit.text.wording import listed
from workkit.verbs.creation import Schedule, create

SETTING = "WORKKIT"
NAME = "schedule"
CREATE = tuple(name for name in inspect.signature(create).parameters if name != "name")  # keywords


def default_schedule() -> Schedule:
    """The schedule that settings.WORKKIT names: ``s = default_schedule()`` in a `jobs.py`. No I/O. Raises
    ImproperlyConfigured.
    """
    return schedule_of({}, where=SETTING)


def schedule_of(given: Mapping[str, Any], *, where: str) -> Schedule:
    """Make a schedule by keywords of `create`, its name among them; what they leave out, WORKKIT says. `where`: the
    setting they are from. Raises ImproperlyConfigured.
    """
    said = {"tz": settings.TIME_ZONE, **in_workkit(), **given}
    name = said.pop(NAME, None)
    if name is None:
        hint = f'Write {SETTING} = {{"{NAME}": "shop"}} in your settings.'
        raise ImproperlyConfigured(f"{where} names no schedule. {hint}")
    try:
        return create(name, **said)
    except (Invalid, TypeError) as error:  # TypeError: a value of another type
        raise ImproperlyConfigured(f"{where}: {error}") from error


def check_keys(given: Any, accepted: Sequence[str], *, where: str) -> None:
    """Refuse a setting that is no mapping, or has a key that it cannot have. Raises ImproperlyConfigured."""
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{where} is {given!r}, not a dict. Write a dict with {listed(accepted)}.")
    for key in given:
        if key not in accepted:
            near = nearest_word(str(key), accepted)
            hint = f'Did you mean "{near}"?' if near else f"Accepted: {', '.join(accepted)}."
            raise ImproperlyConfigured(f"{where} has {key!r}, which is not a setting of workkit. {hint}")


def in_workkit() -> Mapping[str, Any]:
    """What settings.WORKKIT says; nothing where there is none. Raises ImproperlyConfigured."""
    given: Any = getattr(settings, SETTING, {})
    check_keys(given, (NAME, *CREATE), where=SETTING)
    found: Mapping[str, Any] = given
    return found
