"""`retry` and `discard`: put jobs of the dead set back, or remove them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import failure, folder, terminal
from workkit.cli.command import Command, Option
from workkit.cli.commands.control import json_value
from workkit.cli.known import PART_FAILED, SHOWN_JOBS, agreed, filter_help, known, tag_option, where_option
from workkit.cli.live import DeadWhich, ScheduleName
from workkit.cli.options import by_option, server_options, verbose_option
from workkit.cli.terminal import Far
from workkit.errors import InvalidArguments, NotFound, WorkkitError
from workkit.jobs.job import call_text
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.admin import Arguments
    from workkit.contract.broker import Admin
    from workkit.jobs.job import Job


def _choice(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select dead jobs."""
    for option in (
        click.option("--yes", cls=Option, is_flag=True, help="do not ask"),
        click.option("--dry-run", cls=Option, is_flag=True, help="print the chosen jobs, change nothing"),
        tag_option("dead jobs"),
        where_option("dead jobs"),
        click.option("--all", "everything", cls=Option, is_flag=True, help="all of them"),
        click.argument("which", type=DeadWhich(), nargs=-1),
        click.argument("schedule", type=ScheduleName()),
    ):
        function = option(function)
    return function


@click.command(
    "retry",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Put dead jobs back to be run anew: those named, those that fit, or all. Attempts count from the start.",
        "WHICH is a name, an id, or the beginning of one (6 or more characters), as printed by workkit dead.",
        filter_help("dead"),
    ),
    examples=(
        "workkit retry app-tasks 54111adf",
        'workkit retry app-tasks --where "disk full" --rate 100/minute',
        "workkit retry app-tasks 54111adf --args '[8]'",
        'workkit retry app-tasks --where takes --kwargs \'{"day": "monday"}\' --dry-run',
    ),
)
@_choice
@click.option(
    "--args",
    "args",
    cls=Option,
    metavar="JSON",
    help="other arguments for each, as a JSON list, or an object of named ones",
)
@click.option("--kwargs", cls=Option, metavar="JSON", help="named arguments, put over those that each has")
@click.option("--rate", cls=Option, metavar="N/UNIT", help="most in a time: 100/minute, 3/10s; default at once")
@by_option
@verbose_option
@server_options
def retry_command(
    schedule: str,
    which: tuple[str, ...],
    everything: bool,
    where: str | None,
    tag: str | None,
    dry_run: bool,
    yes: bool,
    args: str | None,
    kwargs: str | None,
    rate: str | None,
    by: str | None,
    server: str | None,
) -> int:
    """Put dead jobs back."""
    from workkit.verbs.dead import check_other, other_arguments, pause_ms, revival_refusal, revive

    _check_choice("retry", schedule, which, everything, where, tag)
    pause_ms(rate)
    values = None if args is None else json_value("args", args, list, dict)
    named = None if kwargs is None else json_value("kwargs", kwargs, dict)
    has_other = values is not None or named is not None
    if has_other:
        check_other(values, named)
    choice = _read(schedule, which, where, tag, server, by)
    after: dict[int, Job] = {}
    misfits: dict[int, InvalidArguments] = {}
    for job in choice.meant if has_other or dry_run else ():
        try:
            if has_other:
                other = other_arguments(job, args=values, kwargs=named, most_bytes=choice.most_bytes)
                after[id(job)] = _with(job, other)
            folder.check_arguments(after.get(id(job), job), args=None, kwargs=None)
        except InvalidArguments as misfit:
            misfits[id(job)] = misfit
    if misfits and not (dry_run or choice.missed):
        more = (
            f" {len(misfits):,} of {len(choice.meant):,} do not fit. All: --dry-run." if len(choice.meant) > 1 else ""
        )
        terminal.talk(f"Nothing was changed.{more}")
        raise next(iter(misfits.values()))
    if (
        status := choice.agreed("Retry", asks=not which, dry_run=dry_run, yes=yes, misfits=misfits, after=after)
    ) is not None:
        return status
    refused: list[WorkkitError] = []
    far = Far(lambda done: f"{choice.schedule}: {done:,} of {len(choice.meant):,} dead jobs retried")
    answers = revive(
        choice.admin, choice.meant, args=values, kwargs=named, rate=rate, most_bytes=choice.most_bytes,
        at_once=choice.at_once,
    )  # fmt: skip
    for done, (job, said) in enumerate(answers, 1):
        far(done)
        if error := revival_refusal(job, said):
            refused.append(error)
        elif which:
            terminal.say(f"retried {job.short_id}  {call_text(after.get(id(job), job))}")
    revived = len(choice.meant) - len(refused)
    if not which:
        terminal.say(f"retried {revived:,}" + (f", {rate}" if rate else ""))
    return choice.status(refused, most=None if which else SHOWN_JOBS)


