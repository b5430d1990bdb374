"""The schedules that a command reads or changes. An unknown one is refused, with the names that the server knows.
Commands that add jobs print that a schedule is new.

Below: the parts that the commands for reading share: a filter, the number of rows, JSON instead of a table. Then the
jobs that a command changes: all are found before the first one changes.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from workkit.cli import failure, terminal
from workkit.cli.command import Option
from workkit.cli.live import ScheduleName, TagOfJobs
from workkit.cli.options import (
    Count,
    chosen_schedules,
    json_option,
    server_options,
    server_words,
    verbose_option,
    weighted,
    zone_option,
)
from workkit.cli.settings import read_settings
from workkit.contract.filters import Place, accepted
from workkit.errors import Invalid, InvalidSchedule, NotFound, ServerRefused, Unsupported, WorkkitError
from workkit.jobs.names import read_name, said_plain
from workkit.text import wording
from workkit.text.nearest import nearest_word

if TYPE_CHECKING:
    from workkit.jobs.job import Job
    from workkit.schedule import Schedule

SHOWN = 10  # the most names in one sentence
SHOWN_JOBS = 5  # of many, before a question
PART_FAILED = 1
HOPELESS = (NotFound, Invalid, Unsupported)
T = TypeVar("T")
LOOK_SECONDS = 2.0  # the most seconds that a user waits for the names of other schedules


def known(name: str, *, server: str | None) -> Schedule:
    """Make a schedule that the server knows: see `check_known`."""
    from workkit import schedule as verbs

    return check_known(verbs.create(name, redis=server), server=server)


def check_known(s: Schedule, *, server: str | None, remedy: str | None = None) -> Schedule:
    """Return a schedule if the server has a key of it, or does not answer the question. `remedy`: the advice for any
    other. Raises InvalidSchedule, ServerUnreachable.
    """
    if is_new(s):
        raise _unknown(s, server=server, remedy=remedy)
    return s


def is_new(s: Schedule) -> bool:
    """Return whether a schedule is unknown to the server. Raises ServerUnreachable."""
    from workkit.verbs.opening import is_known

    return is_known(s) is False


def opened(given: str | None, *, command: str, server: str | None) -> list[Schedule]:
    """Make the schedules to read, and check them: see `chosen`, `check_chosen`."""
    typed = (given,) if given else ()
    made = chosen(typed, command=command, server=server)
    check_chosen(made, is_typed=bool(typed), server=server)
    return made


def chosen(typed: Sequence[str], *, command: str, server: str | None) -> list[Schedule]:
    """Make the schedules that were typed, else those of the settings. It does not use the server."""
    from workkit import schedule as verbs

    found = chosen_schedules(tuple(typed), read_settings(), command=command)
    names = dict.fromkeys(name if typed else weighted(name)[0] for name in found)
    return [verbs.create(name, redis=server) for name in names]


def check_chosen(made: Sequence[Schedule], *, is_typed: bool, server: str | None, first: bool = False) -> None:
    """Refuse typed schedules that the server does not know. The settings of a project may name a schedule before it has
    any job, so for those it prints a note. `first`: print a note for typed ones too while the server knows no schedule,
    for a command that also checks the server. Raises InvalidSchedule, ServerUnreachable.
    """
    for s in filter(is_new, made):
        error = _unknown(s, server=server)
        if is_typed and not (first and error.accepted is None):
            raise error
        terminal.talk(f"{terminal.paint('note:', 'yellow', sys.stderr)} {wording.printable(str(error))}")


def check_order(schedule: str, *, meant: str, server: str | None) -> None:
    """Refuse to begin a schedule with the name of a function: the user forgot SCHEDULE. `meant`: the command with it.
    Raises InvalidSchedule, ServerUnreachable.
    """
    if read_name(schedule) is None and said_plain(schedule) is None:
        return
    from workkit import schedule as verbs

    if is_new(verbs.create(schedule, redis=server)):
        raise InvalidSchedule.about(
            f'schedule "{schedule}"',
            "looks like a function, and no schedule here has that name",
            f"SCHEDULE comes first: {meant}. To begin a schedule of that name: workkit listen {shlex.quote(schedule)}",
            given=schedule,
        )


def _unknown(s: Schedule, *, server: str | None, remedy: str | None = None) -> InvalidSchedule:
    """Make the error for a schedule that the server does not know. It names the known schedules, if the server lists
    them.
    """
    from workkit.verbs.opening import schedules_at

    start = f"workkit listen {shlex.quote(s.name)}{server_words(server)}"
    remedy = remedy or f"A new one begins with its first job, or its listener: {start}"
    try:
        found, are_all = schedules_at(s.redis, layout=s.layout, seconds=LOOK_SECONDS)
    except ServerRefused:
        others = "this user of the server may not list the others: ACL SETUSER NAME +scan"
        return _error(s, others, remedy)
    shards = next((one.shards for one in found if one.name == s.name), 0)
    if shards:
        from workkit.brokers.shards import shard_names

        each = wording.listed(shard_names(s.name, shards), "or")
        return _error(s, f"it has {shards} shards, each a schedule of the command line", f"Name one: {each}.")
    names = [one.name for one in found]
    if not names:
        add = f"workkit now {shlex.quote(s.name)} MODULE:FUNCTION{server_words(server)}"
        none = "its server has no schedule yet" if are_all else f"none was found in {LOOK_SECONDS:.0f} s"
        return _error(s, none, f"Add a first job: {add}, or listen: {start}")
    near = nearest_word(s.name, names)
    shown = sorted(sorted(names, key=lambda name: name != near)[:SHOWN])
    more = f" and {len(names) - SHOWN:,} more (workkit schedules{server_words(server)})" if names[SHOWN:] else ""
    others = f"there {'are' if names[1:] else 'is'} {', '.join(shown)}{more}{'' if are_all else ', perhaps others'}"
    remedy = f"Did you mean {near}?" if near else remedy
    return _error(s, others, remedy, accepted=", ".join(names), suggestion=near)


def _error(s: Schedule, others: str, remedy: str, **fields: str | None) -> InvalidSchedule:
    return InvalidSchedule.about(f"no schedule {s.name}", f"here; {others}", remedy, given=s.name, **fields)


DEFAULT_LIMIT = 50


FILTERED: dict[Place, str] = {
    "jobs": "in the function, the arguments, the name or the error of a job",
    "dead": "in the function, the arguments, the name or the error of a job",
    "runs": "in the function, the name or the error of a run",
}


def filter_help(place: Place) -> str:
    """Explain the filter of a list, for the help of its command."""
    return f"FILTER is a text {FILTERED[place]}, or qualifiers: {accepted(place)}. Their rules: workkit help filters."


def where_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--where``, a filter."""
    return click.option("--where", cls=Option, metavar="FILTER", help=f"only {what} that fit FILTER")


