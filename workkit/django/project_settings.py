"""The setting WORKKIT of a project; schedules by keys that WORKKIT shares with the OPTIONS of a backend; and additions
that wait for the commit of their transaction.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, connections

from workkit.errors import Invalid
from workkit.jobs.importing import refuse_addition
from workkit.jobs.names import Fn
from workkit.text.nearest import nearest_word
from workkit.text.wording import listed
from workkit.verbs.bulk import prepared
from workkit.verbs.creation import Schedule, create

SETTING = "WORKKIT"
NAME = "schedule"
CREATE = tuple(name for name in inspect.signature(create).parameters if name != "name")  # keywords


def default_schedule() -> Schedule:
    """Make the schedule that settings.WORKKIT names: ``s = default_schedule()`` in a `jobs.py`. No I/O. Raises
    ImproperlyConfigured.
    """
    return schedule_of({}, where=SETTING)


def schedule_of(given: Mapping[str, Any], *, where: str) -> Schedule:
    """Make a schedule by keywords of `create`, with its name among them; WORKKIT supplies missing keywords. `where`:
    the setting that has these keywords. Raises ImproperlyConfigured.
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
    """Refuse a setting that is no mapping, or has an unknown key. Raises ImproperlyConfigured."""
    if not isinstance(given, Mapping):
        raise ImproperlyConfigured(f"{where} is {given!r}, not a dict. Write a dict with {listed(accepted)}.")
    for key in given:
        if key not in accepted:
            near = nearest_word(str(key), accepted)
            hint = f'Did you mean "{near}"?' if near else f"Accepted: {', '.join(accepted)}."
            raise ImproperlyConfigured(f"{where} has {key!r}, which is not a setting of workkit. {hint}")


def in_workkit() -> Mapping[str, Any]:
    """Return settings.WORKKIT; empty if it is not set. Raises ImproperlyConfigured."""
    given: Any = getattr(settings, SETTING, {})
    check_keys(given, (NAME, *CREATE), where=SETTING)
    found: Mapping[str, Any] = given
    return found


def add_on_commit(s: Schedule, fn: Fn | None = None, *, using: str | None = None, **given: Any) -> None:
    """Add a job when the present transaction is committed; if it is rolled back, add nothing. Outside a transaction add
    it at once.

    `given`: the keywords of `schedule.add`; without a time the job runs at once, as with `add_now`. `using`: the
    database of the transaction; None: the default one. This call reads words and checks the whole job: it raises an
    `Invalid`. ServerUnreachable or ServerRefused may come from the commit; then the data is stored and the job is not.
    """
    refuse_addition("add_on_commit")
    add_later(s, {"fn": fn, **given}, using=using)


def add_later(
    s: Schedule,
    given: Mapping[str, Any],
    *,
    using: str | None = None,
    at_once: bool = False,
    then: Callable[[], object] | None = None,
) -> None:
    """Add a job by the keywords of `add` when the transaction is committed, and call `then`. See `add_on_commit`.
    `at_once`: add it now, whether the transaction is committed or not.
    """
    add = prepared(s, given)

    def send() -> None:
        add()
        if then is not None:
            then()

    connection = connections[using or DEFAULT_DB_ALIAS]
    by_hand = connection.connection is not None and not connection.autocommit  # in this state Django refuses to wait
    if at_once or not (connection.in_atomic_block or by_hand):
        send()
    else:
        connection.on_commit(send)
