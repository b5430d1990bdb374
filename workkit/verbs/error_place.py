"""An error that says in which row, entry or file it arose."""

from __future__ import annotations

from typing import TypeVar

from workkit.errors import WorkkitError

E = TypeVar("E", bound=WorkkitError)


def located(error: E, where: str, *, then: str = "") -> E:
    """Put a place before the sentence of an error, and what to know behind it; the fields stay. Returns the error."""
    error.args = (f"{where}: {error}{then}",)
    error.where = where if error.where is None else f"{where}: {error.where}"
    return error
