"""Any layout's broker over several shards: schedules of one layout that users see as one.

Each member of a side follows a rule: which shards it asks, and how their answers become one. The tables at the end of
this file give the rule of each member. A listener has no such broker: it registers with each shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from heapq import merge
from itertools import chain
from time import monotonic
from typing import Any, Protocol, cast

from workkit.brokers.redis_server.graves import place_before
from workkit.brokers.shards import by_home, first_found, shard_of_text
from workkit.contract.admin import Revival
from workkit.contract.broker import Admin, Doctor, Inspector, Producer
from workkit.contract.changes import Change
from workkit.contract.composed import soonest, summed_counts
from workkit.contract.doctor import Finding
from workkit.contract.history import JOB, Bucket, Cell, PastRun
from workkit.contract.inspector import Graves, Pulse
from workkit.contract.job_page import JobPage, JobQuery, Placed, no_place, read_page
from workkit.contract.limit_use import LimitUse, worst_first
from workkit.contract.optional import Plans
from workkit.contract.plans import CodePlan, Mode, Verdict
from workkit.contract.producer import Added, Batch, BatchStep, NewJob
from workkit.contract.result import Result
from workkit.contract.steering import Limited, Marked, NewTime, Paused, Quieted, Resumed, Steer
from workkit.contract.undo import Undo
from workkit.errors import Ambiguous, InvalidOptions, NotFound, Unsupported
from workkit.jobs.admission import Control
from workkit.jobs.job import Job

ID_DIGITS = 40

Answer = Callable[[], list[Added]]


class Part(Producer, Protocol):
    """The broker of one shard: what it has beside the contract."""

    def spread(self, jobs: Sequence[NewJob], shards: Sequence[Any]) -> list[tuple[list[int], Answer]]:
        """Send each job to its shard: for each shard the places of its jobs, and what waits for its answer."""


class Sharded:
    """The producer of a schedule of several shards. Thread-safe if the brokers of the shards are.

    A job goes to the shard of its id, or of its name, unique key or window. So a name leads to its shard, and most ids
    do too; a job with a unique key, a second equal `queued` job and a job of another program may be in any shard.
    """

    is_on_test_clock = False

    def __init__(self, shards: Sequence[Part], *, schedule: str) -> None:
        self.schedule, self.url, self._shards = schedule, shards[0].url, tuple(shards)
        self._inspector: Side | None = None

    def _sides(self, side: str, rules: Mapping[str, Rule]) -> Side:
        return Side([getattr(shard, side) for shard in self._shards], rules)

    @property
    def inspector(self) -> Inspector:
        """The part that reads all shards."""
        if self._inspector is None:
            page: Rule = partial(_page, self.now_ms)
            self._inspector = self._sides("inspector", INSPECTOR | {"page": page})
            self._inspector.history = Side([shard.inspector.history for shard in self._shards], HISTORY)
        return cast("Inspector", self._inspector)

    @property
    def admin(self) -> Admin:
        """The part that changes jobs and pauses in any shard."""
        steer: Rule = partial(_steer, self._shards)
        return cast("Admin", self._sides("admin", ADMIN | {"steer": steer}))

    @property
    def plans(self) -> Plans:
        """The plans of code: the first shard decides, and the others learn it before they change."""
        return cast("Plans", self._sides("plans", PLANS))

    @property
    def doctor(self) -> Doctor:
        """The part that checks and repairs all shards."""
        return cast("Doctor", self._sides("doctor", DOCTOR))

    def now_ms(self) -> int:
        """Ask the clock of the first shard's server."""
        return self._shards[0].now_ms()

    def check(self, job: NewJob) -> None:
        """Refuse what a shard cannot keep: see `Producer.check`."""
        self._shards[0].check(job)

    def adding(self, jobs: Sequence[NewJob], *, step: BatchStep | None = None) -> Answer:
        """Send jobs to their shards, and return a function that waits for the answers.

        A shard stores all of its jobs, or none. If one shard raises, others may have stored theirs. Adding all of them
        again adds only `queued` jobs twice.
        """
        if step is not None:
            self.batch(step.after)
        answers = self._shards[0].spread(jobs, self._shards)

        def answer() -> list[Added]:
            added: dict[int, Added] = {}
            for places, done in answers:
                added.update(zip(places, done(), strict=True))
            return [added[place] for place in range(len(jobs))]

        return answer

    def batch(self, which: str | Batch) -> Batch:
        """Find no batch, and keep none: it moves on in one step, and several shards have none. Raises NotFound,
        Unsupported.
        """
        if isinstance(which, Batch):
            raise Unsupported(f"{self.schedule} has several shards: a batch cannot be resumed there.", given=which.id)
        raise NotFound(f'no batch "{which}" in {self.schedule}: it has several shards.', given=which)

    def close(self) -> None:
        """Close connections."""
        for shard in self._shards:
            shard.close()


