"""`add` and `now`: one job, said back as it was understood."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from workkit.cli import folder
from workkit.cli.command import Command, Option
from workkit.cli.commands.explain import INTERVALS, counting
from workkit.cli.live import ScheduleName
from workkit.cli.options import json_option, run_option_flags, server_options, verbose_option, zone_of, zone_option
from workkit.cli.printing import record, terminal, wording
from workkit.cli.printing.warning import warnings_kept
from workkit.cli.settings import read_settings

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

ARGUMENTS = "Each ARG is read as JSON if it is JSON, else as text: 5 is a number, '\"5\"' is text."


@click.command(
    "add",
    cls=Command,
    takes="SCHEDULE WHEN FUNCTION [ARG]... [OPTIONS]",
    about=(
        "Add FUNCTION to run at WHEN, and print what was understood. Adding the same again changes nothing.",
        f"WHEN is words or a cron string, as one quoted argument. {ARGUMENTS}",
        INTERVALS,
    ),
    examples=(
        'workkit add app-tasks "7pm tomorrow" app.cache:clear',
        'workkit add app-tasks "every weekday at 9am" app.reports:digest',
        'workkit add app-tasks "in 5 minutes" "#\'your-app.user/activate" a@b.c',
    ),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("when")
@click.argument("function")
@click.argument("args", nargs=-1)
@zone_option("zone of the words; default UTC")
@click.option("--dry-run", cls=Option, is_flag=True, help="show what would be added, add nothing")
@json_option("print the job as JSON")
@verbose_option
@run_option_flags
@server_options
def add_command(
    schedule: str,
    when: str,
    function: str,
    args: tuple[str, ...],
    tz: str | None,
    dry_run: bool,
    as_json: bool,
    run: dict[str, Any],
    server: str | None,
) -> None:
    """Add a job at a time in words."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    zone = wording.zone_name(zone_of(tz, read_settings()))
    fn, note = folder.checked(function, Path.cwd())
    given = {**run, "fn": fn, "args": [argument(text) for text in args], "when": when}
    if click.get_current_context().get_parameter_source("tz") is ParameterSource.COMMANDLINE:
        given["tz"] = zone
    s = verbs.create(schedule, redis=server, tz=zone)
    with warnings_kept():
        job = _imagined(s, given) if dry_run else verbs.add(s, **given)
    if dry_run:
        _print(job, "would add", as_json, now=datetime.now(UTC))
    else:
        _print(job, _became(job), as_json, now=present(s))
    _note(note, added=not dry_run)


@click.command(
    "now",
    cls=Command,
    takes="SCHEDULE FUNCTION [ARG]... [OPTIONS]",
    about=("Add FUNCTION to run at once; every call is a run of its own.", ARGUMENTS),
    examples=("workkit now app-tasks app.cache:clear", "workkit now app-tasks app.users:activate tracy@domain.com"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("function")
@click.argument("args", nargs=-1)
@json_option("print the job as JSON")
@verbose_option
@run_option_flags
@server_options
def now_command(
    schedule: str, function: str, args: tuple[str, ...], as_json: bool, run: dict[str, Any], server: str | None
) -> None:
    """Add a job to run at once."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    fn, note = folder.checked(function, Path.cwd())
    s = verbs.create(schedule, redis=server)
    with warnings_kept():
        job = verbs.add_now(s, fn, args=[argument(text) for text in args], **run)
    _print(job, _became(job), as_json, now=present(s))
    _note(note, added=True)


def argument(text: str) -> Any:
    """Read one ARG: what JSON makes of it, else the text itself."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _not_json(constant: str) -> Any:
    raise ValueError(constant)


def _imagined(s: Schedule, given: Mapping[str, Any]) -> Job:
    """Make the job that `schedule.add` would send, by this machine's clock; no server is asked."""
    from workkit.verbs.addition import addition
    from workkit.verbs.new_job import as_job

    new = addition(given, s=s, now_ms=lambda: round(datetime.now(UTC).timestamp() * 1000))
    return as_job(new, schedule=s.name)


def _became(job: Job) -> str:
    if not job.new:
        return "already there"
    return f"replaced {job.replaced[:8]} with" if job.replaced else "added"


def _print(job: Job, word: str, as_json: bool, *, now: datetime) -> None:
    if as_json:
        terminal.data(
            record.compact({**record.job_record(job), "id": job.id or None, "new": job.new, "replaced": job.replaced})
        )
        return
    parts = [f"{word} {job.id[:8]}".rstrip(), wording.call_text(job), when_line(job, now)]
    terminal.data("  ".join(parts))
    if job.trigger is not None and (counted := counting(job.trigger)) is not None:
        terminal.data(f"  {counted}")


def when_line(job: Job, now: datetime) -> str:
    """Say when a job fires: at once; once, an instant in its zone and in UTC; or the words and the next instant."""
    trigger = job.trigger
    if trigger is None:
        return "at once"
    from workkit.triggers import explain

    zone = zone_of(trigger.tz, read_settings())
    if job.due is None:
        return explain(trigger)
    at = f"{wording.instant_text(job.due, zone)}, {wording.distance(job.due, now, 3)}"
    return f"{explain(trigger)}, next {at}" if trigger.recurs else f"once, {at}"


def _note(note: str | None, *, added: bool) -> None:
    if note:
        then = "Added for listeners that have it." if added else "Listeners elsewhere may have it."
        terminal.talk(f"{terminal.paint('note:', 'yellow', sys.stderr)} {wording.printable(note)}. {then}")
