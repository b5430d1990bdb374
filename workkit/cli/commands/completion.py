"""`completion`: the script that teaches a shell workkit's commands, options, zones and live names."""

from __future__ import annotations

import os
from pathlib import Path

import click

from workkit.cli.command import Command
from workkit.cli.options import verbose_option
from workkit.cli.printing import terminal

SHELLS = ("bash", "zsh", "fish")


@click.command(
    "completion",
    cls=Command,
    takes="[bash|zsh|fish] [OPTIONS]",
    about=("Print the completion script for a shell; for the one of $SHELL unless told.",),
    examples=(
        'eval "$(workkit completion bash)"                  in ~/.bashrc',
        'eval "$(workkit completion zsh)"                   in ~/.zshrc',
        "workkit completion fish > ~/.config/fish/completions/workkit.fish",
    ),
)
@click.argument("shell", required=False, type=click.Choice(SHELLS))
@verbose_option
def completion_command(shell: str | None) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from workkit.cli.entry import COMPLETE
    from workkit.cli.tree import tree

    name = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(name) if name in SHELLS else None
    if kind is None:
        given = f'SHELL="{name}" is none of' if name else "SHELL is not set; name one of"
        raise click.UsageError(f"{given} bash, zsh and fish. Write for example: workkit completion bash.")
    terminal.data(kind(tree, {}, "workkit", COMPLETE).source())
