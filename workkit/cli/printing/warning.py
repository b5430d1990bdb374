"""Warnings on stderr: those that a trigger bears, and those that the verbs issue."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from workkit.cli.printing import terminal
from workkit.errors import WorkkitWarning

MOST = 20  # different warnings of one command; a file may hold a million rows


def warn(texts: Iterable[str]) -> None:
    """Print each on a line of its own."""
    from workkit.cli.spelling import in_flags
    from workkit.text import wording

    context = click.get_current_context(silent=True)
    for text in texts:
        said = wording.printable(in_flags(text, context.command if context else None))
        terminal.talk(f"{terminal.paint('warning:', 'yellow', sys.stderr)} {said}")


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Print each WorkkitWarning of the block on a line of its own, at once."""
    with warnings.catch_warnings():
        other = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, WorkkitWarning):
                warn([str(message)])
            else:
                other(message, category, *rest, **more)

        warnings.showwarning = show
        yield


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
