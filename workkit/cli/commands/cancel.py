"""`cancel`: changing what stands in a schedule, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workkit.cli.command import Command
from workkit.cli.commands.control import each
from workkit.cli.known import known
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import by_option, server_options, verbose_option
from workkit.jobs.job import call_text

if TYPE_CHECKING:
    from workkit.jobs.job import Job


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
    from workkit.verbs.control import changeable, check_cancel
    from workkit.verbs.opening import producer_of

    s = known(schedule, server=server)
    inspector = producer_of(s).inspector

    def one(found: Job) -> str:
        job = verbs.cancel(s, found, by=by)
        running = job.state == "cancelling"
        word, tail = ("cancelling", "  it runs, and was told") if running else ("cancelled", "")
        return f"{word} {job.short_id}  {call_text(job)}{tail}"

    return each(which, lambda word: check_cancel(changeable(inspector, word)), one)
