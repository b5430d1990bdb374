"""What every command is made of: its help, and how its words are read before click sees them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable
from typing import Any

import click

from workkit.cli.printing import terminal
from workkit.cli.spelling import at_layout, in_flags
from workkit.errors import WorkkitError

INDENT, TEXT_COLUMN, ENV_COLUMN = "  ", 26, 84
EMBEDDED, EMBEDDED_FOLDER = "--embedded", ".workkit"
PATH_STARTS = ("/", ".", "~")


class Option(click.Option):
    """An option that knows under which heading of the help it stands."""

    def __init__(self, *args: Any, section: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Command(click.Command):
    """One command. Help is a sentence, examples that can be run, then options with their environment names."""

    def __init__(
        self, *args: Any, takes: str, about: tuple[str, ...], examples: tuple[str, ...], after: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.takes, self.about, self.examples, self.after = takes, about, examples, after
        self.short_help = about[0]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a bare ``--embedded`` as the default folder: the word after it is never one."""
        return super().parse_args(ctx, list(with_folder(args)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error leaves it with the names of this command line."""
        try:
            return super().invoke(ctx)
        except WorkkitError as error:
            error.args = (at_layout(in_flags(str(error), self)), *error.args[1:])
            raise

    def get_help(self, ctx: click.Context) -> str:
        """Write the help at the terminal's width."""
        width = terminal.help_width()
        lines = [*_wrap(f"Usage: {ctx.command_path} {self.takes}", width, "", "         "), ""]
        for paragraph in self.about:
            lines += _wrap(paragraph, width, INDENT, INDENT)
        lines += [INDENT + example for example in self.examples]
        section = ""
        for option in self.get_params(ctx):
            if not isinstance(option, Option) or option.hidden:
                continue
            if option.section != section:
                lines.append(f"{option.section}:")
                section = option.section
            lines += _option(option, width)
        for paragraph in self.after.splitlines():
            lines += _wrap(paragraph, width, INDENT, INDENT)
        return "\n".join(lines)


def with_folder(args: Iterable[str]) -> Iterable[str]:
    """Join the default folder to every bare ``--embedded``; refuse a path after a blank, showing the ``=``."""
    words = list(args)
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words):
        if place < end and word in (EMBEDDED, f"{EMBEDDED}="):
            follower = words[place + 1] if place + 1 < end else ""
            if word == EMBEDDED and (follower.startswith(PATH_STARTS) or _is_folder(follower)):
                raise click.UsageError(
                    f'{EMBEDDED} {follower}: the folder is joined to it with "=". Write {EMBEDDED}={follower}, '
                    f"or put {EMBEDDED} last if {follower} is not its folder."
                )
            yield f"{EMBEDDED}={EMBEDDED_FOLDER}"
        else:
            yield word


def _is_folder(word: str) -> bool:
    return os.sep in word and os.path.isdir(word)


def _option(option: click.Option, width: int) -> list[str]:
    names = ", ".join(sorted(option.opts, key=len))
    if not option.is_flag:
        metavar = option.metavar or "VALUE"
        names += metavar if metavar.startswith("[") else f" {metavar}"
    env = _environment(option)
    column = TEXT_COLUMN if width >= 60 else 6
    head = f"{INDENT}{names:{column - 4}}  " if len(names) <= column - 4 else None
    body = _wrap(option.help or "", width, head or " " * column, " " * column)
    lines = body if head else [INDENT + names, *body]
    if not env:
        return lines
    if width > ENV_COLUMN + len(env) and len(lines[-1]) < ENV_COLUMN:
        lines[-1] = f"{lines[-1]:{ENV_COLUMN}}{env}"
    elif len(lines[-1]) + 2 + len(env) <= width:
        lines[-1] += f"  {env}"
    else:
        lines += _wrap(env, width, " " * column, " " * column)
    return lines


def _environment(option: click.Option) -> str:
    if not isinstance(option.envvar, str):
        return ""
    return f"[{option.envvar}, comma-separated]" if option.multiple else f"[{option.envvar}]"


def _wrap(text: str, width: int, first: str, then: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False, break_long_words=False
    )
