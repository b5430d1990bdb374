"""`retry` and `discard`: what stands in the dead set, put back to be run anew, or forgotten."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import failure, terminal, wording
from workkit.cli.command import Command, Option
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import server_options, server_words, verbose_option
from workkit.errors import WorkkitError

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

PART_FAILED = 1
SHOWN = 5  # of many, before asking


def _choice(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the ways to choose among the dead."""
    for option in (
        click.option("--yes", cls=Option, is_flag=True, help="do not ask"),
        click.option(
            "--where", cls=Option, metavar="TEXT", help="those with this text in function, arguments or error"
        ),
        click.option("--all", "everything", cls=Option, is_flag=True, help="all of them"),
        click.argument("which", type=Which(), nargs=-1),
        click.argument("schedule", type=ScheduleName()),
    ):
        function = option(function)
    return function


@click.command(
    "retry",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Put dead jobs back to be run anew: those named, those with a text, or all. Attempts count from the start.",
        "WHICH is an id, or the beginning of one (6 or more characters), as printed by workkit dead.",
    ),
    examples=(
        "workkit retry app-tasks 54111adf",
        'workkit retry app-tasks --where "disk full" --rate 100/minute',
        "workkit retry app-tasks 54111adf --args '[8]'",
    ),
)
@_choice
@click.option("--args", "args", cls=Option, metavar="JSON", help="other arguments, as a JSON list; for one job")
@click.option("--rate", cls=Option, metavar="N/UNIT", help="so many a second, minute, hour or day; default at once")
@verbose_option
@server_options
def retry_command(
    schedule: str,
    which: tuple[str, ...],
    everything: bool,
    where: str | None,
    yes: bool,
    args: str | None,
    rate: str | None,
    server: str | None,
) -> int:
    """Put dead jobs back."""
    from workkit import schedule as verbs
    from workkit.deadset import read_rate

    _check_choice("retry", schedule, which, everything, where)
    read_rate(rate)
    values = None if args is None else _arguments(args)
    s = verbs.create(schedule, redis=server)
    if which:
        return _each(s, which, "retried", lambda job: verbs.retry(s, job, args=values))
    found = list(verbs.jobs(s, state="dead", where=where))
    if (refused := _ask(s, found, "Retry", where=where, yes=yes)) is not None:
        return refused
    revived = verbs.retry(s, where=where, args=values, rate=rate)
    if revived < len(found):
        left = wording.plural(len(found) - revived, "other")
        terminal.talk(f"{left} cannot be run again: workkit dead {s.name}{server_words(server)}")
    terminal.data(f"retried {revived:,}" + (f", {rate}" if rate else ""))
    return 0 if revived == len(found) else PART_FAILED


@click.command(
    "discard",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Forget dead jobs: those named, those with a text, or all.",
        "WHICH is an id, or the beginning of one (6 or more characters), as printed by workkit dead.",
    ),
    examples=("workkit discard app-tasks 54111adf", 'workkit discard app-tasks --where "disk full"'),
)
@_choice
@verbose_option
@server_options
def discard_command(
    schedule: str, which: tuple[str, ...], everything: bool, where: str | None, yes: bool, server: str | None
) -> int:
    """Forget dead jobs."""
    from workkit import schedule as verbs

    _check_choice("discard", schedule, which, everything, where)
    s = verbs.create(schedule, redis=server)
    if which:
        return _each(s, which, "discarded", lambda job: verbs.discard(s, job))
    found = list(verbs.jobs(s, state="dead", where=where))
    if (refused := _ask(s, found, "Discard", where=where, yes=yes)) is not None:
        return refused
    terminal.data(f"discarded {verbs.discard(s, where=where):,}")
    return 0


def _check_choice(verb: str, schedule: str, which: tuple[str, ...], everything: bool, where: str | None) -> None:
    if which and (everything or where is not None):
        raise click.UsageError(f'"{which[0]}" and {"--all" if everything else "--where"} were both given. Keep one.')
    if not (which or everything or where is not None):
        raise click.UsageError(
            f"workkit {verb} needs to know which: ids as printed by workkit dead {schedule}, --where TEXT, or --all."
        )


def _arguments(text: str) -> list[Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--args {text}: not JSON ({error}). Write --args '[1, \"two\"]'.") from error
    if not isinstance(values, list):
        raise click.UsageError(f"--args {text}: not a list. Write --args '[{text}]'.")
    return values


def _each(s: Schedule, which: tuple[str, ...], word: str, act: Callable[[Job], int]) -> int:
    """Act on every dead job that is named; one that cannot be found or done is said, and the others go on."""
    from workkit.schedule import dead

    statuses = []
    for one in which:
        try:
            for job in dead(s, one):
                act(job)
                terminal.data(f"{word} {job.id[:8]}  {wording.call(job)}")
        except WorkkitError as error:
            if failure.status_of(error) == failure.SERVER:
                raise
            statuses.append(failure.status_of(error))
            failure.say(error)
    if not statuses:
        return 0
    return max(statuses) if len(statuses) == len(which) else PART_FAILED


def _ask(s: Schedule, found: list[Job], verb: str, *, where: str | None, yes: bool) -> int | None:
    """Show what would be done, and ask; the exit status where nothing is to be done."""
    if not found:
        terminal.talk(f"no dead jobs{f' with {where!r}' if where else ''} in {s.name}.")
        return 0
    if yes:
        return None
    if not terminal.is_terminal(sys.stdin):
        terminal.talk(
            f"{terminal.paint('error:', 'red', sys.stderr)} {wording.plural(len(found), 'dead job')} would be meant, "
            "and nobody is there to be asked. Add --yes."
        )
        return failure.REFUSED
    for job in found[:SHOWN]:
        terminal.talk(f"  {job.id[:8]}  {wording.printable(wording.call(job))}  {wording.printable(job.error or '')}")
    if len(found) > SHOWN:
        terminal.talk(f"  and {len(found) - SHOWN:,} more")
    if not click.confirm(f"{verb} {wording.plural(len(found), 'dead job')}?", err=True):
        terminal.talk("nothing was changed.")
        return 0
    return None
