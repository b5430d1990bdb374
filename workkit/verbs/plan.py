"""Plans of named jobs: find the changes that make the jobs equal to a plan, without I/O, and make them. And the plans
in the pyproject.toml of a project: ``[tool.workkit.schedules.app-tasks.digest]``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workkit.contract.admin import LONGEST_BY, Author
from workkit.contract.broker import Producer
from workkit.contract.inspector import Named
from workkit.contract.producer import Added, NewJob
from workkit.errors import Invalid, InvalidOptions, NotFound, located
from workkit.jobs.job import Job
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import BY_NAME
from workkit.jobs.planned import Planned, PlanSource
from workkit.verbs.addition import NowMs, addition
from workkit.verbs.bulk import Bulk
from workkit.verbs.creation import Schedule
from workkit.verbs.new_job import as_job
from workkit.verbs.opening import author_of, producer_of

MOST_TOLD = 20  # names of each kind in the record of a sync


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes that `sync` makes, or would make: names of jobs. `before` and `after` hold the jobs themselves, by
    name: the present jobs that the plan or `removed` names, and the planned jobs. Only for plans of code, `over`: jobs
    with a last run that has begun; `older`: modules and files with a newer plan on the server, so that nothing of
    theirs changed.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    older: tuple[str, ...] = ()
    before: Mapping[str, Job] = field(default_factory=dict, repr=False)
    after: Mapping[str, Job] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        parts = {word: len(getattr(self, word)) for word in ("added", "changed", "removed", "unchanged", "over")}
        said = [f"{count:,} {word}" for word, count in parts.items() if count]
        if self.older:
            said.append(f"left to a newer plan: {', '.join(self.older)}")
        return ", ".join(said) or "nothing planned"


def read_plan(plan: Mapping[str, Mapping[str, object]], *, s: Schedule, now_ms: NowMs) -> dict[str, NewJob]:
    """Return the job for a broker of every entry of a plan, by name. Raises an `Invalid` that names the job."""
    if not isinstance(plan, Mapping):
        trouble, remedy = f"is a {type(plan).__name__}", "Give a mapping: name -> add's keywords."
        raise InvalidOptions.about("the plan", trouble, remedy, where="plan", given=plan)
    read: dict[str, NewJob] = {}
    for name, entry in plan.items():
        try:
            read[name] = addition(_row(name, entry), s=s, now_ms=now_ms, seeks=True)
        except Invalid as error:
            raise located(error, f"job {name}") from error.__cause__
    return read


def _row(name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        remedy = 'Write add\'s keywords: {"fn": ..., "every": ...}.'
        raise InvalidOptions.about(repr(entry), "is not a mapping", remedy, given=entry)
    if entry.get("name", name) != name:
        raise option_error("name", entry["name"], "is another than its name in the plan", "Leave it out.")
    return {**entry, "name": name}


def compare(
    after: Mapping[str, Job], *, contents: Mapping[str, str], standing: Mapping[str, Named], prune: bool
) -> Plan:
    """Find the necessary changes. `contents` identify the planned jobs, by name, as `standing` does the present jobs.
    `prune`: remove recurring jobs that are not in the plan.
    """
    known = {name: contents[name] == standing[name].content for name in after if name in standing}
    removed = tuple(
        sorted(name for name, found in standing.items() if prune and name not in after and found.job.recurs)
    )
    return Plan(
        added=tuple(name for name in after if name not in standing),
        changed=tuple(name for name, is_same in known.items() if not is_same),
        unchanged=tuple(name for name, is_same in known.items() if is_same),
        removed=removed,
        before={name: standing[name].job for name in (*known, *removed)},
        after=after,
    )


def _carry_out(plan: Plan, wanted: Mapping[str, NewJob], *, broker: Producer, author: Author) -> None:
    """Make the changes of a plan, and record them first. `wanted` holds its jobs by name."""
    note_sync(plan, broker=broker, author=author)
    with Bulk(broker.adding, schedule=broker.schedule) as bulk:
        for name in (*plan.added, *plan.changed):
            bulk.put(wanted[name])
    admin = broker.admin.by(author)
    for name in plan.removed:
        with suppress(NotFound):  # the job ended meanwhile
            admin.cancel(plan.before[name])


def note_sync(plan: Plan, *, broker: Producer, author: Author) -> None:
    """Record the changes of a plan, if there are any."""
    acts = {"added": plan.added, "changed": plan.changed, "removed": plan.removed}
    if count := sum(map(len, acts.values())):
        told = {word: [name[:LONGEST_BY] for name in names[:MOST_TOLD]] for word, names in acts.items() if names}
        broker.admin.by(author).note("sync", told, times=count)


def sync_given(
    s: Schedule, plan: Mapping[str, Mapping[str, object]], *, prune: bool, dry_run: bool, by: str | None
) -> Plan:
    """Make named jobs equal to an explicit plan: see `schedule.sync`."""
    broker, author = producer_of(s), author_of(by)
    now_ms = broker.now_ms()
    wanted = read_plan(plan, s=s, now_ms=lambda: now_ms)
    contents = dict(zip(wanted, broker.plans.contents(list(wanted.values())), strict=True))
    after = {
        name: as_job(new, schedule=s.name, added=Added(id=contents[name], due_ms=new.due_ms, new=True))
        for name, new in wanted.items()
    }
    found = compare(after, contents=contents, standing=broker.plans.named(), prune=prune)
    if not dry_run:
        _carry_out(found, wanted, broker=broker, author=author)
    return found


TABLE = "tool.workkit.schedules"


def read_toml(file: Path) -> dict[str, Any]:
    """Read a TOML file. Raises NotFound, InvalidOptions."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        message = f"{file}: {(error.strerror or str(error)).lower()}. Name a .toml file, or MODULE:MAPPING."
        raise NotFound(message, given=str(file)) from error
    except UnicodeDecodeError as error:
        message = f"{file}: byte {error.start + 1} is not UTF-8. Save it as UTF-8."
        raise InvalidOptions(message, given=str(file)) from error
    except tomllib.TOMLDecodeError as error:
        message = f"{file}: {error}. Write a table for each job: [digest]."
        raise InvalidOptions(message, given=str(file)) from error