def tag_option(what: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--tag``, a tag of the jobs."""
    return click.option("--tag", cls=Option, type=TagOfJobs(), metavar="TAG", help=f"only {what} with this tag")


def look_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the optional schedule, ``--json``, ``-v`` and the server."""
    function = server_options(function)
    function = verbose_option(function)
    function = json_option()(function)
    return click.argument("schedule", type=ScheduleName(), required=False)(function)


def paging_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the rows, their number, and the zone of their times."""
    for option in (
        zone_option("zone of the times; default UTC"),
        click.option("--all", "everything", cls=Option, is_flag=True, help="as many as there are"),
        click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"most lines; default {DEFAULT_LIMIT}"),
        tag_option("jobs"),
        where_option("jobs"),
    ):
        function = option(function)
    return function


def most_rows(limit: int | None, everything: bool) -> int | None:
    """Return the most rows to list; None: all. Raises UsageError."""
    if everything and limit is not None:
        raise click.UsageError(f"--all and --limit {limit} were both given. Keep one of them.")
    return None if everything else limit or DEFAULT_LIMIT


def chosen_jobs(
    s: Schedule, which: tuple[str, ...], tag: str | None, fn: Any = None
) -> tuple[tuple[str, ...], Callable[[str], Job]]:
    """Return the words that name the jobs of a command, and the function that finds each: the typed ones, or the ids of
    all jobs with a tag. Raises NotFound, UsageError.
    """
    from workkit.verbs import control

    if not which and tag is None:
        raise click.UsageError(f"Which jobs? Name one, or all with a tag: --tag TAG. All: workkit list {s.name}.")
    if which:
        return which, lambda word: control.chosen_jobs(s, word, tag)[0]
    found = {job.id: job for job in control.chosen_jobs(s, None, tag, fn=fn)}
    return tuple(found), found.__getitem__


def each(words: tuple[str, ...], find: Callable[[str], T], act: Callable[[T], str], *, hint: str = "") -> int:
    """Find the job that every word names; only if all are found, act on each, once. Print a line for each success, and
    an error for each failure; return the exit status. `hint`: advice for a word behind the first one
    that names no job.
    """
    found: dict[str, T] = {}
    errors: list[WorkkitError] = []
    missing: list[str] = []
    for word in words:
        try:
            one = find(word)
        except HOPELESS as error:
            errors.append(error)
            missing += [word] * isinstance(error, NotFound)
            failure.show_error(error)
        else:
            found[getattr(one, "id", word)] = one
    if errors:
        if len(words) > 1:
            meant = f" {hint}" if hint and missing and words[0] not in missing else ""
            terminal.talk(f"Nothing was changed.{meant}")
        return failure.status_of(errors[0])
    for one in found.values():
        try:
            terminal.say(act(one), indent=2)
        except HOPELESS as error:  # the job ended or changed meanwhile
            errors.append(error)
            failure.show_error(error)
    if not errors:
        return 0
    return failure.status_of(errors[0]) if len(errors) == len(found) else PART_FAILED


def agreed(verb: str, count: str, lines: Sequence[str]) -> int | None:
    """Show the first jobs that a command would change, and ask. Return an exit status if the command ends here."""
    if not terminal.is_terminal(sys.stdin):
        terminal.talk(
            f"{terminal.paint('error:', 'red', sys.stderr)} {count} would be meant, "
            "and nobody is there to be asked. Add --yes."
        )
        return failure.REFUSED
    for line in lines[:SHOWN_JOBS]:
        terminal.talk(f"  {line}")
    if len(lines) > SHOWN_JOBS:
        terminal.talk(f"  and {len(lines) - SHOWN_JOBS:,} more")
    if not click.confirm(f"{verb} {count}?", err=True):
        terminal.talk("nothing was changed.")
        return 0
    return None
