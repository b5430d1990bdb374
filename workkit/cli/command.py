"""The classes of all commands and options: their help, and the rewriting of words before click parses them."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

from workkit.cli import terminal
from workkit.cli.spelling import at_layout, in_flags
from workkit.errors import WorkkitError

INDENT, TEXT_COLUMN, ENV_COLUMN = "  ", 26, 84
EMBEDDED, EMBEDDED_FOLDER = "--embedded", ".workkit"
PATH_STARTS = ("/", ".", "~")


class Option(click.Option):
    """An option with its place in the help.

    `section`: its heading. `topic`: the page of `workkit help` that explains it in full. The page of a command then
    shows `brief`, or only the name of the option if `brief` is empty.
    """

    def __init__(self, *args: Any, section: str = "", topic: str = "", brief: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section, self.topic, self.brief = section, topic, brief


class Command(click.Command):
    """One command. Its help has a sentence, examples that can be run, and options with their environment names.

    `shows`: options of topics that this command's page explains, by their names in Python. `topic`: the page that
    explains its `rare` options.
    """

    def __init__(
        self,
        *args: Any,
        takes: str,
        about: tuple[str, ...],
        examples: tuple[str, ...],
        after: str = "",
        shows: tuple[str, ...] = (),
        rare: tuple[str, ...] = (),
        topic: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.takes, self.about, self.examples, self.after = takes, about, examples, after
        self.shows, self.rare, self.topic = shows, rare, topic
        self.short_help = about[0]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read a bare ``--embedded`` as the default folder. The word after it is never a folder."""
        return super().parse_args(ctx, list(with_folder(args)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. An error that leaves it has the flags and arguments of this command line in its text."""
        try:
            return super().invoke(ctx)
        except WorkkitError as error:
            error.args = (at_layout(in_flags(str(error), self)), *error.args[1:])
            raise

    def get_help(self, ctx: click.Context) -> str:
        """Write the help at the terminal's width."""
        width = terminal.help_width()
        lines = [*wrapped(f"Usage: {ctx.command_path} {self.takes}", width, "", "         "), ""]
        for paragraph in self.about:
            lines += wrapped(paragraph, width, INDENT, INDENT)
        lines += [INDENT + example for example in self.examples]
        options = self.options()
        lines += option_lines([(one, one.brief or one.help) for one in options if self.shown(one)], width)
        lines += self._elsewhere([one for one in options if not self.shown(one)], width)
        for paragraph in self.after.splitlines():
            lines += wrapped(paragraph, width, INDENT, INDENT)
        return "\n".join(lines)

    def options(self) -> list[Option]:
        """Return the options that are not hidden."""
        return [one for one in self.params if isinstance(one, Option) and not one.hidden]

    def topic_of(self, option: Option) -> str:
        """Return the page of `workkit help` that explains an option in full; "" if this command's page does."""
        return self.topic if option.name in self.rare else option.topic

    def shown(self, option: Option) -> bool:
        """Return whether this command's page explains an option, instead of only naming it."""
        return bool(option.brief) or option.name in self.shows or not self.topic_of(option)

    def _elsewhere(self, options: list[Option], width: int) -> list[str]:
        """Name the options that other pages explain, one page a line."""
        pages: dict[str, list[str]] = {}
        for option in options:
            pages.setdefault(self.topic_of(option), []).append(max(option.opts, key=len))
        if not pages:
            return []
        column, lines = _column(width), ["More options:"]
        for topic, names in pages.items():
            lines += _entry(f"workkit help {topic}", " ".join(names), width, column)
        return lines


def option_lines(options: Sequence[tuple[Option, str | None]], width: int) -> list[str]:
    """Write options with their texts, under their headings."""
    lines, section = [], ""
    for option, text in options:
        if option.section != section:
            lines.append(f"{option.section}:")
            section = option.section
        lines += _option(option, text or "", width)
    return lines


def with_folder(args: Iterable[str]) -> Iterable[str]:
    """Add the default folder to every bare ``--embedded``. Refuse a path after a blank, and show the ``=``."""
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


def _column(width: int) -> int:
    return TEXT_COLUMN if width >= 60 else 6


def _entry(names: str, text: str, width: int, column: int) -> list[str]:
    """Write a name with its text beside it, or below it if the name is too long."""
    head = f"{INDENT}{names:{column - 4}}  " if len(names) <= column - 4 else None
    body = wrapped(text, width, head or " " * column, " " * column)
    return body if head else [INDENT + names, *body]


def _option(option: Option, text: str, width: int) -> list[str]:
    names = ", ".join(sorted(option.opts, key=len))
    if not option.is_flag:
        metavar = option.metavar or "VALUE"
        names += metavar if metavar.startswith("[") else f" {metavar}"
    env, column = _environment(option), _column(width)
    lines = _entry(names, text, width, column)
    if not env:
        return lines
    if width > ENV_COLUMN + len(env) and len(lines[-1]) < ENV_COLUMN:
        lines[-1] = f"{lines[-1]:{ENV_COLUMN}}{env}"
    elif len(lines[-1]) + 2 + len(env) <= width:
        lines[-1] += f"  {env}"
    else:
        lines += wrapped(env, width, " " * column, " " * column)
    return lines


def _environment(option: click.Option) -> str:
    if not isinstance(option.envvar, str):
        return ""
    return f"[{option.envvar}, comma-separated]" if option.multiple else f"[{option.envvar}]"


def wrapped(text: str, width: int, first: str, then: str) -> list[str]:
    """Break a text between words."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False, break_long_words=False
    )
