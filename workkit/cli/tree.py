"""One command line, from its words to its exit status: the commands, their groups in the help, and the answer to an
unknown word.
"""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from workkit.cli import terminal
from workkit.cli.terminal import warnings_shown

if TYPE_CHECKING:
    from workkit.cli.settings import Host


class CommandEntry(NamedTuple):
    """One command: the module that holds it, and its line in the tree."""

    module: str
    line: str


RARE = "Rare"
GROUPS: dict[str, dict[str, CommandEntry]] = {
    "Run": {
        "listen": CommandEntry("listen", "run due jobs of one or more schedules until stopped"),
        "demo": CommandEntry("demo", "see it work, here, in 12 seconds, without a server"),
    },
    "Add": {
        "add": CommandEntry("add", 'add a job at a time in words: "every weekday at 9am"'),
        "now": CommandEntry("add", "add a job to run at once"),
        "add-many": CommandEntry("add_many", "add jobs from a JSON Lines file, with a progress bar"),
        "sync": CommandEntry("sync", "make named jobs equal to a plan; shows the changes first"),
        "import": CommandEntry("sync", "a plan of what cron, Celery, APScheduler or RQ run"),
    },
    "Look": {
        "schedules": CommandEntry("listeners", "schedules of a server, and what is in each"),
        "list": CommandEntry("list", "jobs of a schedule, soonest first"),
        "show": CommandEntry("show", "one job in full"),
        "listeners": CommandEntry("listeners", "who is listening and what they run"),
        "stats": CommandEntry("listeners", "counts by state, and how late work is"),
        "runs": CommandEntry("runs", "what ran lately, of one job or of a schedule"),
        "result": CommandEntry("show", "what a job returned, if it keeps that"),
        "changes": CommandEntry("changes", "who changed what lately: pauses, runs by hand, syncs"),
        "dead": CommandEntry("list", "jobs that failed for good, with errors"),
        "web": CommandEntry("web", "schedules in the browser: what ran, what runs, what will"),
    },
    "Change": {
        "cancel": CommandEntry("control", "by id, beginning of an id (6+ characters) or name"),
        "pause": CommandEntry("control", "start nothing more of a schedule, a job or a function"),
        "resume": CommandEntry("control", "go on with what was paused"),
        "skip": CommandEntry("control", "leave out the next run of a recurring job"),
        "reschedule": CommandEntry("reschedule", "give a job another time, and keep everything else"),
        "run": CommandEntry("control", "run a job once now"),
        "retry": CommandEntry("dead", "run again what stands in the dead set"),
        "discard": CommandEntry("dead", "forget what stands in the dead set"),
    },
    "Time": {
        "next": CommandEntry("explain", "when words or a cron string fire (offline)"),
        "explain": CommandEntry("explain", "a cron string in English (offline)"),
    },
    "Care": {
        "doctor": CommandEntry("doctor", "find what is wrong with server, schedule and listeners"),
        "help": CommandEntry("help", "the page of a command or of a topic"),
    },
    RARE: {  # several are in one line, each with its words in brackets
        "batch": CommandEntry("batch", "jobs under one name"),
        "snooze": CommandEntry("control", "a next run"),
        "forward": CommandEntry("forward", "due jobs elsewhere"),
        "queues": CommandEntry("listeners", "on RabbitMQ"),
        "mark": CommandEntry("changes", "a release"),
        "wire": CommandEntry("wire", "dump, verify"),
        "schema": CommandEntry("help", "JSON, of a plan"),
        "completion": CommandEntry("help", "for bash, zsh, fish"),
    },
}
TOPICS = {
    "times": "words and cron strings for WHEN",
    "options": "the options of a job, which are keywords in Python",
    "running": "the options of the runs of a job",
    "listening": "rare options of listen",
    "filters": "FILTER of list, dead and runs",
    "server": "URLs, TLS, sentinels, layouts, settings",
}
ENTRIES = {name: entry for group in GROUPS.values() for name, entry in group.items()}
SUMMARY = "Run functions later, on any machine, at times said in English."
START = "'workkit COMMAND --help' teaches one command. Start with: workkit demo"
NAME_COLUMN, LINE_COLUMN = 9, 20


