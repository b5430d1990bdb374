"""The value of ``--consumer``, completed from the files of this folder. They are read, never run."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from workkit.cli.folder import find_function, modules
from workkit.cli.source import names_in

DEEPEST = 3  # parts of the names of modules that are completed


class Consumer(StringParamType):
    """NAME=MODULE:FUNCTION. Checked where it is used, since the message is the same as in Python."""

    name = "consumer"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Name the modules of this folder, and behind a colon the functions of one."""
        job, equals, target = incomplete.rpartition("=")
        if not equals:
            return []
        module, colon, _ = target.partition(":")
        found = _functions(module) if colon else {f"{name}:" for name in _modules()}
        return [CompletionItem(f"{job}={one}") for one in sorted(found) if one.startswith(target)]


def _modules() -> set[str]:
    found = {name for depth in range(1, DEEPEST + 1) for name in modules(Path.cwd(), depth=depth)}
    return {name for name in found if all(part.isidentifier() and part[0] != "_" for part in name.split("."))}


def _functions(module: str) -> set[str]:
    file = find_function(module, Path.cwd())
    if file is None:
        return set()
    try:
        names = names_in(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return set()
    return {f"{module}:{name}" for name in names.functions if not name.startswith("_")}
