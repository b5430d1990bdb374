"""`dead --by error`: the errors of the dead jobs. Errors that differ only in variable parts count as one. Also
`dead --acknowledge`, and which dead jobs are acknowledged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from workkit.cli import table, terminal
from workkit.cli.live import listed_jobs
from workkit.cli.table import Column
from workkit.contract.record import MOST_IDS, dead_record, error_record
from workkit.contract.where import Where
from workkit.errors import Unsupported
from workkit.jobs.fingerprint import Fingerprint, print_of
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text import wording
from workkit.text.masked_text import without_secrets

if TYPE_CHECKING:
    from workkit.schedule import Schedule

ERRORS = (
    Column(title="JOBS"),
    Column(title="LAST", rank=2),
    Column(title="FIRST", rank=4),
    Column(title="FUNCTION", cut_to=12, rank=3),
    Column(title="ERROR", cut_to=12),
    Column(title="PRINT", rank=5),
)


def acknowledge_dead(schedules: Sequence[Schedule], part: str | None) -> None:
    """Acknowledge all present dead jobs. Never a part of them, because the server keeps one instant. `part`: a flag
    that names a part.
    """
    from workkit.contract.admin import Acknowledged
    from workkit.verbs.opening import author_of, producer_of

    if part is not None:
        raise click.UsageError(f"--acknowledge is about all that is dead now, and {part} names a part. Keep one.")
    for s in schedules:
        broker = producer_of(s)
        broker.admin.by(author_of(None)).steer(Acknowledged())
        known = wording.plural(broker.inspector.counts().known_dead, "dead job")
        terminal.say(f"{s.name}: {known} acknowledged. workkit doctor reports those that die later.")


def known_until(s: Schedule) -> float:
    """Return the time up to which deaths are acknowledged, in epoch milliseconds; 0 if it is unknown."""
    from workkit.verbs.opening import producer_of

    with suppress(Unsupported):
        return producer_of(s).inspector.control().known_dead_ms or 0
    return 0


def talk_known(s: Schedule, dead: Sequence[Job]) -> None:
    """Say which of these dead jobs, the latest first, are acknowledged."""
    until_ms = known_until(s)
    if known := [job for job in dead if _died_ms(job) <= until_ms]:
        which = "All of these are" if len(known) == len(dead) else f"{known[0].short_id} and what failed before it is"
        terminal.talk(f"{which} acknowledged: workkit doctor does not report them.")


def dead_records(s: Schedule, where: Where, by: str | None) -> Iterator[dict[str, Any]]:
    """Write dead jobs, or their errors, as `dead --json` does."""
    found = listed_jobs(s, state="dead", where=where)
    if by == "error":
        return error_records(by_error(found), s.name)
    until_ms = known_until(s)
    return (dead_record(job) | {"acknowledged": _died_ms(job) <= until_ms} for job in found)


def _died_ms(job: Job) -> float:
    return math.inf if job.due is None else job.due.timestamp() * 1000


@dataclass(slots=True, kw_only=True)
class DeadError:
    """One error, and the jobs that died of it. `job` is the last of them."""

    print: Fingerprint
    job: Job
    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    fns: dict[str, None] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


def by_error(dead: Iterable[Job]) -> list[DeadError]:
    """Group dead jobs by their error; the one with the most jobs first."""
    found: dict[str, DeadError] = {}
    for job in dead:
        print_ = print_of(job)
        error = found.setdefault(print_.print, DeadError(print=print_, job=job))
        error.count += 1
        error.fns[shown(job.fn)] = None
        if len(error.ids) < MOST_IDS:
            error.ids.append(job.id)
        if job.due is not None:
            error.first = job.due if error.first is None else min(error.first, job.due)
            if error.last is None or job.due > error.last:
                error.last, error.job = job.due, job
    return sorted(found.values(), key=lambda error: -error.count)


def show_errors(errors: list[DeadError], *, schedule: str, most: int | None, now: datetime) -> None:
    """Print errors as a table, in the zone of `now`."""
    jobs = sum(error.count for error in errors)
    terminal.say(f"{schedule}: {wording.plural(jobs, 'dead job')}, {wording.plural(len(errors), 'error')}.")
    table.show_table(ERRORS, [_row(error, now) for error in errors[:most]])
    if most is not None and len(errors) > most:
        terminal.talk(f"{most:,} shown, there are more. All of them: workkit dead {schedule} --by error --all")


def _row(error: DeadError, now: datetime) -> list[str]:
    first, *others = error.fns
    return [
        f"{error.count:,}",
        _at(error.last, now),
        _at(error.first, now),
        wording.printable(first) + (f" and {len(others):,} more" if others else ""),
        wording.printable(without_secrets(error.job.error or "-")),
        error.print.print[:8],
    ]


def _at(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "-"
    local = at.astimezone(now.tzinfo)
    return f"{wording.near_day(local, now)} {local:%H:%M:%S}"


def error_records(errors: Iterable[DeadError], schedule: str) -> Iterator[dict[str, Any]]:
    """Write errors as JSON does."""
    for error in errors:
        yield {
            "schedule": schedule,
            **error_record(
                error.print.print,
                error.print,
                jobs=error.count,
                fns=[*error.fns],
                first=error.first,
                last=error.last,
                ids=error.ids,
            ),
        }
