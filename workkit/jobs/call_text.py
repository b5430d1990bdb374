"""A job as the call it makes, and its function as it is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from workkit.jobs.names import read_name, shown
from workkit.text.cells import shorten
from workkit.text.wording import printable

if TYPE_CHECKING:
    from workkit.jobs.job import Job

LONGEST_CALL = 200  # columns of a call in a line or a table


def call_text(job: Job, *, args: bool = True, most: int | None = LONGEST_CALL) -> str:
    """Write a job as the call it makes: ``app.users.activate("tracy@domain.com")``; its `args` may be left out. At most
    so many columns: an argument may have a million characters; None is all of it.
    """
    given = [_value(value) for value in job.args]
    given += [f"{key}={_value(value)}" for key, value in (job.kwargs or {}).items()]
    inside = ", ".join(given) if args or not given else "..."
    call = f"{shown(job.fn)}({inside})"
    return printable(call) if most is None else shorten(printable(call[: most + 1]), most)


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def spoken(fn: str) -> str:
    """Turn a stored name into the form that is typed: ``app.users:activate``; what is not Python's, as it is."""
    name = read_name(fn)
    return str(name) if name is not None and name.is_python else fn