class Side:
    """One side of all shards, such as their inspectors: a member does what its rule says."""

    history: Side

    def __init__(self, shards: Sequence[Any], rules: Mapping[str, Rule]) -> None:
        self.shards, self.rules = tuple(shards), rules

    def __getattr__(self, member: str) -> Callable[..., Any]:
        """Make the call of a member by its rule."""
        if member not in self.rules:
            raise AttributeError(member)
        return partial(self.rules[member], self, member)

    def ask(self, member: str, *args: Any, **how: Any) -> list[Any]:
        """Ask every shard, in their order."""
        return [getattr(shard, member)(*args, **how) for shard in self.shards]

    def home(self, text: str) -> Any:
        """Find the shard of a name."""
        return self.shards[shard_of_text(text, len(self.shards))]


Rule = Callable[..., Any]
"""What a member does: it gets the side, the name of the member and the arguments of the call."""


# Rules for several members.


def first(side: Side, member: str, *args: Any, **how: Any) -> Any:
    """Ask the first shard."""
    return getattr(side.shards[0], member)(*args, **how)


def of_id(side: Side, member: str, job: Job, *args: Any, **how: Any) -> Any:
    """Ask the shard that has the job: that of its id first. Raises NotFound."""
    return first_found(side.shards, job.id, lambda shard: getattr(shard, member)(job, *args, **how))


def told(side: Side, member: str, *args: Any, **how: Any) -> list[Any]:
    """Tell all shards; only the first one records who changes them."""
    one, *others = side.shards
    return [getattr(shard, member)(*args, **how) for shard in (one, *(shard.by(None) for shard in others))]


def joined(join: Callable[[list[Any]], Any]) -> Rule:
    """Ask every shard, and make one answer of theirs."""
    return lambda side, member, *args, **how: join(side.ask(member, *args, **how))


def sides(side: Side, member: str, *args: Any, **how: Any) -> Side:
    """Make the same side of what each shard answers."""
    return Side(side.ask(member, *args, **how), side.rules)


def in_order(key: Callable[[Any], Any]) -> Rule:
    """Merge the listings of the shards, which are in this order each, while they are read."""
    return joined(lambda parts: merge(*parts, key=key))


def put_together(parts: list[Any]) -> dict[Any, Any]:
    """Make one mapping of several."""
    return {key: value for part in parts for key, value in part.items()}


def concatenated(parts: list[Any]) -> list[Any]:
    """Make one list of several."""
    return list(chain.from_iterable(parts))


def summed_places(parts: list[Any]) -> list[Any]:
    """Add up what stands in the same place of each list."""
    return [sum(found) for found in zip(*parts, strict=True)]


def first_full(parts: list[Any]) -> Any:
    """Choose the first answer that is not empty, else the last one."""
    return next((part for part in parts if part), parts[-1])


# Answers that become one in a way of their own.


def _pulse(parts: list[Pulse]) -> Pulse:
    """A listener is there once for each shard."""
    return Pulse(
        now_ms=max(one.now_ms for one in parts),
        counts=summed_counts([one.counts for one in parts]),
        control=_control([one.control for one in parts]),
        soon=soonest([job for one in parts for job in one.soon]),
        listeners=tuple(info for one in parts for info in one.listeners),
        version=" ".join(one.version for one in parts),
        unknown=put_together([one.unknown for one in parts]),
    )


