"""`pause`, `resume`, `skip`, `snooze`, `run` and `cancel`: change by hand whether and when jobs run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workkit.brokers.layout import chosen_layout, layout_of
from workkit.cli import folder, spelling, terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import agreed, check_given, check_known, chosen_jobs, each, is_new, known, tag_option
from workkit.cli.live import FunctionOfJobs, ScheduleName, Which
from workkit.cli.options import by_option, server_options, server_words, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.spelling import layout_words
from workkit.errors import NotFound
from workkit.jobs.job import call_text, spoken
from workkit.text import wording

if TYPE_CHECKING:
    from datetime import tzinfo

    from workkit.jobs.admission import Pause
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

TO_COME = "To pause one that is to come: --new."
KINDS: dict[type, str] = {list: "a list", dict: "an object"}
WHICH = "WHICH is a name, an id, or the beginning of one (6 or more characters), as printed by add and list."


def _targets(*, required: bool = False, by_tag: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the schedule, its jobs, ``--tag`` if jobs may be chosen `by_tag`, ``--by``, ``-v`` and the server."""

    def added(function: Callable[..., Any]) -> Callable[..., Any]:
        function = by_option(verbose_option(server_options(function)))
        function = tag_option("jobs")(function) if by_tag else function
        function = click.argument("which", type=Which(), nargs=-1, required=required)(function)
        return click.argument("schedule", type=ScheduleName())(function)

    return added


@click.command(
    "pause",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Start nothing more of a schedule, of some jobs, or of a function, until it is resumed. Active runs continue.",
        WHICH,
    ),
    examples=(
        'workkit pause app-tasks --reason "migration" --until "in 2 hours"',
        "workkit pause app-tasks digest 8cd9280b",
        "workkit pause app-tasks --fn app.mail:poll",
    ),
)
@click.option("--fn", cls=Option, type=FunctionOfJobs(), metavar="FUNCTION", help="all jobs of this function")
@click.option("--reason", cls=Option, metavar="TEXT", help="why; shown by list, show and doctor")
@click.option("--until", cls=Option, metavar="WHEN", help="resumes by itself then: words for one instant")
@click.option("--new", cls=Option, is_flag=True, help="also a schedule that the server does not know yet")
@zone_option("zone of the words; default UTC")
@_targets()
def pause_command(
    schedule: str,
    which: tuple[str, ...],
    fn: str | None,
    tag: str | None,
    reason: str | None,
    until: str | None,
    new: bool,
    tz: str | None,
    by: str | None,
    server: str | None,
) -> int:
    """Pause a schedule, jobs or a function."""
    from workkit import schedule as verbs
    from workkit.verbs.control import check_dead, pause_until
    from workkit.verbs.opening import producer_of

    zone = zone_of(tz, read_settings())
    function = _function(which, fn)
    if until is not None and (words := spelling.unquoted_time((until, *which), zone)):
        raise spelling.Unquoted(f"--until takes one argument. Put the words in quotes: --until {words}")
    s = verbs.create(schedule, redis=server)
    said = pause_until(reason, until, tz=wording.zone_name(zone), now_ms=producer_of(s).now_ms())
    begins = new and is_new(s)
    if not new:
        check_known(s, server=server, remedy=TO_COME)
    how = {"reason": reason, "until": said.until, "by": by}
    tail, again = until_and_why(said, zone), f"resume: workkit resume {s.name}"
    ours, where = server_words(server), f"a new schedule {s.name}" if begins else s.name
    if function is not None and tag is None:
        verbs.pause(s, fn=function, **how)  # type: ignore[arg-type]
        terminal.say(f"paused {wording.printable(str(fn))} in {where}{tail}, {again} --fn {_quoted(fn)}{ours}")
        return 0
    if not which and tag is None:
        verbs.pause(s, **how)  # type: ignore[arg-type]
        terminal.say(f"paused {where}{tail}, {again}{ours}")
        return 0

    def one(job: Job) -> str:
        verbs.pause(s, job, **how)  # type: ignore[arg-type]
        return f"paused {titled(job)}{tail}, {again} {_quoted(job.name or job.short_id)}{ours}"

    named, find = chosen_jobs(s, which, tag, function)
    return each(named, lambda word: check_dead(find(word)), one)


