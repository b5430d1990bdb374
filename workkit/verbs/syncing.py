"""Which plans of code a sync has: those of imported modules, and of a file; and the sync of a listener that starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workkit import events
from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.plans import Made
from workkit.errors import InvalidOptions, ServerFull
from workkit.jobs.options import BY_NAME
from workkit.jobs.planned import PlanSource, planned_here, written_ms
from workkit.verbs.author import author_of
from workkit.verbs.code_plan import sync_code
from workkit.verbs.creation import Schedule
from workkit.verbs.opening import producer_of
from workkit.verbs.plan import Plan
from workkit.verbs.plan_file import plan_of_project


def sources_of(schedule: str, file: Path | None) -> list[PlanSource]:
    """Find what is planned for a schedule: by modules that are imported, and by a file, if one is given."""
    found = planned_here(schedule)
    of_file = None if file is None else plan_of_project(file, schedule)
    return found if of_file is None else [*found, of_file]


def read_version(plan_version: str | int | None) -> str | None:
    """Read the version of a plan. Raises InvalidOptions."""
    return None if plan_version is None else BY_NAME["plan_version"].read(plan_version, "plan_version")


def sync_planned(
    s: Schedule,
    *,
    file: Path | None = None,
    plan_version: str | int | None = None,
    rollback: bool = False,
    prune: bool = False,
    dry_run: bool = False,
    by: str | None = None,
) -> Plan:
    """Make what is planned for a schedule so: see `schedule.sync`. Raises InvalidOptions where nothing is planned."""
    broker, version, author = producer_of(s), read_version(plan_version), author_of(by)
    sources = sources_of(s.name, file)
    gone = _gone(sources, broker.plans.made())
    if not sources and not gone:
        trouble = f"plans a job of {s.name}"
        remedy = "Import the module that has @s.every(...) first: workkit sync app-tasks --import app.jobs."
        raise InvalidOptions.about("no module that is imported here", trouble, remedy, where="plan", given=s.name)
    return sync_code(
        s,
        [*sources, *gone],
        broker=broker,
        version=version,
        rollback=rollback,
        prune=prune,
        dry_run=dry_run,
        author=author,
    )


def _gone(sources: Sequence[PlanSource], made: Mapping[str, Made]) -> list[PlanSource]:
    """Find the sources that have made jobs, and plan nothing any more, as far as this program can tell: modules that
    are imported here and plan nothing, and others of which a job has moved to one of these sources.
    """
    owners = {name: source for source in sources for name in source.jobs}
    known = {source.name for source in sources}
    found: dict[str, PlanSource] = {}
    for name, one in sorted(made.items()):
        if one.source in known:
            continue
        if name in owners:  # the plan that has it now says how new this is
            found[one.source] = replace(owners[name], name=one.source, jobs={})
        elif one.source in sys.modules:
            found.setdefault(one.source, PlanSource(name=one.source, written_ms=written_ms(one.source)))
    return list(found.values())


def sync_at_start(schedules: Sequence[Schedule], *, how: Mapping[str, Any]) -> None:
    """Make what is planned so, for each schedule of a listener, and announce it. A server that takes no writes for now
    keeps no listener from starting.
    """
    given = BY_NAME["sync"].read(how["sync"], "sync")
    file = given if isinstance(given, Path) else None
    for s in schedules:
        planned = bool(sources_of(s.name, file))
        if not planned and Keeps.PLAN not in layout_of(s.layout).keeps:
            continue
        try:
            done = None
            if planned or _gone([], producer_of(s).plans.made()):
                done = sync_planned(s, file=file, plan_version=how.get("plan_version"))
        except ServerFull as error:
            events.emit("not_synced", s.name, reason=str(error))
            continue
        events.emit("synced", s.name, plan=done)
        if done is not None and done.older:
            events.emit("outdated", s.name, sources=done.older)
