"""`add` and `now`: add one job, and print it as it was understood."""

from __future__ import annotations

import functools
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from workkit.cli import folder, spelling, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.explain import counting
from workkit.cli.known import check_order, is_new
from workkit.cli.live import ScheduleName
from workkit.cli.options import json_option, run_option_flags, server_options, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.spelling import in_flags
from workkit.cli.terminal import warnings_kept
from workkit.contract import record
from workkit.errors import InvalidArguments, InvalidFunction, NotFound, TriggerError, Unsupported
from workkit.jobs.job import call_text, when_text
from workkit.jobs.names import is_plain
from workkit.text import wording
from workkit.text.wording import listed

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

ARGUMENTS = (
    "Each ARG, and each VALUE of --kwarg, is read as JSON if it is JSON, else as text: 5 is a number, '\"5\"' is text."
)


def _call_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the function with its arguments, the options of its job and of its runs, ``--json``, ``-v``, the server.

    The command gets `call`: the function as it was typed, and its arguments.
    """

    @functools.wraps(function)
    def with_call(*given: Any, fn: str, args: tuple[str, ...], kwargs: tuple[str, ...], **options: Any) -> Any:
        call = Call(fn=fn, words=args, args=[argument(text) for text in args], kwargs=_keywords(kwargs))
        return function(*given, call=call, **options)

    found: Callable[..., Any] = with_call
    for option in (
        server_options,
        run_option_flags,
        verbose_option,
        json_option("print the job as JSON"),
        click.option(
            "--kwarg", "kwargs", cls=Option, multiple=True, metavar="NAME=VALUE", help="a keyword argument; repeatable"
        ),
        click.argument("args", nargs=-1),
        click.argument("fn", metavar="FUNCTION"),
    ):
        found = option(found)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A function as it was typed, and its arguments. `words`: the positional ones as they were typed."""

    fn: str
    words: tuple[str, ...]
    args: list[Any]
    kwargs: dict[str, Any]

    def checked(self) -> tuple[dict[str, Any], str | None]:
        """Return the keywords of `schedule.add`, and a note if the files of this folder do not confirm the function.

        Raises InvalidFunction, InvalidArguments.
        """
        fn, note = folder.checked(self.fn, Path.cwd(), call=(self.args, self.kwargs))
        return {"fn": fn, "args": self.args, "kwargs": self.kwargs or None}, note


@click.command(
    "add",
    cls=Command,
    takes="SCHEDULE WHEN FUNCTION [ARG]... [OPTIONS]",
    about=(
        "Add FUNCTION to run at WHEN, and print what was understood. Adding the same again changes nothing.",
        'A length of time, such as "in 5 minutes", is a run of its own each time; --name or --unique-key makes it one.',
        f"WHEN is words or a cron string, as one quoted argument: workkit help times. {ARGUMENTS}",
    ),
    examples=(
        'workkit add app-tasks "7pm tomorrow" app.cache:clear',
        'workkit add app-tasks "every weekday at 9am" app.reports:digest',
        'workkit add app-tasks "in 5 minutes" "#\'your-app.user/activate" a@b.c',
    ),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("when")
@zone_option("zone of the words; default UTC")
@click.option("--dry-run", cls=Option, is_flag=True, help="show what would be added, add nothing")
@_call_options
def add_command(
    schedule: str,
    when: str,
    call: Call,
    tz: str | None,
    dry_run: bool,
    as_json: bool,
    run: dict[str, Any],
    server: str | None,
) -> None:
    """Add a job at a time in words."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    zone = zone_of(tz, read_settings())
    words = (when, call.fn, *call.words)
    if not dry_run:
        meant = spelling.add_words("SCHEDULE", (schedule, *words), zone) or f"workkit add SCHEDULE {_quoted(words)}"
        check_order(schedule, meant=meant, server=server)
    with _quoting(schedule, words, zone):
        keywords, note = call.checked()
        if is_plain(call.fn) and spelling.is_cut(words, zone) and spelling.add_words(schedule, words, zone):
            raise InvalidFunction(f'"{call.fn}" belongs to the time.', given=call.fn)
    given = {**run, **keywords, "when": when}
    if click.get_current_context().get_parameter_source("tz") is ParameterSource.COMMANDLINE:
        given["tz"] = wording.zone_name(zone)
    s = verbs.create(schedule, redis=server, tz=wording.zone_name(zone))
    begins = not dry_run and is_new(s)
    with warnings_kept(), _quoting(schedule, words, zone):
        job = _imagined(s, given) if dry_run else _added(s, given, verb="add")
    if dry_run:
        _print(job, "would add", as_json, now=datetime.now(UTC), tz=s.tz)
    else:
        _print(_standing(s, job), _became(job), as_json, now=present(s), tz=s.tz, begins=begins)
    _note(note, added=not dry_run)


@click.command(
    "now",
    cls=Command,
    takes="SCHEDULE FUNCTION [ARG]... [OPTIONS]",
    about=("Add FUNCTION to run at once; every call is a run of its own.", ARGUMENTS),
    examples=("workkit now app-tasks app.cache:clear", "workkit now app-tasks app.users:activate tracy@domain.com"),
)
@click.argument("schedule", type=ScheduleName())
@_call_options
def now_command(schedule: str, call: Call, as_json: bool, run: dict[str, Any], server: str | None) -> None:
    """Add a job to run at once."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import present

    check_order(schedule, meant=f"workkit now SCHEDULE {_quoted((schedule, call.fn, *call.words))}", server=server)
    try:
        keywords, note = call.checked()
    except InvalidArguments as error:
        if meant := spelling.now_words(schedule, call.fn, call.words, UTC):
            raise spelling.Unquoted(f"{error} To run it at a time: {meant}") from error
        raise
    s = verbs.create(schedule, redis=server)
    begins = is_new(s)
    with warnings_kept():
        job = _added(s, {**run, **keywords}, verb="add_now")
    _print(_standing(s, job), _became(job), as_json, now=present(s), tz=s.tz, begins=begins)
    _note(note, added=True)


@contextmanager
def _quoting(schedule: str, words: Sequence[str], zone: tzinfo) -> Iterator[None]:
    """If the block refuses the time or the function, report a time that was typed without quotes."""
    try:
        yield
    except (InvalidFunction, TriggerError) as error:
        meant = spelling.add_words(schedule, words, zone)
        if meant is None:
            raise
        message = "WHEN is one argument, before FUNCTION. Put its words in quotes"
        if len(words) == 2:  # the function, and a time in quotes
            message = "WHEN comes before FUNCTION. Write"
        raise spelling.Unquoted(f"{message}: {meant}") from error


def _quoted(words: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, words))