@click.command(
    "resume",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Go on with what was paused: the schedule, some jobs, or a function. Harmless where nothing is.",
        f"A recurring job runs at its next time; all others that were due meanwhile run now. {WHICH}",
    ),
    examples=(
        "workkit resume app-tasks",
        "workkit resume app-tasks digest",
        "workkit resume app-tasks --fn app.mail:poll",
    ),
)
@click.option("--fn", cls=Option, type=FunctionOfJobs(), metavar="FUNCTION", help="all jobs of this function")
@_targets()
def resume_command(
    schedule: str, which: tuple[str, ...], fn: str | None, tag: str | None, by: str | None, server: str | None
) -> int:
    """Resume a schedule, jobs or a function."""
    from workkit import schedule as verbs
    from workkit.verbs.control import paused_target
    from workkit.verbs.opening import producer_of

    function = _function(which, fn)
    s = known(schedule, server=server)
    if tag is not None:

        def resumed(job: Job) -> str:
            verbs.resume(s, job, by=by)
            return f"resumed {titled(job)}"

        return each(*chosen_jobs(s, which, tag, function), resumed)
    if function is not None:
        verbs.resume(s, fn=function, by=by)
        terminal.say(f"resumed {wording.printable(str(fn))} in {s.name}")
        return 0
    if not which:
        verbs.resume(s, by=by)
        terminal.say(f"resumed {s.name}")
        return 0

    def find(word: str) -> str:
        paused_target(producer_of(s).inspector, word, None, plain=layout_of(s.layout).has_job_names)
        return word

    def one(word: str) -> str:
        verbs.resume(s, word, by=by)
        try:
            return f"resumed {titled(verbs.job(s, word))}"
        except NotFound:  # the job is over; its pause was still there
            return f"resumed {wording.printable(word)}"

    return each(which, find, one)


@click.command(
    "skip",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=("Leave out the next run of recurring jobs; those after it stay as they are.", WHICH),
    examples=("workkit skip app-tasks digest", "workkit skip app-tasks 8cd9280b 3a442290"),
)
@zone_option("zone of the times; default UTC")
@_targets()
def skip_command(
    schedule: str, which: tuple[str, ...], tag: str | None, tz: str | None, by: str | None, server: str | None
) -> int:
    """Leave out the next run."""
    from workkit import schedule as verbs
    from workkit.verbs.control import check_skip
    from workkit.verbs.opening import present

    check_given("which", which or tag)
    zone = zone_of(tz, read_settings())
    s = known(schedule, server=server)

    def one(found: Job) -> str:
        job = verbs.skip(s, found, by=by)
        assert job.due is not None
        next_ = f"{wording.instant_text(job.due, zone)}, {wording.distance(job.due, present(s))}"
        return f"skipped {titled(job)}  next {next_}"

    words, find = chosen_jobs(s, which, tag)
    return each(words, lambda word: check_skip(find(word)), one)


@click.command(
    "snooze",
    cls=Command,
    takes="SCHEDULE [WHICH...] DURATION [OPTIONS]",
    about=(
        "Put the next run of jobs off, by DURATION from its time, or from now if that has come. All of them, or none.",
        f"A recurring job keeps its rule: the times up to that run are left out. {WHICH}",
    ),
    examples=(
        'workkit snooze app-tasks digest "30 minutes"',
        "workkit snooze app-tasks 8cd9280b 3a442290 2h --dry-run",
    ),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which(), nargs=-1)
@click.argument("duration")
@tag_option("jobs")
@zone_option("zone of the times; default UTC")
@click.option("--dry-run", cls=Option, is_flag=True, help="show what would change, change nothing")
@by_option
@verbose_option
@server_options
def snooze_command(
    schedule: str,
    which: tuple[str, ...],
    duration: str,
    tag: str | None,
    tz: str | None,
    dry_run: bool,
    by: str | None,
    server: str | None,
) -> None:
    """Put the next run off."""
    from workkit.verbs.opening import present
    from workkit.verbs.rescheduling import snoozed

    check_given("which", which or tag)
    zone = zone_of(tz, read_settings())
    s = known(schedule, server=server)
    words, find = chosen_jobs(s, which, tag)
    jobs = list(map(find, words)) if tag is not None else words
    for before, after in snoozed(s, jobs, duration, by=by, dry_run=dry_run):
        assert after.due is not None
        was = "" if before.due is None else f", was {wording.instant_text(before.due, zone)}"
        next_ = f"{wording.instant_text(after.due, zone)}, {wording.distance(after.due, present(s))}{was}"
        terminal.say(f"{'would snooze' if dry_run else 'snoozed'} {titled(after)}  next {next_}", indent=2)


@click.command(
    "run",
    cls=Command,
    takes="SCHEDULE WHICH... [OPTIONS]",
    about=(
        "Run jobs once now. A recurring one keeps its times; one that waits for its time runs now instead.",
        f"{WHICH} With --args or --kwargs one recurring job runs once now with other arguments, as a job of its own.",
    ),
    examples=(
        "workkit run app-tasks digest",
        "workkit run app-tasks 8cd9280b 3a442290",
        "workkit run app-tasks nightly --args '[\"2026-11-05\"]'",
    ),
)
@click.option("--args", cls=Option, metavar="JSON", help="other arguments of this run, as a JSON list")
@click.option("--kwargs", cls=Option, metavar="JSON", help="other keyword arguments of this run, as a JSON object")
@_targets(required=True, by_tag=False)
def run_command(
    schedule: str, which: tuple[str, ...], args: str | None, kwargs: str | None, by: str | None, server: str | None
) -> int:
    """Run jobs once now."""
    from workkit import schedule as verbs
    from workkit.verbs.control import changeable, check_run
    from workkit.verbs.opening import producer_of

    values = None if args is None else json_value("args", args, list)
    named = None if kwargs is None else json_value("kwargs", kwargs, dict)
    has_other = values is not None or named is not None
    if has_other and len(which) > 1:
        flag = "--kwargs" if values is None else "--args"
        raise click.UsageError(f"{flag} belongs to one job, and {len(which)} were named. Name one.")
    s = known(schedule, server=server)
    inspector = producer_of(s).inspector
    control = inspector.control()

    def one(job: Job) -> str:
        if has_other:
            folder.check_arguments(job, args=values, kwargs=named)
        after = verbs.run(s, job, args=values, kwargs=named, by=by)
        beside = f", beside {_quoted(job.name or job.short_id)}, which keeps its times" if has_other else ""
        return f"due now {titled(after)}{beside or (', beside its times' if after.recurs else '')}"

    hint = "Arguments of this run: --args '[...]'." if len(which) > 1 else ""
    return each(which, lambda word: check_run(changeable(inspector, word), control), one, hint=hint)


