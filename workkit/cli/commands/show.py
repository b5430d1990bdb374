"""`show`: one job in full, with the log of its last run. `result`: the value that a job returned."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands import control
from workkit.cli.commands.batch import member_text
from workkit.cli.commands.list import traceback_rows
from workkit.cli.known import opened
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import OPTIONAL, json_option, server_options, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.contract import record
from workkit.errors import JobFailed, NotFound, Unsupported
from workkit.jobs.job import NOT_KEPT, call_text
from workkit.jobs.meta import meta_text
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

MOST_WAITED = 10  # the most members that `show` names


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
    if job.state == "done":  # history masks the arguments
        job = mask().job(job)
    waits = _waits(s, job)
    if as_json:
        more = {} if log is None else {"log": log}
        terminal.data(record.compact(record.full_record(job) | more | ({} if waits is None else {"waits_for": waits})))
        return

    for title, value in [*_details(job, zone, present(s)), *_groups(s, job, waits, zone)]:
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


def _waits(s: Schedule, job: Job) -> dict[str, Any] | None:
    """Find what a job waits for, if it runs after others or after a batch: as `show --json` writes it."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import groups_of

    if job.state != "held" or not (job.terms.after or job.terms.then_of):
        return None
    first = []
    try:
        group = groups_of(s).group(job.terms.then_of or job.id)
        found = groups_of(s).members(group, ending="waiting", limit=MOST_WAITED).members
    except NotFound:  # it has ended meanwhile
        return None
    for one in found:
        state = "ended"
        with suppress(NotFound):
            if one.name.startswith("="):
                state = groups_of(s).group(one.name[1:]).state
            else:
                state = verbs.job(s, one.name.partition("@")[0]).state
        first.append({"name": one.name, "state": state})
    return {"batch": group.name, "count": max(group.endings.get("waiting", 0), len(first)), "first": first}


def _groups(s: Schedule, job: Job, waits: dict[str, Any] | None, zone: tzinfo) -> Iterator[tuple[str, str]]:
    """Say of which batch a job is, and what it waits for."""
    from workkit.verbs.opening import groups_of, producer_of

    if (name := job.terms.batch) is not None:
        with suppress(NotFound):
            group = groups_of(s).group(name)
            of = f"{group.endings.get('waiting', 0):,} of {wording.plural(group.total, 'job')} not ended"
            name = f"{name}, {group.state_at(producer_of(s).now_ms())}, {of}"
        yield "batch", name
    if waits is not None:
        of = "" if waits["batch"] is None else f' of the batch "{waits["batch"]}"'
        yield "waits for", f"{wording.plural(waits['count'], 'job')}{of}"
        yield from (("", f"{member_text(one['name'], zone)}  {one['state']}") for one in waits["first"])
        if waits["count"] > len(waits["first"]):
            yield "", f"and {waits['count'] - len(waits['first']):,} more"


def _logged(s: Schedule, job: Job) -> list[str] | None:
    """Read the log of its last run; None if the layout keeps none."""
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
        title = "failed" if job.state == "dead" else "due"  # the dead set keeps the time of the failure
        yield title, f"{wording.instant_text(job.due, zone)}, {wording.distance(job.due, now, 3)}"
    if (by := record.deadline_at(job)) is not None:
        late = "; the job is late" if by <= now else ""
        yield "deadline", f"{wording.instant_text(by, zone)}, {wording.distance(by, now, 3)}{late}"
    yield "state", job.state
    if job.ending is not None:
        yield "ended", job.ending
    if job.why is not None:
        yield "why", job.why
    if job.queue is not None:
        yield "queue", job.queue
    yield "attempts", record.attempts_text(job)
    if job.tags:
        yield "tags", wording.listed(job.tags)
    if job.meta:
        yield "meta", meta_text(job.meta)
    if job.progress is not None:
        yield "progress", wording.progress(job.progress)
    if job.error is not None:
        yield "error", job.error
    if job.followed_by is not None:
        yield "followed", f"by job {job.followed_by}"


@click.command(
    "result",
    cls=Command,
    takes="SCHEDULE WHICH [OPTIONS]",
    about=(
        "Print what a job returned, if it was added with --keep or its function is marked with @job(keep=...).",
        "Of a recurring job, print the latest result. Exit status 1: the job failed; 3: there is no such job, or it "
        "has no result; 4: it is not over.",
    ),
    examples=("workkit result app-tasks 54111adf --wait 30s", "workkit result app-tasks nightly --json"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which())
@click.option("--wait", cls=Option, metavar="DURATION", help="longest wait for its end; default: none")
@json_option()
@server_options
def result_command(schedule: str, which: str, wait: str | None, as_json: bool, server: str | None) -> None:
    """Print one result."""
    from workkit import schedule as verbs

    (s,) = opened(schedule, command="result", server=server)
    try:
        value = verbs.result(s, which, wait=wait)
    except JobFailed as error:
        if error.traceback:
            terminal.talk(_printable(error.traceback.rstrip()))
        raise
    terminal.data(_text(value, as_json=as_json))


def _text(value: Any, *, as_json: bool) -> str:
    """Write a value: a text as it is, all others as JSON."""
    if as_json:
        return record.compact(value)
    return _printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))


def _printable(text: str) -> str:
    return "\n".join(map(wording.printable, text.splitlines()))
