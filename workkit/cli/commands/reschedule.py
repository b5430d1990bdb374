"""`reschedule`: give a job another time, and print it beside the old one."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from workkit.cli import spelling, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.explain import instant_lines
from workkit.cli.known import check_known, tag_option
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import (
    by_option,
    is_typed,
    json_option,
    server_options,
    verbose_option,
    zone_of,
    zone_option,
)
from workkit.cli.settings import read_settings
from workkit.cli.terminal import warnings_kept
from workkit.contract import record
from workkit.jobs.job import call_text
from workkit.jobs.terms import spread_offset_ms
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.admin import Change
    from workkit.jobs.job import Job

SHOWN = 3  # the number of its next runs that are printed


@click.command(
    "reschedule",
    cls=Command,
    takes="SCHEDULE [WHICH] WHEN [OPTIONS]",
    about=(
        "Give a job another time. It keeps its function, arguments, options, name, pause and history; a run in "
        "progress continues.",
        "WHICH is a name, an id, or the beginning of one (6 or more characters). WHEN is words or a cron string, as "
        'one quoted argument; for a job that recurs, "every" may be left out.',
    ),
    examples=(
        'workkit reschedule app-tasks digest "weekday at 8am"',
        'workkit reschedule app-tasks 8cd9280b "tomorrow at 9am" --dry-run',
    ),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which())
@click.argument("when", nargs=-1, metavar="WHEN")
@tag_option("jobs")
@zone_option("zone of the words; default that of the job")
@click.option("--dry-run", cls=Option, is_flag=True, help="show what would change, change nothing")
@json_option("print the job as JSON, and what it was")
@by_option
@verbose_option
@server_options
def reschedule_command(
    schedule: str,
    which: str,
    when: tuple[str, ...],
    tag: str | None,
    tz: str | None,
    dry_run: bool,
    as_json: bool,
    by: str | None,
    server: str | None,
) -> None:
    """Give a job another time."""
    from workkit import schedule as verbs
    from workkit.contract.composed import owning_sync
    from workkit.verbs.control import chosen_jobs
    from workkit.verbs.opening import present, producer_of
    from workkit.verbs.rescheduling import all_rescheduled

    zone = zone_of(tz, read_settings())
    word: str | None = which
    if not when and tag is not None:
        word, when = None, (which,)
    elif not when:
        raise click.UsageError("Missing argument 'WHEN'.")
    if len(when) > 1:
        meant = spelling.time_of(spelling.with_stars(when), zone)
        command = f"workkit reschedule {shlex.quote(schedule)} {shlex.quote(which)} {meant}"
        raise spelling.Unquoted(f"WHEN is one argument. Put its words in quotes: {command}")
    s = check_known(verbs.create(schedule, redis=server, tz=wording.zone_name(zone)), server=server)
    given = {"typed": when[0], "tz": wording.zone_name(zone) if is_typed("tz") else None}
    with warnings_kept():
        moved = all_rescheduled(s, chosen_jobs(s, word, tag), given, by=by, dry_run=dry_run)
    for before, after in moved:
        if as_json:
            terminal.data(record.compact(_record(before, after, dry_run=dry_run)))
        else:
            for line in _lines(before, after, now=present(s), dry_run=dry_run):
                terminal.say(line)
        if after.new and (sync := owning_sync(producer_of(s).inspector, after.name)) is not None:
            _note(sync)


def _record(before: Job, after: Job, *, dry_run: bool) -> dict[str, object]:
    was = record.job_record(before)
    return record.job_record(after) | {
        "new": after.new,
        "was": {name: was[name] for name in ("id", "due", "cron", "tz", "words", "interval")},
        "next": [wording.iso(at) for at in _upcoming(after)],
        "dry_run": dry_run,
    }


def _lines(before: Job, after: Job, *, now: datetime, dry_run: bool) -> Iterator[str]:
    word = "already so" if not after.new else "would reschedule" if dry_run else "rescheduled"
    name = f"{wording.printable(after.name)} " if after.name else ""
    yield f"{word} {name}{after.short_id}  {call_text(after)}"
    if after.new:
        yield f"  was  {record.words_of(before) or 'at once'}"
    yield f"  now  {record.words_of(after) or 'at once'}"
    zone = zone_of(after.trigger.tz if after.trigger else None, read_settings())
    for line in instant_lines(_upcoming(after), zone=zone, now=now):
        yield f"  {line}"
    if after.state == "paused":
        yield f"  {wording.printable(after.why or 'paused')}: nothing runs until it is resumed"


def _upcoming(job: Job) -> list[datetime]:
    """Return the next runs. `spread` delays all of them by the same amount."""
    if job.due is None or job.trigger is None or not job.recurs:
        return [] if job.due is None else [job.due]
    off = timedelta(milliseconds=spread_offset_ms(job.terms, job.fn, job.args))
    return [job.due, *(at + off for at in job.trigger.upcoming(job.due - off, SHOWN - 1))]


def _note(sync: Change) -> None:
    by = f" of {wording.printable(sync.by)}" if sync.by else ""
    said = f"a plan owns this job, last set by sync{by}. The next sync sets it back: change its time there too."
    terminal.talk(f"{terminal.paint('note:', 'yellow', sys.stderr)} {said}")