def _control(parts: list[Control]) -> Control:
    """The pauses of all shards; the schedule's own limits are those of the first."""
    paused = put_together([control.paused for control in parts])
    return replace(parts[0], paused=paused, quiet=frozenset().union(*(control.quiet for control in parts)))


def _lately(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Each job runs in one shard."""
    return {job: first_full([part[job] for part in parts]) for job in parts[0]}


def _past(parts: list[list[Bucket]]) -> list[Bucket]:
    found: dict[datetime, Bucket] = {}
    for bucket in concatenated(parts):
        before = found.get(bucket.start)
        found[bucket.start] = bucket if before is None else replace(bucket, cell=before.cell + bucket.cell)
    return [found[start] for start in sorted(found)]


def _functions(parts: list[Mapping[str, Cell]]) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for fn, cell in chain.from_iterable(part.items() for part in parts):
        found[fn] = found.get(fn, Cell()) + cell
    return found


def _refused(parts: list[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """A listener gives jobs back in each shard by itself."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sorted({fn for part in parts for fn in part.get(name, ())}) for name in names}


# Members with a rule of their own.


def _page(now_ms: Callable[[], int], side: Side, member: str, query: JobQuery) -> JobPage:
    """Merge the walks of the shards: a place is one place for each."""
    places = [""] * len(side.shards) if query.after is None else query.after.split(",")
    if len(places) != len(side.shards):
        raise no_place(query.after or "")
    last: list[Callable[[], str] | None] = [None] * len(side.shards)

    def written() -> str:
        return ",".join(at if place is None else place() for at, place in zip(places, last, strict=True))

    def numbered(number: int) -> Iterator[tuple[Job, Callable[[], str], int]]:
        walk: Iterator[Placed] = side.shards[number].walk(query, places[number] or None)
        return ((job, place, number) for job, place in walk)

    def placed() -> Iterator[Placed]:
        for job, place, number in merge(*map(numbered, range(len(places))), key=lambda one: _order(one[0])):
            last[number] = place
            yield job, written

    return read_page(placed(), query, now=datetime.fromtimestamp(now_ms() / 1000, UTC), clock_s=monotonic)


def _order(job: Job) -> tuple[int, float]:
    """Sort a job as each shard sorts its own."""
    due = float("-inf") if job.due is None else job.due.timestamp()
    if job.state in ("running", "cancelling"):
        return 0, due
    return (2, -due) if job.state == "dead" else (1, due)


def _job(side: Side, member: str, which: str) -> Job:
    """A name leads to its shard. The beginning of an id may be that of jobs in several shards."""
    if (named := side.home(which).under(which)) is not None:
        return cast("Job", side.home(which).job(named))
    if len(which) != ID_DIGITS:
        ids = {id for found in side.ask("ids", which) for id in found}
        if len(ids) > 1:
            raise Ambiguous.among(which, ids, "give more characters")
        which = ids.pop() if ids else which
    return first_found(side.shards, which, lambda shard: cast("Job", shard.job(which)))


def _graves(side: Side, member: str, *, after: str = "", limit: int = 500) -> Graves:
    """One shard after the other."""
    count = len(side.shards)
    afters = after.split(",") if after else [""] * count
    if len(afters) != count:
        trouble = f"is no place in the dead sets of {count:,} shards"
        raise InvalidOptions.about(f"after={after[:100]!r}", trouble, where="after", given=after)
    jobs: list[Job] = []
    for number, shard in enumerate(side.shards):
        page: Graves = shard.graves(after=afters[number], limit=limit - len(jobs))
        jobs += page.jobs
        afters[number], is_last = page.after, page.is_last and number == count - 1
        if not page.is_last or len(jobs) == limit:
            break
    again = ",".join(map(place_before, afters))
    return replace(page, jobs=tuple(jobs), after=",".join(afters), again=again, is_last=is_last)


def _limits(side: Side, member: str, *, like: str = "") -> list[LimitUse]:
    """Each holds in its shard."""
    return worst_first(concatenated(side.ask(member, like=like)), like=like)


def _runs(
    side: Side, member: str, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None
) -> Iterator[PastRun]:
    """The last written one first. A place is the number of its shard and the place there, which begins with its
    milliseconds: what was written in one millisecond comes by the number of its shard.
    """
    shard, place = _numbered(side, before)
    if shard is not None:
        side.shards[shard].runs(before=place)  # refuses what is no place
    ms = place.partition("-")[0]

    def of_shard(number: int) -> Iterator[PastRun]:
        upto, bound = until_ms, None
        if shard is not None and number <= shard:
            bound = place if number == shard else f"{ms}-0"
        elif shard is not None:
            upto = int(ms) if until_ms is None else min(until_ms, int(ms))
        found = side.shards[number].runs(since_ms=since_ms, until_ms=upto, before=bound)
        return (replace(run, place=f"{number}.{run.place}") for run in found)

    return merge(*map(of_shard, range(len(side.shards))), key=_written)


def _run(side: Side, member: str, place: str) -> PastRun:
    try:
        number, there = _numbered(side, place)
    except InvalidOptions:
        number, there = 0, ""
    found: PastRun = side.shards[number or 0].run(there)
    return replace(found, place=place)


def _numbered(side: Side, place: str | None) -> tuple[int | None, str]:
    """Read the number of a shard, and the place there."""
    if place is None:
        return None, ""
    number, _, there = place.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 5 and int(number) < len(side.shards)):
        raise no_place(place)
    return int(number), there


