"""Warnings on stderr: those that a trigger bears, and those that the verbs issue."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from workkit.cli import terminal, wording
from workkit.errors import WorkkitWarning

_python_shows = warnings.showwarning
MOST = 20  # different warnings of one command; a file may hold a million rows


def warn(texts: Iterable[str]) -> None:
    """Print each on a line of its own."""
    for text in texts:
        terminal.talk(f"{terminal.paint('warning:', 'yellow', sys.stderr)} {wording.printable(text)}")


def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    """Print a WorkkitWarning as a line of its own, and leave others as Python shows them: a `warnings.showwarning`."""
    if issubclass(category, WorkkitWarning):
        warn([str(message)])
    else:
        _python_shows(message, category, *rest, **more)


@contextmanager
def warnings_kept() -> Iterator[None]:
    """Keep what the block issues as WorkkitWarning until it ends, however it ends; then print each text once."""
    kept: dict[str, int] = {}
    with warnings.catch_warnings():
        other = warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if not issubclass(category, WorkkitWarning):
                other(message, category, *rest, **more)
            elif len(kept) < MOST or str(message) in kept:
                kept[str(message)] = kept.get(str(message), 0) + 1

        warnings.simplefilter("always", WorkkitWarning)
        warnings.showwarning = keep
        try:
            yield
        finally:
            warn(text if times == 1 else f"{text} ({times:,} times)" for text, times in kept.items())
