"""A job as the call it makes, and its function as it is typed."""

from __future__ import annotations

from workkit.jobs.job import Job, argument_texts
from workkit.jobs.names import read_name, shown
from workkit.text.cells import shorten
from workkit.text.wording import printable

LONGEST_CALL = 200  # columns of a call in a line or a table


def call_text(job: Job, *, args: bool = True, most: int | None = LONGEST_CALL) -> str:
    """Write a job as the call it makes: ``app.users.activate("tracy@domain.com")``; its `args` may be left out. At most
    so many columns: an argument may have a million characters; None is all of it.
    """
    given = argument_texts(job)
    inside = ", ".join(given) if args or not given else "..."
    call = f"{shown(job.fn)}({inside})"
    return printable(call) if most is None else shorten(printable(call[: most + 1]), most)


def spoken(fn: str) -> str:
    """Turn a stored name into the form that is typed: ``app.users:activate``; what is not Python's, as it is."""
    name = read_name(fn)
    return str(name) if name is not None and name.is_python else fn
