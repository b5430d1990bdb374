"""`show`: one job in full, with what its last run has logged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

import click

from workkit.cli.command import Command
from workkit.cli.commands import control
from workkit.cli.commands.looking.list import traceback_rows
from workkit.cli.known import opened
from workkit.cli.live import Which
from workkit.cli.options import OPTIONAL, json_option, server_options, verbose_option, zone_of, zone_option
from workkit.cli.printing import record, terminal
from workkit.cli.settings import read_settings
from workkit.errors import NotFound, Unsupported
from workkit.jobs.job import NOT_KEPT, call_text
from workkit.jobs.meta import meta_text
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule


@click.command(
    "show",
    cls=Command,
    takes="[SCHEDULE] WHICH [OPTIONS]",
    about=(f"Show one job in full. {control.WHICH}",),
    examples=("workkit show app-tasks digest", "workkit show app-tasks 8cd9280b --json"),
    after=OPTIONAL,
)
@click.argument("words", type=Which(), nargs=-1, required=True, metavar="[SCHEDULE] WHICH")
@zone_option("zone of the times; default UTC")
@json_option("print the job as JSON")
@verbose_option
@server_options
def show_command(words: tuple[str, ...], tz: str | None, as_json: bool, server: str | None) -> None:
    """Show one job in full."""
    if len(words) > 2:
        raise click.UsageError(f'workkit show takes SCHEDULE and one WHICH; "{words[2]}" is one too many.')
    zone = zone_of(tz, read_settings())
    schedule, which = (words[0], words[1]) if len(words) == 2 else (None, words[0])
    s, job = _find(opened(schedule, command="show", server=server), which)
    from workkit.contract.mask import mask
    from workkit.verbs.opening import present

    logged = _logged(s, job)
    log = None if logged is None else mask().log(logged, call=(job.args, job.kwargs))
    if job.state == "done":  # what history keeps is masked
        job = mask().job(job)
    if as_json:
        terminal.data(record.compact(record.full_record(job) | ({} if log is None else {"log": log})))
        return

    for title, value in _details(job, zone, present(s)):
        terminal.say(f"{title:10}{wording.printable(value)}", indent=10)
    for row in traceback_rows(job):
        terminal.data(row)
    if log:
        terminal.data("log")
        for line in log:
            terminal.data(f"    {wording.printable(line)}")


def _find(schedules: list[Schedule], which: str) -> tuple[Schedule, Job]:
    from workkit import schedule as verbs

    missing: NotFound | None = None
    for s in schedules:
        try:
            return s, verbs.job(s, which)
        except NotFound as error:
            missing = missing or error
    assert missing is not None
    raise missing


def _logged(s: Schedule, job: Job) -> list[str] | None:
    """Read what its last run has logged; None where the layout keeps none."""
    from workkit.verbs.opening import producer_of

    try:
        return producer_of(s).inspector.history.log(job)
    except Unsupported:
        return None


def _details(job: Job, zone: tzinfo, now: datetime) -> Iterator[tuple[str, str]]:
    yield "id", job.id
    yield "schedule", job.schedule
    yield "name", job.name or "-"
    yield "function", call_text(job, most=None)
    if not job.args_kept:
        yield "arguments", NOT_KEPT
    yield "stored as", job.fn
    yield "when", record.words_of(job) or "once"
    if (counted := record.counted_of(job)) is not None:
        yield "counted", counted.removeprefix("counted ")
    if job.trigger is not None:
        yield "cron", job.trigger.cron or "none"
    if job.due is not None:
        title = "failed" if job.state == "dead" else "due"  # the dead set keeps when it failed
        yield title, f"{wording.instant_text(job.due, zone)}, {wording.distance(job.due, now, 3)}"
    yield "state", job.state
    if job.ending is not None:
        yield "ended", job.ending
    if job.why is not None:
        yield "why", job.why
    if job.queue is not None:
        yield "queue", job.queue
    yield "attempts", record.attempts_text(job)
    if job.meta:
        yield "meta", meta_text(job.meta)
    if job.progress is not None:
        yield "progress", wording.progress(job.progress)
    if job.error is not None:
        yield "error", job.error
