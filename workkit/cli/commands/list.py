"""`list` and `dead`: show jobs. Only `dead --acknowledge` changes anything: the findings of other commands."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING, NoReturn

import click

from workkit.brokers.layout import chosen_layout
from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands import control
from workkit.cli.commands.dead_errors import (
    acknowledge_dead,
    by_error,
    dead_records,
    show_errors,
    talk_known,
)
from workkit.cli.known import filter_help, look_options, most_rows, opened, paging_options
from workkit.cli.live import ScheduleName, listed_jobs, talk_once, unlisted_notes
from workkit.cli.options import (
    OPTIONAL,
    json_option,
    server_options,
    server_words,
    zone_of,
)
from workkit.cli.settings import read_settings
from workkit.cli.spelling import layout_words
from workkit.cli.table import Column
from workkit.contract import record
from workkit.contract.filters import read_where, understood
from workkit.contract.where import Where
from workkit.errors import ServerError
from workkit.jobs.job import call_text
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.inspector import Counts
    from workkit.jobs.job import Job, JobState
    from workkit.schedule import Schedule

DAY_WIDTH = 8
STATES = ("waiting", "due", "running", "cancelling", "retrying", "held", "paused", "dead")
JOBS = (
    Column(title="NEXT", least=20, rank=2),
    Column(title="ID", rank=1),
    Column(title="FUNCTION", cut_to=14, is_call=True),
    Column(title="WHEN", cut_to=14, rank=5),
    Column(title="NAME", cut_to=10, rank=4),
    Column(title="STATE"),
)
PROGRESS = Column(title="PROGRESS", cut_to=8, rank=3)
WHY = Column(title="WHY", cut_to=12, rank=6)
DEAD = (
    Column(title="FAILED", rank=2),
    Column(title="ID", rank=1),
    Column(title="FUNCTION", cut_to=18, is_call=True),
    Column(title="ATTEMPTS", rank=3),
    Column(title="ERROR", cut_to=18),
)
BY = ("job", "error")
FROM = (Column(title="REASON", rank=4), Column(title="QUEUE", cut_to=12, rank=5))


@click.command(
    "list",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("List jobs, soonest first; 50 by default.", filter_help("jobs")),
    examples=("workkit list app-tasks --where 'fn:app.export due:<1h'", "workkit list app-tasks --json | jq '.[].due'"),
    after=OPTIONAL,
)
@click.option("--state", cls=Option, type=click.Choice(STATES), metavar="STATE", help=", ".join(STATES))
@paging_options
@click.option("--watch", cls=Option, is_flag=True, help="refresh each second, until Ctrl-C")
@look_options
def list_command(
    schedule: str | None,
    state: JobState | None,
    where: str | None,
    tag: str | None,
    limit: int | None,
    everything: bool,
    tz: str | None,
    watch: bool,
    as_json: bool,
    server: str | None,
) -> None:
    """List jobs."""
    from workkit.verbs.control import read_tag

    most = most_rows(limit, everything)
    _check_watch(watch, as_json=as_json, everything=everything)
    zone = zone_of(tz, read_settings())
    meant = read_where(where, "jobs", tag=read_tag(chosen_layout(), tag))
    schedules = opened(schedule, command="list", server=server)
    if as_json:
        found = (job for s in schedules for job in islice(listed_jobs(s, state=state, where=meant), most))
        if not table.show_json(map(record.job_record, found)):
            _nothing(schedules, state, meant, server)
        talk_once(note for s in schedules for note in unlisted_notes(s, state))
        return
    if watch:
        _watch(schedules, state=state, where=meant, limit=limit, zone=zone)
    for s in schedules:
        jobs = list(islice(listed_jobs(s, state=state, where=meant), None if most is None else most + 1))
        if jobs:
            for line in (*_header(s, zone), *_rows(s, jobs[:most], zone)):
                terminal.data(line)
            _more(len(jobs), most, f"workkit list {s.name}{layout_words()}")
        else:
            _nothing([s], state, meant, server)
        talk_once(unlisted_notes(s, state))


def _check_watch(watch: bool, *, as_json: bool, everything: bool) -> None:
    if not watch:
        return
    if as_json or everything:
        other = "--json" if as_json else "--all"
        raise click.UsageError(f"--watch and {other} were both given. Keep one of them.")
    if not terminal.is_terminal(sys.stdout):
        raise click.UsageError("--watch draws on a terminal, and stdout is none. Leave it out.")


def _watch(
    schedules: Sequence[Schedule], *, state: JobState | None, where: Where, limit: int | None, zone: tzinfo
) -> NoReturn:
    """List the jobs each second, as many as fit the terminal. While the server is away, print that and ask again."""
    from workkit import schedule as verbs

    def frame(height: int) -> list[str]:
        lines: list[str] = []
        for number, s in enumerate(schedules):
            room = (height - len(lines)) // (len(schedules) - number)
            try:
                header = _header(s, zone)
                most = max(1, min(limit or height, room - len(header) - 2))  # without titles and the "more" line
                jobs = list(islice(listed_jobs(s, state=state, where=where), most + 1))
                more = ["and more"] if len(jobs) > most else []
                rows = [*_rows(s, jobs[:most], zone)] if jobs else ["none"]
                lines += [*header, *rows, *(terminal.paint(text, "dim", sys.stdout) for text in more)]
            except ServerError as error:
                words = f"{s.name}: {terminal.paint('error:', 'red', sys.stdout)} {wording.printable(str(error))}"
                lines += terminal.fitting(words, sys.stdout).split("\n")
        return lines

    verbs.counts(schedules[0])  # a server that cannot be reached at the start is an error
    terminal.refresh(frame)


def _header(s: Schedule, zone: tzinfo) -> list[str]:
    """Say how many jobs are in each state, and what is paused."""
    from workkit import schedule as verbs

    said = [f"{s.name}: {summary(verbs.counts(s))} Times in {wording.zone_name(zone)}.", *control.pauses(s, zone)]
    return [line for text in said for line in terminal.fitting(text, sys.stdout).split("\n")]


def _rows(s: Schedule, jobs: Sequence[Job], zone: tzinfo) -> Iterator[str]:
    from workkit.verbs.opening import present

    times = _times(jobs, now=present(s).astimezone(zone), least=DAY_WIDTH)
    rows = [_row(job, at, zone) for job, at in zip(jobs, times, strict=True)]
    columns: tuple[Column, ...] = JOBS
    if any(job.progress is not None for job in jobs):
        columns = (*JOBS, PROGRESS)
        for row, job in zip(rows, jobs, strict=True):
            row.append("-" if job.progress is None else wording.progress(job.progress))
    if any(job.why is not None for job in jobs):
        columns = (*columns, WHY)
        for row, job in zip(rows, jobs, strict=True):
            row.append(job.why or "-")
    return table.table_lines(columns, rows, width=terminal.table_width(sys.stdout))


def _more(count: int, most: int | None, command: str) -> None:
    if most is not None and count > most:
        terminal.talk(f"{most:,} shown, there are more. All of them: {command} --all")


def summary(counts: Counts) -> str:
    """Count the jobs by state: ``3 waiting, 1 dead. Listeners: 2.``"""
    said = [f"{counts.waiting:,} waiting"]
    for state in ("due", "running", "cancelling", "retrying", "held", "paused", "dead"):
        count = getattr(counts, state)
        said += [f"{count:,} {state}"] if count else []
    listeners = "unknown" if "listeners" in counts.unknown else f"{counts.listeners:,}"
    return f"{', '.join(said)}. Listeners: {listeners}."


def _row(job: Job, at: str, zone: tzinfo) -> list[str]:
    return [at, job.short_id, call_text(job), _when(job, zone), job.name or "-", job.state]


def _times(jobs: Iterable[Job], *, now: datetime, least: int = 0) -> list[str]:
    """Write the due times of jobs, day and time each in its own column, in the zone of `now`."""
    local = [job.due.astimezone(now.tzinfo) if job.due else None for job in jobs]
    days = [wording.near_day(at, now) if at else "-" for at in local]
    width = max([least, *map(len, days)])
    return [f"{day:{width}}  {at:%H:%M:%S}" if at else day for day, at in zip(days, local, strict=True)]


def _when(job: Job, zone: tzinfo) -> str:
    words = record.words_of(job)
    if words is None or (job.trigger is not None and not job.trigger.recurs):
        return "once"
    return words.removesuffix(f" {wording.zone_name(zone)}")


def _nothing(schedules: Iterable[Schedule], state: JobState | None, where: Where, server: str | None) -> None:
    for s in schedules:
        again = f"{s.name}{server_words(server)}"
        if unlisted_notes(s, state):
            terminal.talk(f"nothing that can be listed in {s.name}. Count its jobs: workkit stats {again}")
            continue
        if state is None and where.is_everything:
            terminal.talk(
                f"nothing in {s.name}. Add something: workkit now {s.name} MODULE:FUNCTION{server_words(server)}"
            )
            continue
        what = f"no {state} jobs" if state else "no jobs"
        text = "" if where.is_everything else f" that are meant ({wording.printable(understood(where))})"
        if where == Where(texts=where.texts) and where.texts:
            text = " with " + wording.printable(wording.listed(list(map('"{}"'.format, where.texts))))
        terminal.talk(f"{what}{text} in {s.name}. All: workkit list {again}")


@click.command(
    "dead",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=(
        "List the dead set: jobs that failed, have no attempt left, and wait for somebody to decide. The latest 50, "
        "each with its error. workkit retry runs them again; workkit discard forgets them.",
        filter_help("dead"),
    ),
    examples=(
        "workkit dead app-tasks",
        "workkit dead app-tasks --by error",
        "workkit dead app-tasks --json | jq '.[].error'",
    ),
    after=OPTIONAL,
)
@click.argument("schedule", type=ScheduleName(), required=False)
@paging_options
@click.option(
    "--by",
    cls=Option,
    type=click.Choice(BY),
    metavar="|".join(BY),
    help="job: a line a job; error: a line an error, with its number of jobs; default job",
)
@click.option("--acknowledge", cls=Option, is_flag=True, help="they are known: doctor reports only later ones")
@json_option()
@click.option("-v", "--verbose", cls=Option, is_flag=True, help="show the traceback of each job, and of errors")
@server_options
def dead_command(
    schedule: str | None,
    where: str | None,
    tag: str | None,
    limit: int | None,
    everything: bool,
    tz: str | None,
    by: str | None,
    acknowledge: bool,
    as_json: bool,
    verbose: bool,
    server: str | None,
) -> None:
    """List dead jobs."""
    from workkit.verbs.control import read_tag
    from workkit.verbs.opening import present

    zone = zone_of(tz, read_settings())
    most = most_rows(limit, everything)
    meant = read_where(where, "dead", tag=read_tag(chosen_layout(), tag))
    schedules = opened(schedule, command="dead", server=server)
    if acknowledge:
        acknowledge_dead(schedules, "--where" if where else "--tag" if tag else None)
    elif as_json:
        found = (one for s in schedules for one in islice(dead_records(s, meant, by), most))
        if not table.show_json(found):
            _nothing(schedules, "dead", meant, server)
    for s in schedules if not (acknowledge or as_json) else ():
        if by == "error" and (errors := by_error(listed_jobs(s, state="dead", where=meant))):
            show_errors(errors, schedule=s.name, most=most, now=present(s).astimezone(zone))
            continue
        jobs = list(islice(listed_jobs(s, state="dead", where=meant), None if most is None else most + 1))
        if jobs:
            shown = jobs[:most]
            times = _times(shown, now=present(s).astimezone(zone))
            table.show_table(*_dead_table(shown, times))
            for job in shown if verbose else ():
                terminal.data(f"\n{job.short_id}  {call_text(job)}")
                for row in traceback_rows(job):
                    terminal.data(row)
            talk_known(s, shown)
            _more(len(jobs), most, f"workkit dead {s.name}{layout_words()}")
            asked = [word for flag, text in (("--where", where), ("--tag", tag)) if text for word in (flag, text)]
            chosen = shlex.join(asked) if asked else shown[0].short_id
            terminal.talk(wording.printable(f"retry: workkit retry {s.name} {chosen}{server_words(server)}"))
        else:
            _nothing([s], "dead", meant, server)


def _dead_table(jobs: Sequence[Job], times: Sequence[str]) -> tuple[tuple[Column, ...], list[list[str]]]:
    rows = [_dead_row(job, at) for job, at in zip(jobs, times, strict=True)]
    if not any(job.queue or job.why for job in jobs):
        return DEAD, rows
    return (*DEAD, *FROM), [[*row, job.why or "-", job.queue or "-"] for row, job in zip(rows, jobs, strict=True)]


def _dead_row(job: Job, at: str) -> list[str]:
    return [at, job.short_id, call_text(job), record.attempts_text(job), job.error or "-"]


def traceback_rows(job: Job) -> Iterator[str]:
    """Write the kept part of the traceback of its last error, indented; nothing if none is kept."""
    rows = job.failure.traceback.rstrip().splitlines() if job.failure else ()
    yield from (f"    {wording.printable(row)}" for row in rows)
