"""One command line, from its words to its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from workkit.cli.host import NO_HOST, Host
from workkit.cli.printing import terminal
from workkit.cli.printing.warning import warnings_shown
from workkit.cli.tree import tree

COMPLETE = "_WORKKIT_COMPLETE"


def run(argv: Sequence[str] | None = None, *, host: Host | None = None) -> int:
    """See `workkit.cli.main`."""
    words = list(sys.argv[1:] if argv is None else argv)
    terminal.prepare()
    try:
        with warnings_shown():
            status = _run(words, host or NO_HOST)
        _flush()
    except BaseException as error:
        from workkit.cli import failure

        return failure.report(error, verbose=_verbose(words))
    return status


def _run(words: list[str], host: Host) -> int:
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(tree, {}, "workkit", COMPLETE, instruction)
    try:
        with tree.make_context("workkit", words, obj=host) as context:
            result = tree.invoke(context)
    except click.exceptions.Exit as answered:
        return answered.exit_code
    return result if isinstance(result, int) else 0


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def _verbose(words: list[str]) -> bool:
    options = words[: words.index("--")] if "--" in words else words
    return "--verbose" in options or "-v" in options
