"""`dead --by error`: how many errors are behind the dead jobs. Errors that differ only in what varies are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workkit.cli.printing import table, terminal
from workkit.cli.printing.table import Column
from workkit.contract.record import MOST_IDS, error_record
from workkit.jobs.fingerprint import Fingerprint, print_of
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text import wording

ERRORS = (
    Column(title="JOBS"),
    Column(title="LAST", rank=2),
    Column(title="FIRST", rank=4),
    Column(title="FUNCTION", cut_to=12, rank=3),
    Column(title="ERROR", cut_to=12),
    Column(title="PRINT", rank=5),
)


@dataclass(slots=True, kw_only=True)
class DeadError:
    """One error, and the jobs that died of it. `job` is the last one that did."""

    print: Fingerprint
    job: Job
    count: int = 0
    first: datetime | None = None
    last: datetime | None = None
    fns: dict[str, None] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)


def by_error(dead: Iterable[Job]) -> list[DeadError]:
    """Put dead jobs together by their error; the one with the most jobs first."""
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
        wording.printable(error.job.error or "-"),
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