def entries(table: Mapping[str, Any], *, where: str) -> dict[str, Mapping[str, Any]]:
    """Check that a table holds a table for each job. Raises InvalidOptions."""
    for name, entry in table.items():
        if not isinstance(entry, Mapping):
            remedy = "Write [NAME] for each job, and its keywords below."
            raise InvalidOptions(f"{where}: {name} = {entry!r} is no table. {remedy}", given=name)
    return dict(table)


def plan_of_project(file: Path, schedule: str) -> PlanSource | None:
    """Read the plan of a schedule in the pyproject.toml of a project; None if it has none. Raises NotFound,
    InvalidOptions.
    """
    read = read_toml(file)
    settings = read.get("tool", {}).get("workkit", {})
    schedules = settings.get("schedules", {})
    table = schedules.get(schedule) if isinstance(schedules, Mapping) else None
    if table is None:
        return None
    where = f"[{TABLE}.{schedule}] in {file}"
    if not isinstance(table, Mapping):
        raise InvalidOptions(f"{where} is {table!r}. Write [{TABLE}.{schedule}.NAME] for each job.", given=table)
    jobs = {name: Planned(given=entry) for name, entry in entries(table, where=where).items()}
    said, project = settings.get("plan-version"), read.get("project", {}).get("name")
    return PlanSource(
        name=f"pyproject.toml:{project}" if isinstance(project, str) else "pyproject.toml",
        jobs=jobs,
        written_ms=file.stat().st_mtime_ns // 1_000_000,
        version=None if said is None else BY_NAME["plan_version"].read(said, "plan-version"),
    )