@click.command(
    "discard",
    cls=Command,
    takes="SCHEDULE [WHICH...] [OPTIONS]",
    about=(
        "Forget dead jobs: those named, those that fit, or all.",
        "WHICH is a name, an id, or the beginning of one (6 or more characters), as printed by workkit dead.",
        filter_help("dead"),
    ),
    examples=("workkit discard app-tasks 54111adf", 'workkit discard app-tasks --where "disk full"'),
)
@_choice
@by_option
@verbose_option
@server_options
def discard_command(
    schedule: str,
    which: tuple[str, ...],
    everything: bool,
    where: str | None,
    tag: str | None,
    dry_run: bool,
    yes: bool,
    by: str | None,
    server: str | None,
) -> int:
    """Forget dead jobs."""
    from workkit.verbs.dead import discard_dead

    _check_choice("discard", schedule, which, everything, where, tag)
    choice = _read(schedule, which, where, tag, server, by)
    if (status := choice.agreed("Discard", asks=not which, dry_run=dry_run, yes=yes)) is not None:
        return status
    far = Far(lambda done: f"{choice.schedule}: {done:,} of {len(choice.meant):,} dead jobs discarded")
    discarded = discard_dead(choice.admin, choice.meant, report=far, at_once=choice.at_once)
    if which:
        for job in choice.meant:
            terminal.say(f"discarded {job.short_id}  {call_text(job)}")
    else:
        terminal.say(f"discarded {discarded:,}")
    return 0


def _check_choice(
    verb: str, schedule: str, which: tuple[str, ...], everything: bool, where: str | None, tag: str | None
) -> None:
    if which and (everything or where is not None):
        raise click.UsageError(f'"{which[0]}" and {"--all" if everything else "--where"} were both given. Keep one.')
    if not (which or everything or where is not None or tag is not None):
        raise click.UsageError(
            f"workkit {verb} needs to know which: ids as printed by workkit dead {schedule}, --where FILTER, "
            "--tag TAG, or --all."
        )


def _with(job: Job, other: Arguments) -> Job:
    """Return a job as it runs with other arguments."""
    return replace(job, kwargs=dict(other)) if isinstance(other, Mapping) else replace(job, args=tuple(other))


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The selected dead jobs, `meant`, latest first. The command acts on these only, even if more jobs die while it
    waits for an answer. `missed`: an error for each word that names none; if there is one, the command does nothing.
    `asked`: the filter and the tag, for a sentence.
    """

    admin: Admin
    schedule: str
    asked: str
    meant: list[Job]
    missed: list[NotFound]
    most_bytes: int
    at_once: int

    def agreed(
        self,
        verb: str,
        *,
        asks: bool,
        dry_run: bool,
        yes: bool,
        misfits: Mapping[int, InvalidArguments] = MappingProxyType({}),
        after: Mapping[int, Job] = MappingProxyType({}),
    ) -> int | None:
        """Show the changes, and ask. Return an exit status if the command ends here, else None.

        Both mappings have the `id()` of a job as key. `misfits`: the reason why its arguments do not fit. `after`: the
        job with its other arguments.
        """
        count = wording.plural(len(self.meant), "dead job")
        if self.missed:
            if self.meant:
                terminal.talk("Nothing was changed.")
            return failure.MISSING
        if not self.meant:
            terminal.talk(wording.printable(f"no dead jobs{self.asked} in {self.schedule}."))
            return 0
        if dry_run:
            for job in self.meant:
                trouble = f"  does not fit: {misfits[id(job)]}" if id(job) in misfits else ""
                terminal.say(wording.printable(_line(after.get(id(job), job)) + trouble), indent=2)
            wrong = f" {len(misfits):,} of them would not fit." if misfits else ""
            terminal.talk(f"{count} would be meant.{wrong} Nothing was changed.")
            return PART_FAILED if misfits else 0
        if yes or not asks:
            return None
        return agreed(verb, count, list(map(_line, self.meant)))

    def status(self, refused: Sequence[WorkkitError], *, most: int | None = None) -> int:
        """Print the failures, `most` of them one by one; return the exit status."""
        for error in refused[:most]:
            failure.show_error(error)
        if most is not None and len(refused) > most:
            terminal.talk(f"and {len(refused) - most:,} more could not be retried.")
        return PART_FAILED if refused else 0


def _read(
    schedule: str, which: tuple[str, ...], where: str | None, tag: str | None, server: str | None, by: str | None
) -> Choice:
    """Read the dead set once, and record the words that name none of its jobs."""
    from workkit.brokers.layout import layout_of
    from workkit.verbs.control import read_tag
    from workkit.verbs.dead import chosen, named_dead
    from workkit.verbs.opening import author_of, present, producer_of

    s, author = known(schedule, server=server), author_of(by)
    broker = producer_of(s)
    far = Far(lambda count: f"{s.name}: {count:,} dead jobs read")
    tag, now = read_tag(layout_of(s.layout), tag), partial(present, s)
    found = chosen(broker.inspector, schedule=s.name, which=None, where=where, tag=tag, now=now, report=far)
    missed: list[NotFound] = []
    wanted: set[int] = set()
    for one in which:
        try:
            wanted |= {id(job) for job in named_dead(found, one, schedule=s.name)}
        except NotFound as error:
            missed.append(error)
            failure.show_error(error)
    meant = [job for job in found if id(job) in wanted] if which else found
    return Choice(
        admin=broker.admin.by(author),
        schedule=s.name,
        asked=(f' with "{where}"' if where else "") + (f' with the tag "{tag}"' if tag else ""),
        meant=meant,
        missed=missed,
        most_bytes=s.max_payload,
        at_once=layout_of(s.layout).at_once,
    )


def _line(job: Job) -> str:
    return f"{job.short_id}  {call_text(job)}  {wording.printable(job.error or '')}".rstrip()
