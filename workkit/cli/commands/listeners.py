"""`listeners` and `stats`: who works on schedules, and how much there is. Nothing here changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from workkit.cli.command import Command
from workkit.cli.live import ScheduleName
from workkit.cli.options import OPTIONAL, json_option, opened, server_options, server_words, verbose_option
from workkit.cli.printing import record, table, terminal, wording
from workkit.cli.printing.table import Column
from workkit.text.duration import duration_text

if TYPE_CHECKING:
    from workkit.contract.listener import ListenerInfo
    from workkit.jobs.job import Job

STATES = ("waiting", "due", "running", "retrying", "held", "paused", "dead", "listeners")
LISTENERS = tuple(
    Column(title=title, shrinks=title == "NOW")
    for title in ("LISTENER", "SCHEDULES", "BUSY", "STATE", "BEAT", "UP", "VERSION", "NOW")
)


@click.command(
    "listeners",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("List who is listening and what they run.",),
    examples=("workkit listeners app-tasks", "workkit listeners app-tasks --json"),
    after=OPTIONAL,
)
@click.argument("schedule", type=ScheduleName(), required=False)
@json_option()
@verbose_option
@server_options
def listeners_command(schedule: str | None, as_json: bool, server: str | None) -> None:
    """List listeners."""
    from workkit import schedule as verbs

    schedules = opened(schedule, command="listeners", server=server)
    found = {info.listener: info for s in schedules for info in verbs.listeners(s)}
    if as_json:
        record.show_json(map(record.listener_record, found.values()))
    elif found:
        table.show_table(LISTENERS, map(_listener_row, found.values()))
    if not found:
        names = wording.listed([s.name for s in schedules], "or")
        start = f"workkit listen {' '.join(s.name for s in schedules)}{server_words(server)}"
        terminal.talk(f"nobody listens to {names}. Start a listener: {start}")


def _listener_row(info: ListenerInfo) -> list[str]:
    schedules = ",".join(name if weight == 1 else f"{name}:{weight}" for name, weight in info.schedules.items())
    return [
        info.listener,
        schedules,
        f"{len(info.running)}/{info.threads}",
        "stuck" if info.trouble else info.state,
        duration_text(info.beat_ms),
        duration_text(info.up_ms).replace("min", "m"),
        info.version,
        "; ".join(_running(job) for job in info.running) or "-",
    ]


def _running(job: Job) -> str:
    return wording.call_text(job) + (f" {wording.progress(job.progress)}" if job.progress is not None else "")


@click.command(
    "stats",
    cls=Command,
    takes="[SCHEDULE] [OPTIONS]",
    about=("Count the jobs of a schedule: how many stand where, and what became of those of the last 48 hours.",),
    examples=("workkit stats app-tasks", "workkit stats app-tasks --json"),
    after=OPTIONAL,
)
@click.argument("schedule", type=ScheduleName(), required=False)
@json_option()
@verbose_option
@server_options
def stats_command(schedule: str | None, as_json: bool, server: str | None) -> None:
    """Count jobs."""
    from workkit import schedule as verbs

    counted = [(s.name, verbs.counts(s)) for s in opened(schedule, command="stats", server=server)]
    if as_json:
        record.show_json(record.counts_record(name, counts) for name, counts in counted)
        return
    totals = sorted({key for _, counts in counted for key in counts.totals})
    counted_here = (f"{key.replace('_', ' ')}/48h" for key in totals)
    titles = [Column(title=title.upper()) for title in ("schedule", *STATES, *counted_here)]
    rows = [
        [
            name,
            *(f"{getattr(counts, state):,}" for state in STATES),
            *(f"{counts.totals.get(key, 0):,}" for key in totals),
        ]
        for name, counts in counted
    ]
    table.show_table(titles, rows)
