"""`changes`: the author of each change, of one job or of a schedule. `mark`: a release, kept among the changes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import table, terminal
from workkit.cli.command import Command, Option
from workkit.cli.known import DEFAULT_LIMIT, known, opened
from workkit.cli.live import ScheduleName, Which
from workkit.cli.options import Count, by_option, json_option, server_options, verbose_option, zone_of, zone_option
from workkit.cli.settings import read_settings
from workkit.cli.table import Column
from workkit.contract import record
from workkit.text import wording

if TYPE_CHECKING:
    from workkit.contract.admin import Change

CHANGES = (
    Column(title="WHEN", least=20),
    Column(title="WHO", cut_to=12),
    Column(title="VIA", rank=3),
    Column(title="WHAT"),
    Column(title="TARGET", cut_to=12),
    Column(title="ID", rank=4),
    Column(title="CHANGE", cut_to=16, rank=1),
    Column(title="REASON", cut_to=12, rank=2),
)


@click.command(
    "changes",
    cls=Command,
    takes="SCHEDULE [WHICH] [OPTIONS]",
    about=(
        "List who changed what by a command or a verb, the last change first: of one job, or of the whole schedule.",
        "Pauses, resumes, cancellations, skipped runs, runs by hand, retries, discards, syncs, limits, repairs and "
        "marks; about 10,000 are kept. Acts of listeners and producers are not among them.",
    ),
    examples=("workkit changes app-tasks", "workkit changes app-tasks nightly --json"),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("which", type=Which(), required=False)
@click.option("--limit", cls=Option, type=Count(), metavar="N", help=f"most lines; default {DEFAULT_LIMIT}")
@zone_option("zone of the times; default UTC")
@json_option()
@verbose_option
@server_options
def changes_command(
    schedule: str, which: str | None, limit: int | None, tz: str | None, as_json: bool, server: str | None
) -> None:
    """List changes."""
    from workkit import schedule as verbs

    zone = zone_of(tz, read_settings())
    (s,) = opened(schedule, command="changes", server=server)
    found = verbs.changes(s, which, limit=limit or DEFAULT_LIMIT)
    if as_json:
        table.show_json(record.change_record(change) for change in found)
    elif found:
        table.show_table(CHANGES, (_row(change, zone) for change in found))
    else:
        terminal.talk(f"nobody has changed {wording.printable(which or schedule)}, as far as is kept.")


def _row(change: Change, zone: tzinfo) -> Sequence[str]:
    return [
        wording.stamp(change.at, zone),
        wording.printable(change.by or "-"),
        wording.printable(change.via or "-"),
        wording.printable(change.verb),
        wording.printable(change.subject),
        wording.printable((change.id or "-")[:8]),
        wording.printable(" ".join(_differences(change, zone)) or "-"),
        wording.printable(change.reason or "-"),
    ]


def _differences(change: Change, zone: tzinfo) -> Iterator[str]:
    if change.times != 1:
        yield wording.plural(change.times, "fault" if change.verb == "repair" else "job")
    for name in change.names:
        if name == "reason":
            continue
        before, after = (_text(state, name, zone) for state in (change.before, change.after))
        yield f"{name} {before} -> {after}" if before and after else f"{name} {after or before}"


def _text(state: Mapping[str, Any], name: str, zone: tzinfo) -> str:
    value = state.get(name)
    if isinstance(value, datetime):
        return wording.stamp(value, zone)
    if isinstance(value, list):
        return ",".join(value)
    return "" if value is None else str(value)


@click.command(
    "mark",
    cls=Command,
    takes="SCHEDULE TEXT [OPTIONS]",
    about=(
        "Say that something happened now: a release, a failover. The Timeline in the browser draws it, and workkit "
        "changes lists it. Nothing else changes.",
        "TEXT has 1 to 200 characters. A sync leaves a mark by itself.",
    ),
    examples=('workkit mark app-tasks "release 41"', 'workkit mark app-tasks "release 41" --by deploy'),
)
@click.argument("schedule", type=ScheduleName())
@click.argument("text", nargs=-1, required=True)
@by_option
@verbose_option
@server_options
def mark_command(schedule: str, text: tuple[str, ...], by: str | None, server: str | None) -> None:
    """Mark the time."""
    from workkit import schedule as verbs

    if len(text) > 1:
        whole = wording.printable(shlex.quote(" ".join(text)))
        raise click.UsageError(f"TEXT is one argument. Put it in quotes: workkit mark {schedule} {whole}")
    s = known(schedule, server=server)
    verbs.mark(s, text[0], by=by)
    terminal.say(f"marked {s.name}: {wording.printable(text[0])}")