@click.command(
    "cancel",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Cancel jobs: a waiting one is gone, a running one learns of it, a recurring one never comes again.",
        WHICH,
    ),
    examples=("workkit cancel app-tasks nightly 09b802b1", "workkit cancel app-tasks --tag user:7 --yes"),
)
@click.option("--yes", cls=Option, is_flag=True, help="do not ask before all jobs with a tag are cancelled")
@_targets()
def cancel_command(
    schedule: str, which: tuple[str, ...], tag: str | None, yes: bool, by: str | None, server: str | None
) -> int:
    """Cancel jobs."""
    from workkit import schedule as verbs
    from workkit.verbs.control import check_cancel

    check_given("which", which or tag)
    s = known(schedule, server=server)
    words, find = chosen_jobs(s, which, tag)

    def one(found: Job) -> str:
        job = verbs.cancel(s, found, by=by)
        if job.state != "cancelling":
            return f"cancelled {job.short_id}  {call_text(job)}"
        how = "it runs, and was told" if found.state in ("running", "cancelling") else "no listener starts it"
        return f"cancelling {job.short_id}  {call_text(job)}  {how}"

    asks = not which and not yes
    lines = [titled(find(word)) for word in words] if asks else []
    if asks and (status := agreed("Cancel", wording.plural(len(words), "job"), lines)) is not None:
        return status
    return each(words, lambda word: check_cancel(find(word)), one)


def until_and_why(pause: Pause, zone: tzinfo) -> str:
    """Write the end and the reason of a pause: `` until Saturday 21 November 2026 at 9:00 UTC (migration)``."""
    till = f" until {wording.instant_text(pause.until, zone)}" if pause.until else ""
    return till + (f" ({wording.printable(pause.reason)})" if pause.reason else "")


def pauses(s: Schedule, zone: tzinfo) -> Iterator[str]:
    """Say that a schedule or functions are paused. Single jobs show their own pauses."""
    from workkit.verbs.opening import producer_of

    control = producer_of(s).inspector.control()
    for target, pause in sorted(control.paused.items()):
        kind, _, of = target.partition(":")
        if kind == "schedule":
            yield f"Paused{until_and_why(pause, zone)}. Resume: workkit resume {s.name}{layout_words()}"
        elif kind == "fn":
            fn = spoken(of)
            again = f"workkit resume {s.name} --fn {_quoted(fn)}{layout_words()}"
            yield f"Paused: {wording.printable(fn)}{until_and_why(pause, zone)}. Resume: {again}"


def _function(which: tuple[str, ...], fn: str | None) -> Any:
    """Return FUNCTION as the verbs accept it. Print a note if the files of this folder do not confirm it."""
    if fn is None:
        return None
    if which:
        raise click.UsageError(f'"{which[0]}" and --fn {fn} were both given. Keep one of them.')
    if chosen_layout().has_any_name and fn.strip() and ":" not in fn:
        return fn
    function, note = folder.checked(fn, Path.cwd())
    if note:
        terminal.talk(f"note: {note}.")
    return function


def json_value(name: str, text: str, *kinds: type) -> Any:
    """Read the JSON value of a flag: a list, or an object. Raises UsageError."""
    example = "'[1, \"two\"]'" if list in kinds else "'{\"top\": 20}'"
    try:
        value = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--{name} {text}: not JSON ({error}). Write --{name} {example}.") from error
    if not isinstance(value, kinds):
        trouble = "neither a list nor an object" if len(kinds) > 1 else f"not {KINDS[kinds[0]]}"
        write = f"'[{text}]'" if list in kinds and not isinstance(value, dict) else example
        raise click.UsageError(f"--{name} {text}: {trouble}. Write --{name} {write}.")
    return value


def titled(job: Job) -> str:
    """Name a job in one line: its id, its name and its call."""
    name = f"  {wording.printable(job.name)}" if job.name else ""
    return f"{job.short_id}{name}  {call_text(job)}"


def _quoted(text: str | None) -> str:
    return wording.printable(shlex.quote(text or ""))
