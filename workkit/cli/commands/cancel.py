"""`cancel`: changing what stands in a schedule, by hand."""

from __future__ import annotations

import click

from workkit.cli import failure
from workkit.cli.command import Command
from workkit.cli.known import known
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import by_option, server_options, verbose_option
from workkit.cli.printing import terminal
from workkit.errors import NotFound, Unsupported, WorkkitError
from workkit.jobs.call_text import call_text

PART_FAILED = 1


@click.command(
    "cancel",
    cls=Command,
    takes="SCHEDULE WHICH... [OPTIONS]",
    about=(
        "Cancel jobs: a waiting one is gone, a running one is told so, a recurring one never comes again.",
        "WHICH is a name, an id, or the beginning of one (6 or more characters), as printed by add and list.",
    ),
    examples=("workkit cancel app-tasks 8cd9280b", "workkit cancel app-tasks nightly 09b802b1"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which(), nargs=-1, required=True)
@by_option
@verbose_option
@server_options
def cancel_command(schedule: str, which: tuple[str, ...], by: str | None, server: str | None) -> int:
    """Cancel jobs."""
    from workkit import schedule as verbs

    s = known(schedule, server=server)
    missed: list[WorkkitError] = []
    for one in which:
        try:
            job = verbs.cancel(s, one, by=by)
        except (NotFound, Unsupported) as error:
            missed.append(error)
            failure.show_error(error)
            continue
        running = job.state == "cancelling"
        word, tail = ("cancelling", "  it runs, and was told") if running else ("cancelled", "")
        terminal.say(f"{word} {job.short_id}  {call_text(job)}{tail}")
    if not missed:
        return 0
    return failure.status_of(missed[0]) if len(missed) == len(which) else PART_FAILED
