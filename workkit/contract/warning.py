"""Warnings that point at the user's line, however deep in workkit they arise."""

from __future__ import annotations

import sys
import warnings

from workkit.errors import WorkkitWarning

_OURS = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning] = WorkkitWarning) -> None:
    """Issue a warning at the nearest line outside of workkit. A DeprecationWarning names what to write instead, and the
    version in which the old form goes (docs/versions.md).
    """
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:  # type: ignore[redundant-expr]
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, category, stacklevel=level)
