"""`mark`: say that something happened now, for those who look at the schedule later."""

from __future__ import annotations

import shlex

import click

from workkit.cli.command import Command
from workkit.cli.known import known
from workkit.cli.live import ScheduleName
from workkit.cli.options import by_option, server_options, verbose_option
from workkit.cli.printing import terminal
from workkit.text import wording


@click.command(
    "mark",
    cls=Command,
    takes="SCHEDULE TEXT [OPTIONS]",
    about=(
        "Say that something happened now: a release, a failover. The Timeline in the browser draws it, and workkit "
        "changes lists it. Nothing else changes.",
        "TEXT has 1 to 200 characters. A sync leaves a mark by itself.",
    ),
    examples=('workkit mark app-tasks "release 41"', 'workkit mark app-tasks "release 41" --by deploy'),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("text", nargs=-1, required=True)
@by_option
@verbose_option
@server_options
def mark_command(schedule: str, text: tuple[str, ...], by: str | None, server: str | None) -> None:
    """Mark the time."""
    from workkit import schedule as verbs

    if len(text) > 1:
        whole = wording.printable(shlex.quote(" ".join(text)))
        raise click.UsageError(f"TEXT is one argument. Put it in quotes: workkit mark {schedule} {whole}")
    s = known(schedule, server=server)
    verbs.mark(s, text[0], by=by)
    terminal.say(f"marked {s.name}: {wording.printable(text[0])}")
