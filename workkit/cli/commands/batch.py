"""`batch`: list batches, show one with its jobs, cancel one, and resume one. A batch is the jobs that were added under
one name (spec/groups.md).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import tzinfo
from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

import click

from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import DEFAULT_LIMIT, agreed, check_given, known, most_rows
from workkit.cli.live import BatchName, ScheduleName
from workkit.cli.options import Count, by_option, json_option, server_options, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.table import Column
from workkit.contract import record
from workkit.contract.groups import Ending, Group
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.terms import instant_of
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.schedule import Schedule

ACTIONS = ("list", "show", "cancel", "resume")
ENDINGS: tuple[Ending, ...] = get_args(Ending)
OF_ACTIONS = {"ending": "show", "close": "resume", "yes": "cancel"}
SHORT = 8  # characters of an id in a line
RANKS = {"MADE": 3, "BATCH": 0, "STATE": 0, "JOBS": 5, "WAITING": 2, "DONE": 4, "DEAD": 1}
BATCHES = [Column(title=title, rank=rank, cut_to=12 * (title == "BATCH")) for title, rank in RANKS.items()]


@click.command(
    "batch",
    cls=Command,
    takes="ACTION SCHEDULE [NAME] [OPTIONS]",
    about=(
        "Look at batches: jobs that were added under one name, and what runs when all of them have ended.",
        "ACTION is list, show, cancel or resume. list prints the batches, the last one made first. show prints one of "
        "them, with its jobs: done ones are counted, not listed. cancel: jobs that wait never run, running ones learn "
        "of it, and nothing runs after them.",
        "resume gives the jobs of a closed batch to the listeners. An open batch is resumed by the program that fills "
        "it, which makes it again under the same name; with --close no program adds to it, and its jobs run.",
        "NAME is the name of a batch, or its id.",
    ),
    examples=(
        "workkit batch list app-tasks",
        "workkit batch show app-tasks 'import 2027-03-01' --ending dead",
        "workkit batch cancel app-tasks 'import 2027-03-01' --yes",
    ),
)
@click.argument("action", type=click.Choice(ACTIONS), metavar="|".join(ACTIONS))
@click.argument("schedule", type=ScheduleName())
@click.argument("name", type=BatchName(), required=False)
@click.option(
    "--ending", cls=Option, type=click.Choice(ENDINGS), metavar="ENDING", help=f"show: only {', '.join(ENDINGS)}"
)
@click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"most lines; default {DEFAULT_LIMIT}")
@click.option("--all", "everything", cls=Option, is_flag=True, help="as many as there are")
@click.option("--close", cls=Option, is_flag=True, help="resume: close an open batch as it is")
@click.option("--yes", cls=Option, is_flag=True, help="cancel: do not ask before")
@zone_option("zone of the times; default UTC")
@by_option
@json_option()
@verbose_option
@server_options
def batch_command(
    action: str, schedule: str, name: str | None, limit: int | None, everything: bool, tz: str | None, by: str | None,
    as_json: bool, server: str | None, **own: Any,
) -> int:  # fmt: skip
    """List, show, cancel or resume batches."""
    from workkit import schedule as verbs
    from workkit.verbs.opening import groups_of, members_of, producer_of

    most = most_rows(limit, everything)
    for option, value in own.items():
        if value and OF_ACTIONS[option] != action:
            raise click.UsageError(f"--{option} belongs to workkit batch {OF_ACTIONS[option]}. Leave it out.")
    if action == "list" and name is not None:
        raise click.UsageError(f'workkit batch list takes no NAME; "{name}" is one too many.')
    zone, s = zone_of(tz, read_settings()), known(schedule, server=server)
    groups, now_ms = groups_of(s), producer_of(s).now_ms()
    if action == "list":
        found = list(islice(_every(s), most))
        if as_json:
            table.show_json(record.group_record(group, schedule=s.name, now_ms=now_ms) for group in found)
        elif found:
            table.show_table(BATCHES, [_row(group, now_ms, zone) for group in found])
        else:
            terminal.talk(f"no batch in {s.name}.")
        return _more(len(found), most)
    check_given("name", name)
    group, more = groups.group(str(name)), {}
    if group.name is None:
        trouble = f"in {s.name}; it is the id of a job that waits for others"
        raise NotFound.about(f'no batch "{name}"', trouble, f"Show the job: workkit show {s.name} {name}.", given=name)
    if action == "show":
        members = list(islice(members_of(s, group, own["ending"]), most))
        more = {"members": [one._asdict() for one in members]}
        if not as_json:
            for title, value in _details(group, now_ms, zone):
                terminal.say(f"{title:10}{wording.printable(value)}", indent=10)
            for one in members:
                terminal.say(f"{one.ending:10}{wording.printable(member_text(one.name, zone))}", indent=10)
            _more(len(members), most)
    elif action == "cancel":
        if group.is_settled:
            raise _refused(group, "has ended, so there is nothing to cancel")
        waiting = wording.plural(group.endings.get("waiting", 0), "job")
        if not own["yes"] and (status := agreed("Cancel", f"{title_of(group)} with {waiting}", [])) is not None:
            return status
        verbs.batch(s, group.name).cancel(by=by)
        terminal.say(wording.printable(f"cancelled {title_of(group)}: {waiting} had not ended"))
    else:
        if group.is_settled or group.state == "cancelled":
            raise _refused(group, "is cancelled" if group.state == "cancelled" else "has ended")
        if group.state == "open" and not own["close"]:
            added = wording.age_text(now_ms - (group.added_ms or now_ms))
            named = f"{s.name} {shlex.quote(group.name)}"
            raise _refused(
                group, f"is open; the last job was added {added} ago",
                "The program that fills it resumes it: it makes the batch again under this name, and adds what is "
                f"left. To run its jobs as they are: workkit batch resume {named} --close. To give it up: "
                f"workkit batch cancel {named}.",
            )  # fmt: skip
        if group.state == "open":
            with verbs.batch(s, group.name):
                pass
        while groups.release(group.name):
            pass
        terminal.say(wording.printable(f"resumed {title_of(group)}: it has {wording.plural(group.total, 'job')}"))
    if as_json:
        found_now = record.group_record(groups.group(group.id), schedule=s.name, now_ms=now_ms)
        terminal.data(record.compact(found_now | more))
    return 0


def _every(s: Schedule) -> Iterator[Group]:
    from workkit.verbs.opening import groups_of

    place: str | None = None
    while place != "":
        page = groups_of(s).groups(after=place or "")
        yield from page.groups
        place = page.next


def _row(group: Group, now_ms: int, zone: tzinfo) -> list[str]:
    made, now = instant_of(group.made_ms) if group.made_ms else None, instant_of(now_ms)
    at = "-"
    if made is not None and now is not None:
        at = f"{wording.near_day(made.astimezone(zone), now.astimezone(zone))}  {made.astimezone(zone):%H:%M:%S}"
    counts = [f"{group.endings.get(ending, 0):,}" for ending in ENDINGS[:3]]
    return [at, group.name or group.id, group.state_at(now_ms), f"{group.total:,}", *counts]


def _more(count: int, most: int | None) -> int:
    if count == most:
        terminal.talk(f"{most:,} shown, there may be more. All of them: --all")
    return 0


def title_of(group: Group) -> str:
    """Name a batch in a sentence."""
    return f'the batch "{group.name}"'


def member_text(name: str, zone: tzinfo) -> str:
    """Name a member: the id of a job, the id and the time of a run of a recurring job, or a batch."""
    id, _, due = name.partition("@")
    at = instant_of(int(due)) if due.isdecimal() and len(due) < 17 else None
    if id.startswith("="):
        return f"batch {id[1:]}"
    return id[:SHORT] + ("" if at is None else f", its run of {wording.instant_text(at, zone)}")


def _details(group: Group, now_ms: int, zone: tzinfo) -> Iterator[tuple[str, str]]:
    counts = ", ".join(f"{count:,} {ending}" for ending in ENDINGS if (count := group.endings.get(ending, 0)))
    yield from (("batch", str(group.name)), ("id", group.id), ("state", group.state_at(now_ms)))
    yield "jobs", f"{group.total:,}" + (f": {counts}" if counts else "")
    for title, ms in (("made", group.made_ms), ("added", group.added_ms), ("ended", group.settled_ms)):
        if ms is not None and (at := instant_of(ms)) is not None:
            yield title, wording.instant_text(at, zone)
    yield "on death", group.on_death
    yield from ((title, id) for title, id in (("then", group.then), ("success", group.on_success)) if id is not None)


def _refused(group: Group, trouble: str, remedy: str = "Make one under another name.") -> InvalidOptions:
    return InvalidOptions.about(title_of(group), trouble, remedy, given=group.name)