class Tree(click.Group):
    """The root of all commands. A command is imported when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every command, in the order of the tree."""
        return list(ENTRIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name."""
        entry = ENTRIES.get(cmd_name)
        if entry is None:
            return None
        module = import_module(f"workkit.cli.commands.{entry.module}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse options in front of the command, and show the right order."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        if args and args[0].startswith("-") and args[0] not in ("--help", "-h", "--version"):
            self._refuse_order(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_order(self, ctx: click.Context, args: list[str]) -> None:
        from workkit.brokers.redis_server.address import masked

        place = next((n for n, word in enumerate(args) if word in ENTRIES), None)
        if place is None:
            raise click.UsageError(
                f"{masked(args[0])} needs a command before it: workkit COMMAND {masked(args[0])}. All: workkit --help."
            )
        told = " ".join(shlex.quote(masked(word)) for word in (args[place], *args[place + 1 :], *args[:place]))
        raise click.UsageError(f"{masked(args[0])} stands before the command; options follow it: workkit {told}.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or suggest the nearest."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None or ctx.resilient_parsing:
            return name if command else None, command, args[1:]
        from workkit.cli.failure import command_hint  # needed only after an error

        hint = command_hint(name, ENTRIES) or "Commands: workkit --help."
        raise click.UsageError(f'workkit has no command "{name}". {hint}')

    def get_help(self, ctx: click.Context) -> str:
        """Draw the command tree, at the terminal's width."""
        return draw(terminal.help_width())


def draw(width: int) -> str:
    """Draw the tree: one command a line, wrapped at `width`."""
    lines = ["Usage: workkit COMMAND [OPTIONS] ...", "", *_wrapped(SUMMARY, width, "  ", "  "), ""]
    for title, commands in GROUPS.items():
        if title == RARE:
            words = ", ".join(f"{name} ({entry.line})" for name, entry in commands.items())
            lines += ["", *_wrapped(words, width, f"{f'{title}:':{NAME_COLUMN}}", " " * NAME_COLUMN)]
            continue
        for number, (name, entry) in enumerate(commands.items()):
            lead = f"{title}:" if number == 0 else ""
            head = f"{lead:{NAME_COLUMN}}{name:{LINE_COLUMN - NAME_COLUMN - 1}} "
            lines += _wrapped(entry.line, width, head, " " * LINE_COLUMN)
    topics = f"'workkit help TOPIC': {', '.join(TOPICS)}"
    return "\n".join([*lines, "", *_wrapped(START, width, "  ", "  "), *_wrapped(topics, width, "  ", "  ")])


def _wrapped(text: str, width: int, first: str, then: str) -> list[str]:
    if width < LINE_COLUMN + 20:
        then = " " * min(len(then), 4)
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_on_hyphens=False, break_long_words=False
    )


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from workkit._version import __version__

        terminal.data(f"workkit {__version__}")
        ctx.exit()


tree = Tree(
    "workkit",
    context_settings={"help_option_names": ["-h", "--help"]},
    params=[click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version)],
)


COMPLETE = "_WORKKIT_COMPLETE"


def run(argv: Sequence[str] | None = None, *, host: Host | None = None) -> int:
    """Run one command line: see `workkit.cli.main`."""
    words = list(sys.argv[1:] if argv is None else argv)
    terminal.prepare()
    try:
        with warnings_shown():
            status = _run(words, host)
        _flush()
    except BaseException as error:
        from workkit.cli import failure

        return failure.report(error, verbose=_verbose(words))
    return status


def _run(words: list[str], host: Host | None) -> int:
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
