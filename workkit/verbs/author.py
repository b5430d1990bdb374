"""Who changes a schedule: what the caller says, else the environment, else the user of this program at its machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from workkit.contract.admin import LONGEST_BY, Author, Via
from workkit.jobs.option_readers import option_error

ENVIRONMENT = "WORKKIT_BY"

via: ContextVar[Via] = ContextVar("via", default="python")
"""Through which face this program makes its changes. The command line sets it."""


_acting: ContextVar[Author | None] = ContextVar("acting", default=None)


@contextmanager
def acting(author: Author) -> Iterator[None]:
    """Make all changes of this thread, whose callers do not say who makes them, in somebody's name."""
    token = _acting.set(author)
    try:
        yield
    finally:
        _acting.reset(token)


def author_of(by: Any) -> Author:
    """Read who makes a change; None: who acts in this thread, else as WORKKIT_BY says, else USER@HOST. Raises
    InvalidOptions.
    """
    if by is None and (author := _acting.get()) is not None:
        return author
    if by is None:
        return Author(by=os.environ.get(ENVIRONMENT, "").strip()[:LONGEST_BY] or _user_at_host(), via=via.get())
    if not isinstance(by, str) or not by.strip():
        raise option_error("by", by, "is not a name", 'Write a text such as by="alice".')
    if len(by) > LONGEST_BY:
        raise option_error("by", by, f"has {len(by):,} characters", f"Accepted: at most {LONGEST_BY}.")
    return Author(by=by, via=via.get())


@cache
def _user_at_host() -> str:
    import getpass  # these take a while to import
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run a user that has no name
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "?"
    return f"{user}@{socket.gethostname()}"[:LONGEST_BY]
