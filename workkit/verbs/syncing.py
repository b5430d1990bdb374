"""The verb `sync`: plans that come with the code, from the decorated functions of imported modules, and from tables of
a file.

The server decides which of two versions of a plan holds (spec/plans.md). Each start carries out the plan that holds, so
the next start completes an interrupted sync.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from workkit import events
from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.admin import Author
from workkit.contract.broker import Producer
from workkit.contract.inspector import Named
from workkit.contract.producer import Added, CodePlan, Made, Mode, NewJob, PlanMark, Verdict
from workkit.errors import InvalidOptions, NotFound, ServerFull, TriggerError, WorkkitError, located
from workkit.jobs.importing import refuse_addition
from workkit.jobs.names import stored_name
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import BY_NAME
from workkit.jobs.planned import PRESENTS, Planned, PlanSource, check_planned, planned_here, written_ms
from workkit.verbs.addition import addition
from workkit.verbs.creation import Schedule, check_schedule
from workkit.verbs.new_job import as_job
from workkit.verbs.opening import author_of, producer_of
from workkit.verbs.plan import Plan, compare, note_sync, plan_of_project, sync_given


def sync(
    s: Schedule,
    plan: Mapping[str, Mapping[str, object]] | None = None,
    *,
    prune: bool = False,
    dry_run: bool = False,
    rollback: bool = False,
    plan_version: str | int | None = None,
    by: str | None = None,
) -> Plan:
    """Make named jobs equal to a plan: name -> `add`'s keywords, `fn` or `call` among them. Returns the names that were
    added, changed, removed and left.

    `prune`: cancel named recurring jobs that are not in the plan. `dry_run`: write nothing. `by`: the author, as
    `changes` shows it. Every entry is read before the first write; the first bad one raises with the job's name, and
    nothing is written.

    Without `plan`, each imported module has a plan of its own: its functions under ``@s.every(...)``, ``@s.at(...)``
    and ``@s.cron(...)`` (spec/plans.md). A plan that a newer one has replaced changes nothing, and `older` names its
    module; `rollback` makes it hold again. `plan_version` (numbers: "412", "2026.11.23") decides which is newer;
    without one the time at which the module was written does. Jobs that a plan has made and no longer has are removed.
    """
    check_schedule(s)
    if not dry_run:
        refuse_addition("schedule.sync")
    if plan is None:
        return sync_planned(s, plan_version=plan_version, rollback=rollback, prune=prune, dry_run=dry_run, by=by)
    for option, value in (("rollback", rollback or None), ("plan_version", plan_version)):
        if value is not None:
            trouble, remedy = "with a plan that is given: it is made so in any case", "Leave it out."
            raise option_error(option, value, trouble, remedy)
    return sync_given(s, plan, prune=prune, dry_run=dry_run, by=by)


def _sources_of(schedule: str, file: Path | None) -> list[PlanSource]:
    """Find the plans of a schedule: those of imported modules, and that of `file`, unless it is None."""
    found = planned_here(schedule)
    of_file = None if file is None else plan_of_project(file, schedule)
    return found if of_file is None else [*found, of_file]


def _read_version(plan_version: str | int | None) -> str | None:
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
    """Carry out the plans of a schedule: see `schedule.sync`. Raises InvalidOptions where nothing is planned."""
    broker, version, author = producer_of(s), _read_version(plan_version), author_of(by)
    sources = _sources_of(s.name, file)
    gone = _gone(sources, broker.plans.made())
    if not sources and not gone:
        trouble = f"plans a job of {s.name}"
        remedy = "Import the module that has @s.every(...) first: workkit sync app-tasks --import app.jobs."
        raise InvalidOptions.about("no module that is imported here", trouble, remedy, where="plan", given=s.name)
    return _sync_code(
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
    """Find the sources that have made jobs, and no longer plan any, as far as this program knows: modules that are
    imported here and plan nothing, and others if one of their jobs has moved to one of these sources.
    """
    owners = {name: source for source in sources for name in source.jobs}
    known = {source.name for source in sources}
    found: dict[str, PlanSource] = {}
    for name, one in sorted(made.items()):
        if one.source in known:
            continue
        if name in owners:  # the plan that has the job now decides how new it is
            found[one.source] = replace(owners[name], name=one.source, jobs={})
        elif one.source in sys.modules:
            found.setdefault(one.source, PlanSource(name=one.source, written_ms=written_ms(one.source)))
    return list(found.values())


def sync_at_start(schedules: Sequence[Schedule], *, how: Mapping[str, Any]) -> None:
    """Carry out the plans of each schedule of a listener, and announce it. The listener starts even if a server takes
    no writes for now.
    """
    given = BY_NAME["sync"].read(how["sync"], "sync")
    file = given if isinstance(given, Path) else None
    for s in schedules:
        planned = bool(_sources_of(s.name, file))
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


_TRIES = 5  # the most attempts of a sync: a job that becomes due while it is sent is read again
_AT_ONCE = 500


def _sync_code(
    s: Schedule,
    sources: Sequence[PlanSource],
    *,
    broker: Producer,
    version: str | None = None,
    rollback: bool = False,
    prune: bool = False,
    dry_run: bool = False,
    author: Author,
) -> Plan:
    """Carry out these plans, where no newer plan holds: see `schedule.sync`. `version`: the option `plan_version` as it
    is stored.
    """
    owners = _owners(sources)
    for source in sources:
        for name, planned in source.jobs.items():
            _check(name, planned, s)
    plans = [_code_plan(source, s=s, version=version) for source in sources]
    mode: Mode = "look" if dry_run else "back" if rollback else "newer"
    verdicts = broker.plans.decide(plans, mode=mode)
    # fault: plan decided
    pairs = list(zip(sources, verdicts, strict=True))
    holding = {source.name: source for source, one in pairs if one.standing != "older" or rollback}
    for name, one in broker.plans.made().items():
        if owners.get(name, one.source) != one.source and one.source not in holding:
            holding.pop(owners[name], None)  # the newer plan of another source has this job now
    sync = _Sync(
        s=s,
        broker=broker,
        sources=holding,
        verdicts={source.name: one for source, one in pairs},
        owners=owners,
        older={source.name for source, _ in pairs if source.name not in holding},
    )
    return sync.look(prune=prune) if dry_run else sync.done(prune=prune, author=author)


@dataclass(slots=True, kw_only=True, eq=False)
class _Sync:
    """One sync of the plans that hold, with its progress."""

    s: Schedule
    broker: Producer
    sources: dict[str, PlanSource]
    verdicts: Mapping[str, Verdict]
    owners: Mapping[str, str]
    older: set[str]
    wanted: dict[str, NewJob] = field(default_factory=dict)
    made: Mapping[str, Made] = field(default_factory=dict)

    def look(self, *, prune: bool) -> Plan:
        """Find the necessary changes."""
        now_ms = self.broker.now_ms() + 1  # a job that is due now is refused as late, forever if the clock is stopped
        self.made, standing = self.broker.plans.made(), self.broker.plans.named()
        self.wanted, over = {}, []
        for source in self.sources.values():
            for name, planned in source.jobs.items():
                new = _read(name, planned, s=self.s, now_ms=now_ms)
                if new is None:
                    over.append(name)
                    continue
                generation = self.verdicts[source.name].generation
                new.plan = PlanMark(source=source.name, generation=generation, ends=_ends(new))
                self.wanted[name] = new
        contents = dict(zip(self.wanted, self.broker.plans.contents(list(self.wanted.values())), strict=True))
        for name, content in contents.items():
            mark, made = self.wanted[name].plan, self.made.get(name)
            if mark and mark.ends and name not in standing and made and made.content == content:
                over.append(name)
                del self.wanted[name]
        after = {
            name: as_job(new, schedule=self.s.name, added=Added(id=contents[name], due_ms=new.due_ms, new=True))
            for name, new in self.wanted.items()
        }
        found = compare(after, contents=contents, standing=standing, prune=prune)
        withdrawn = {name for name in self._withdrawn() if self._is_as_made(name, standing)}
        removed = sorted(withdrawn | {name for name in found.removed if name not in self.owners})
        before = {**found.before, **{name: standing[name].job for name in removed}}
        return replace(found, removed=tuple(removed), over=tuple(over), older=tuple(sorted(self.older)), before=before)

    def done(self, *, prune: bool, author: Author) -> Plan:
        """Make the changes, and return those that were made."""
        first: Plan | None = None
        for _ in range(_TRIES):
            plan = self.look(prune=prune)
            if first is None:
                first = plan
                note_sync(plan, broker=self.broker, author=author)
            again = self._put(plan)
            # fault: plan put
            withdrawn = set(self._withdrawn())
            self._withdraw()
            for name in plan.removed:
                if name not in withdrawn:
                    with suppress(NotFound):  # the job ended meanwhile
                        self.broker.admin.by(author).cancel(plan.before[name])
            if not again:
                break
        assert first is not None
        return replace(first, older=tuple(sorted(self.older)))

    def _put(self, plan: Plan) -> bool:
        """Add the jobs that are new, that differ, or that are not recorded as made. Return whether to look again."""
        noted = {name for name in plan.unchanged if (made := self.made.get(name)) and made.source == self.owners[name]}
        rows = [
            (name, self.wanted[name]) for name in (*plan.added, *plan.changed, *plan.unchanged) if name not in noted
        ]
        late = False
        for at in range(0, len(rows), _AT_ONCE):
            some = rows[at : at + _AT_ONCE]
            for (name, _), added in zip(some, self.broker.adding([new for _, new in some])(), strict=True):
                late = late or added.is_late
                if added.is_outdated:
                    self._leave(self.owners[name])
        return late

    def _leave(self, source: str) -> None:
        self.sources.pop(source, None)
        self.older.add(source)

    def _withdrawn(self) -> Iterable[str]:
        """Return the jobs that the plans that hold have made, and no longer have."""
        return [name for name, made in self.made.items() if made.source in self.sources and name not in self.owners]

    def _withdraw(self) -> None:
        by_source: dict[str, list[str]] = {}
        for name in self._withdrawn():
            by_source.setdefault(self.made[name].source, []).append(name)
        for source, names in by_source.items():
            if not self.broker.plans.withdraw(names, source=source, generation=self.verdicts[source].generation):
                self._leave(source)

    def _is_as_made(self, name: str, standing: Mapping[str, Named]) -> bool:
        return name in standing and standing[name].content == self.made[name].content


def _owners(sources: Sequence[PlanSource]) -> dict[str, str]:
    """Return the source of each name. Raises InvalidOptions for a name that two have."""
    owners: dict[str, str] = {}
    for source in sources:
        for name in source.jobs:
            if name in owners:
                trouble, remedy = f"is planned by {owners[name]} and by {source.name}", "Give one another name."
                raise InvalidOptions.about(f"job {name}", trouble, remedy, where="name", given=name)
            owners[name] = source.name
    return owners


def _check(name: str, planned: Planned, s: Schedule) -> None:
    try:
        check_planned(name, planned, tz=s.tz, dialect=s.dialect)
    except WorkkitError as error:
        raise located(error, f"job {name}") from error.__cause__


def _read(name: str, planned: Planned, *, s: Schedule, now_ms: int) -> NewJob | None:
    """Read a job as `add` does; None if all of its runs are in the past. Raises an `Invalid`."""
    of = replace(s, tz=planned.tz or s.tz, dialect=planned.dialect or s.dialect)
    row = {**planned.given, "name": name}
    try:
        return addition(row, s=of, now_ms=lambda: now_ms, seeks=True)
    except TriggerError as error:
        try:
            addition(row, s=of, now_ms=lambda: round(PRESENTS[0].timestamp() * 1000))
        except TriggerError:
            raise located(error, f"job {name}") from error.__cause__
        return None  # the job is valid; only its end or its instant has passed
    except WorkkitError as error:
        raise located(error, f"job {name}") from error.__cause__


def _ends(new: NewJob) -> bool:
    trigger = new.trigger
    return trigger is None or not trigger.recurs or trigger.end is not None or new.terms.count is not None


def _code_plan(source: PlanSource, *, s: Schedule, version: str | None) -> CodePlan:
    said = version or source.version or ""
    jobs = [
        [name, stored_name(planned.given["fn"]), planned.tz or s.tz, planned.dialect or s.dialect,
         {key: value for key, value in planned.given.items() if key != "fn"}]
        for name, planned in sorted(source.jobs.items())
    ]  # fmt: skip
    text = json.dumps([said, jobs], sort_keys=True, default=str)
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return CodePlan(source=source.name, digest=digest, version=said, written_ms=source.written_ms)