def _written(run: PastRun) -> tuple[int, int]:
    number, _, place = (run.place or "").partition(".")
    return -int(place.partition("-")[0]), int(number)


def _changes(side: Side, member: str, *, after: str | None = None) -> Iterator[Change]:
    """The last one first; of two at the same time, that of the first shard. A number begins with that of its shard."""
    at, _, seen = ("", "", "") if after is None else after.partition(".")
    if after is not None:
        side.shards[0].changes(after=seen)  # refuses what is no number
    ms = seen.partition("-")[0]

    def numbered(number: int) -> Iterator[Change]:
        upto = None
        if after is not None and (not at.isdecimal() or number == int(at)):
            upto = seen
        elif after is not None:
            upto = f"{int(ms) + 1}-0" if number > int(at) else f"{ms}-0"
        found = side.shards[number].changes(after=upto)
        return (replace(one, number=f"{number}.{one.number}") for one in found)

    return merge(*map(numbered, range(len(side.shards))), key=lambda one: -one.at.timestamp())


def _result_id(side: Side, member: str, which: str) -> str | None:
    return next((id for shard in side.shards if (id := shard.result_id(which)) is not None), None)


def _results(side: Side, member: str, id: str, *, after: str | None = None, wait_ms: int = 0) -> Sequence[Result]:
    """A job's results are where it ran. Wait in the shard where it is or has been."""
    shards = by_home(side.shards, id)
    if after is None:
        return next((found for shard in shards if (found := shard.results(id))), [])
    shard = next((shard for shard in shards if shard.has(id)), shards[0])
    return cast("Sequence[Result]", shard.results(id, after=after, wait_ms=wait_ms))


