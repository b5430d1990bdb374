"""`list`, `show` and `dead`: looking at jobs. Nothing here changes anything."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator
from datetime import datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

import click

from workkit.cli.command import Command, Option
from workkit.cli.commands import control
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import (
    OPTIONAL,
    Count,
    json_option,
    opened,
    server_options,
    server_words,
    verbose_option,
    zone_of,
    zone_option,
)
from workkit.cli.printing import record, table, terminal, wording
from workkit.cli.printing.table import Column
from workkit.cli.settings import read_settings
from workkit.errors import NotFound

if TYPE_CHECKING:
    from workkit.contract.inspector import Counts
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule

DEFAULT_LIMIT = 50
DAY_WIDTH = 8
STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
JOBS = (
    Column(title="NEXT", least=20),
    Column(title="ID"),
    Column(title="FUNCTION", shrinks=True),
    Column(title="WHEN"),
    Column(title="NAME"),
    Column(title="STATE"),
)
DEAD = (
    Column(title="FAILED"),
    Column(title="ID"),
    Column(title="FUNCTION", shrinks=True),
    Column(title="ATTEMPTS"),
    Column(title="ERROR"),
)


@click.command(
    "list",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("List jobs, soonest first; 50 unless told. TEXT matches function, arguments, name or error.",),
    examples=("workkit list app-tasks --state retrying", "workkit list app-tasks --json | jq '.[].due'"),
    after=OPTIONAL,
)
@click.argument("schedule", type=ScheduleName(), required=False)
@click.option("--state", cls=Option, type=click.Choice(STATES), metavar="STATE", help=", ".join(STATES))
@click.option("--where", cls=Option, metavar="TEXT", help="only jobs with this text")
@click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"so many; default {DEFAULT_LIMIT}")
@click.option("--all", "everything", cls=Option, is_flag=True, help="as many as there are")
@zone_option("zone of the times; default UTC")
@json_option()
@verbose_option
@server_options
def list_command(
    schedule: str | None,
    state: JobState | None,
    where: str | None,
    limit: int | None,
    everything: bool,
    tz: str | None,
    as_json: bool,
    server: str | None,
) -> None:
    """List jobs."""
    if everything and limit is not None:
        raise click.UsageError(f"--all and --limit {limit} were both given. Keep one of them.")
    from workkit import schedule as verbs

    zone = zone_of(tz, read_settings())
    most = None if everything else limit or DEFAULT_LIMIT
    schedules = opened(schedule, command="list", server=server)
    if as_json:
        found = (job for s in schedules for job in islice(verbs.jobs(s, state=state, where=where), most))
        if not record.show_json(map(record.job_record, found)):
            _nothing(schedules, state, where, server)
        return
    for s in schedules:
        jobs = list(islice(verbs.jobs(s, state=state, where=where), None if most is None else most + 1))
        if jobs:
            _table(s, jobs, most, zone)
        else:
            _nothing([s], state, where, server)


def _table(s: Schedule, jobs: list[Job], most: int | None, zone: tzinfo) -> None:
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    now = present(s).astimezone(zone)
    _folded(f"{s.name}: {summary(verbs.counts(s))} Times in {wording.zone_name(zone)}.")
    for pause in control.pauses(s, zone):
        _folded(pause)
    shown = jobs[:most]
    times = _times(shown, now=now, least=DAY_WIDTH)
    rows = [_row(job, at, zone) for job, at in zip(shown, times, strict=True)]
    if any(job.progress is not None for job in shown):
        said = ["-" if job.progress is None else wording.progress(job.progress) for job in shown]
        table.show_table(
            (*JOBS, Column(title="PROGRESS")), ([*row, words] for row, words in zip(rows, said, strict=True))
        )
    else:
        table.show_table(JOBS, rows)
    _more(len(jobs), most, f"workkit list {s.name}")


def _more(count: int, most: int | None, command: str) -> None:
    if most is not None and count > most:
        terminal.talk(f"{most:,} shown, there are more. All of them: {command} --all")


def summary(counts: Counts) -> str:
    """Say how many jobs stand where: ``3 waiting, 1 dead. Listeners: 2.``"""
    said = [f"{counts.waiting:,} waiting"]
    for state in ("due", "running", "retrying", "held", "paused", "dead"):
        count = getattr(counts, state)
        said += [f"{count:,} {state}"] if count else []
    return f"{', '.join(said)}. Listeners: {counts.listeners:,}."


def _row(job: Job, at: str, zone: tzinfo) -> list[str]:
    return [at, job.id[:8], wording.call_text(job), _when(job, zone), job.name or "-", job.state]


def _times(jobs: Iterable[Job], *, now: datetime, least: int = 0) -> list[str]:
    """Say when jobs are due, day and time each in a column of its own, in the zone of `now`."""
    local = [job.due.astimezone(now.tzinfo) if job.due else None for job in jobs]
    days = [wording.near_day(at, now) if at else "-" for at in local]
    width = max([least, *map(len, days)])
    return [f"{day:{width}}  {at:%H:%M:%S}" if at else day for day, at in zip(days, local, strict=True)]


def _when(job: Job, zone: tzinfo) -> str:
    words = record.words_of(job)
    if words is None or (job.trigger is not None and not job.trigger.recurs):
        return "once"
    return words.removesuffix(f" {wording.zone_name(zone)}")


def _nothing(schedules: Iterable[Schedule], state: str | None, where: str | None, server: str | None) -> None:
    for s in schedules:
        again = f"{s.name}{server_words(server)}"
        if state is None and where is None:
            terminal.talk(
                f"nothing in {s.name}. Add something: workkit now {s.name} MODULE:FUNCTION{server_words(server)}"
            )
            continue
        what = f"no {state} jobs" if state else "no jobs"
        text = f' with "{where}"' if where else ""
        terminal.talk(f"{what}{text} in {s.name}. All: workkit list {again}")


def _folded(text: str) -> None:
    width = terminal.table_width(sys.stdout)
    for line in textwrap.wrap(text, width) if width else [text]:
        terminal.data(line)


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
    if as_json:
        terminal.data(record.compact(record.full_record(job)))
        return
    from workkit.verbs.opening import present

    for title, value in _details(job, zone, present(s)):
        terminal.data(f"{title:10}{wording.printable(value)}")
    for row in _traceback(job):
        terminal.data(row)


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


def _details(job: Job, zone: tzinfo, now: datetime) -> Iterator[tuple[str, str]]:
    yield "id", job.id
    yield "schedule", job.schedule
    yield "name", job.name or "-"
    yield "function", wording.call_text(job, most=None)
    yield "stored as", job.fn
    yield "when", record.words_of(job) or "once"
    if (counted := record.counted_of(job)) is not None:
        yield "counted", counted.removeprefix("counted ")
    if job.trigger is not None:
        yield "cron", job.trigger.cron or "none"
    if job.due is not None:
        yield "due", f"{wording.instant_text(job.due, zone)}, {wording.distance(job.due, now, 3)}"
    yield "state", job.state
    if job.why is not None:
        yield "why", job.why
    yield "attempts", record.attempts_text(job)
    if job.progress is not None:
        yield "progress", wording.progress(job.progress)
    if job.error is not None:
        yield "error", job.error


@click.command(
    "dead",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("List the jobs that failed for good, with their errors; 50 unless told.",),
    examples=("workkit dead app-tasks", "workkit dead app-tasks --json | jq '.[].error'"),
    after=OPTIONAL,
)
@click.argument("schedule", type=ScheduleName(), required=False)
@click.option("--where", cls=Option, metavar="TEXT", help="only jobs with this text")
@click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"so many; default {DEFAULT_LIMIT}")
@click.option("--all", "everything", cls=Option, is_flag=True, help="as many as there are")
@zone_option("zone of the times; default UTC")
@json_option()
@click.option("-v", "--verbose", cls=Option, is_flag=True, help="show the traceback of each, and of errors")
@server_options
def dead_command(
    schedule: str | None,
    where: str | None,
    limit: int | None,
    everything: bool,
    tz: str | None,
    as_json: bool,
    verbose: bool,
    server: str | None,
) -> None:
    """List dead jobs."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    zone = zone_of(tz, read_settings())
    most = None if everything else limit or DEFAULT_LIMIT
    schedules = opened(schedule, command="dead", server=server)
    if as_json:
        found = (job for s in schedules for job in islice(verbs.jobs(s, state="dead", where=where), most))
        if not record.show_json(map(record.dead_record, found)):
            _nothing(schedules, "dead", where, server)
        return
    for s in schedules:
        jobs = list(islice(verbs.jobs(s, state="dead", where=where), None if most is None else most + 1))
        if jobs:
            shown = jobs[:most]
            times = _times(shown, now=present(s).astimezone(zone))
            table.show_table(DEAD, (_dead_row(job, at) for job, at in zip(shown, times, strict=True)))
            for job in shown if verbose else ():
                terminal.data(f"\n{job.id[:8]}  {wording.call_text(job)}")
                for row in _traceback(job):
                    terminal.data(row)
            _more(len(jobs), most, f"workkit dead {s.name}")
            chosen = shlex.join(["--where", where]) if where else shown[0].id[:8]
            terminal.talk(wording.printable(f"retry: workkit retry {s.name} {chosen}{server_words(server)}"))
        else:
            _nothing([s], "dead", where, server)


def _dead_row(job: Job, at: str) -> list[str]:
    return [at, job.id[:8], wording.call_text(job), record.attempts_text(job), job.error or "-"]


def _traceback(job: Job) -> Iterator[str]:
    """Write what is kept of the traceback of its last error, indented; nothing where there is none."""
    rows = job.failure.traceback.rstrip().splitlines() if job.failure else ()
    yield from (f"    {wording.printable(row)}" for row in rows)
