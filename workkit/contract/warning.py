"""Warnings that point at the user's line, however deep in workkit they arise."""

from __future__ import annotations

import sys
import warnings

from workkit.errors import WorkkitWarning

_OURS = __name__.partition(".")[0]


def warn_caller(message: str) -> None:
    """Issue a WorkkitWarning at the nearest line outside of workkit."""
    level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OURS:  # type: ignore[redundant-expr]
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, WorkkitWarning, stacklevel=level)