def argument(text: str) -> Any:
    """Read one ARG as JSON; a text that is not JSON stays a text."""
    try:
        return json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text


def _keywords(texts: Iterable[str]) -> dict[str, Any]:
    """Read the values of ``--kwarg NAME=VALUE``. Raises UsageError."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            what = "has no =" if not equals else f'"{name}" is not the name of a parameter'
            raise click.UsageError(f'--kwarg "{text}": {what}. Write --kwarg NAME=VALUE.')
        if name in found:
            raise click.UsageError(f"--kwarg {name} was given twice. Keep one of them.")
        found[name] = argument(value)
    return found


def _not_json(constant: str) -> Any:
    raise ValueError(constant)


def _added(s: Schedule, given: Mapping[str, Any], *, verb: str) -> Job:
    """Add a job as `schedule.add` does. The options that it dropped become a line of the output, not a warning."""
    from workkit.verbs.addition import addition, sent
    from workkit.verbs.opening import producer_of

    return sent(s, addition(given, s=s, now_ms=lambda: producer_of(s).now_ms(), verb=verb), given=given)


def _imagined(s: Schedule, given: Mapping[str, Any]) -> Job:
    """Make the job that `schedule.add` would send, by this machine's clock, without a server."""
    from workkit.verbs.addition import addition
    from workkit.verbs.new_job import as_job

    new = addition(given, s=s, now_ms=lambda: round(datetime.now(UTC).timestamp() * 1000))
    return as_job(new, schedule=s.name)


def _standing(s: Schedule, job: Job) -> Job:
    """Read the stored job if it differs from the added one: a key or a window may keep a job with other arguments and
    another time.
    """
    from workkit import schedule as verbs

    if job.new:
        return job
    try:
        found = verbs.job(s, job.id)
    except (NotFound, Unsupported):  # it ended meanwhile, or the layout finds no waiting job
        return job
    return job if _content(found) == _content(job) else replace(found, new=False, ending=job.ending)


def _content(job: Job) -> tuple[Any, ...]:
    return job.fn, job.args, job.kwargs, job.trigger and job.trigger.fields()


def _became(job: Job) -> str:
    if not job.new:
        return f"already over ({job.ending})" if job.ending else "already there"
    return f"replaced {job.replaced[:8]} with" if job.replaced else "added"


def _print(job: Job, word: str, as_json: bool, *, now: datetime, tz: str, begins: bool = False) -> None:
    """Print the added job. `begins`: its schedule was unknown before."""
    if as_json:
        more = {"id": job.id or None, "new": job.new, "replaced": job.replaced, "dropped": list(job.dropped)}
        more |= {"ending": job.ending} if job.ending else {}
        terminal.data(record.compact({**record.job_record(job), **more, "new_schedule": begins}))
        return
    where = f" in a new schedule {wording.printable(job.schedule)}" if begins else ""
    parts = [f"{word} {job.id[:8]}".rstrip() + where, call_text(job), when_text(job, now=now)]
    terminal.say("  ".join(parts), indent=2)
    if job.trigger is not None and (counted := counting(job.trigger, tz)) is not None:
        terminal.say(f"  {counted}", indent=2)
    if job.dropped:
        context = click.get_current_context()
        flags = in_flags(listed([f"{name}=" for name in job.dropped]), context.command)
        again = f"workkit reschedule {context.params['schedule']} {shlex.quote(job.name or '')} WHEN"
        terminal.say(f"  dropped what it had: {flags}. To change the time alone: {again}", indent=2)


def _note(note: str | None, *, added: bool) -> None:
    if note:
        then = "Added for listeners that have it." if added else "Listeners elsewhere may have it."
        terminal.talk(f"{terminal.paint('note:', 'yellow', sys.stderr)} {wording.printable(note)}. {then}")