def _size(parts: list[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(summed_places(parts))


def _steer(brokers: Sequence[Part], side: Side, member: str, change: Steer) -> bool:
    """A job is paused in its shard, a listener is quieted in the one that it serves, and a change is undone in the one
    that made it; all else is for every shard.
    """
    match change:
        case Undo(place=place):
            return bool(side.shards[[broker.schedule for broker in brokers].index(place)].steer(change))
        case Quieted():
            return first_found(side.shards, "", lambda shard: bool(shard.steer(change)))
        case Paused(target) if target.startswith(JOB):
            inspectors = [broker.inspector for broker in brokers]
            job, pairs = (
                _job(Side(inspectors, {}), "job", target.removeprefix(JOB)),
                [*zip(inspectors, side.shards, strict=True)],
            )
            return first_found(pairs, job.id, lambda pair: bool(pair[0].job(job.id)) and bool(pair[1].steer(change)))
        case Limited(limit=limit, turn_ms=turn_ms) if limit is not None or turn_ms is not None:
            trouble, remedy = "each shard would count for itself", "Give limit= or rate= to @job."
            raise Unsupported(
                f"a schedule of {len(side.shards)} shards has no limit and no rate of its own: {trouble}. {remedy}",
                given=turn_ms if limit is None else limit, trouble=trouble, remedy=remedy,
            )  # fmt: skip
        case Marked():
            return bool(first(side, member, change))
        case Resumed(target) if target.startswith(JOB):
            return True in side.ask(member, change)
    return True in told(side, member, change)


def _reschedule(side: Side, member: str, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
    """Each in its shard. Of several, all are looked at before the first one is changed."""

    def moved(job: Job, dry: bool) -> list[Job]:
        return first_found(side.shards, job.id, lambda shard: list(shard.reschedule([job], to, dry_run=dry)))

    found = [moved(job, dry_run or len(jobs) > 1) for job in jobs]
    return concatenated(found if dry_run or len(jobs) == 1 else [moved(job, False) for job in jobs])


def _retry(side: Side, member: str, dead: Sequence[Job], *, delays_ms: Sequence[int] = (), **how: Any) -> list[Revival]:
    """One step in each shard."""
    answers: list[Revival] = ["gone"] * len(dead)
    for shard in side.shards:
        left = [place for place, answer in enumerate(answers) if answer == "gone"]
        delays = [delays_ms[place] for place in left] if delays_ms else ()
        for place, answer in zip(left, shard.retry([dead[i] for i in left], delays_ms=delays, **how), strict=True):
            answers[place] = answer
    return answers


def _decide(side: Side, member: str, plans: Sequence[CodePlan], *, mode: Mode) -> list[Verdict]:
    one, *others = side.shards
    found: list[Verdict] = one.decide(plans, mode=mode)
    hold = [(plan, one.generation) for plan, one in zip(plans, found, strict=True) if one.standing != "older"]
    if mode != "look" and hold:
        for shard in others:
            shard.adopt(hold)
    return found


def _withdraw(side: Side, member: str, names: Sequence[str], **plan: Any) -> bool:
    """Each from the shard of its name."""
    homes: dict[Any, list[str]] = {}
    for name in names:
        homes.setdefault(side.home(name), []).append(name)
    return False not in [home.withdraw(here, **plan) for home, here in homes.items()]


def _checkup(side: Side, member: str, *, patience_ms: int) -> Iterator[Finding]:
    """Shard by shard. A fault without a subject that several shards have is named once."""
    known: set[tuple[str, str]] = set()
    for number, shard in enumerate(side.shards):
        for finding in shard.checkup(patience_ms=patience_ms):
            if (finding.kind, finding.what) in known and finding.subject is None:
                continue
            known.add((finding.kind, finding.what))
            yield replace(finding, subject=(number, finding.subject))


def _repair(side: Side, member: str, finding: Finding) -> bool:
    number, subject = finding.subject
    return bool(side.shards[number].repair(replace(finding, subject=subject)))


INSPECTOR: dict[str, Rule] = {
    "is_known": joined(any),
    "counts": joined(summed_counts),
    "pulse": joined(_pulse),
    "jobs": in_order(_order),
    "unlisted": joined(put_together),
    "job": _job,
    "named": joined(put_together),
    "recurring": joined(concatenated),
    "graves": _graves,
    "still_dead": joined(lambda parts: [any(found) for found in zip(*parts, strict=True)]),
    "listeners": joined(concatenated),
    "control": joined(_control),
    "limits": _limits,
    "ahead": joined(summed_places),
}
HISTORY: dict[str, Rule] = {
    "runs": _runs,
    "run": _run,
    "lately": joined(_lately),
    "days": joined(first_full),
    "past": joined(_past),
    "functions": joined(_functions),
    "missed": in_order(lambda one: -one.due.timestamp()),
    "changes": _changes,
    "result_id": _result_id,
    "results": _results,
    "knows": first,
    "refused": joined(_refused),
    "size": joined(_size),
}
ADMIN: dict[str, Rule] = {
    "by": sides,
    "note": first,
    "cancel": of_id,
    "run": of_id,
    "reschedule": _reschedule,
    "retry": _retry,
    "discard": joined(sum),
}
PLANS: dict[str, Rule] = {"contents": first, "decide": _decide, "made": joined(put_together), "withdraw": _withdraw}
DOCTOR: dict[str, Rule] = {"checkup": _checkup, "repair": _repair}
