"""The broker of any layout over several shards: schedules of one layout that users see as one.

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

from workkit.brokers import shards as rules
from workkit.brokers.redis_server.pages import place_before
from workkit.brokers.shards import Rule, Side, by_home, first_found
from workkit.contract.admin import Limited, Marked, NewTime, Paused, Quieted, Resumed, Revival, Steer, Undo
from workkit.contract.broker import Admin, Doctor, Inspector, Producer
from workkit.contract.composed import joined_control, joined_pulse, place_in_list, summed_counts
from workkit.contract.doctor import Finding
from workkit.contract.history import JOB, Bucket, Cell, PastRun, Result
from workkit.contract.inspector import Graves, IsKnown, LimitUse, worst_first
from workkit.contract.optional import Plans
from workkit.contract.producer import Added, BulkPlace, BulkStep, CodePlan, Mode, NewJob, Verdict
from workkit.contract.where import JobPage, JobQuery, Placed, no_place, read_page
from workkit.errors import Ambiguous, InvalidOptions, NotFound, Unsupported
from workkit.jobs.job import Job

ID_DIGITS = 40

Answer = Callable[[], list[Added]]


class Part(Producer, Protocol):
    """The broker of one shard, with its member beside the contract."""

    def spread(self, jobs: Sequence[NewJob], shards: Sequence[Any]) -> list[tuple[list[int], Answer]]:
        """Send each job to its shard. Return for each shard the places of its jobs, and a function that waits for its
        answer.
        """


class Sharded:
    """The producer of a schedule of several shards. Thread-safe if the brokers of the shards are.

    A job goes to the shard of its id, or of its name, unique key or window. So a name leads to its shard, and most ids
    do too. A job with a unique key, a second equal `queued` job and a job of another program may be in any shard.
    """

    def __init__(self, shards: Sequence[Part], *, schedule: str) -> None:
        self.schedule, self.url, self._shards = schedule, shards[0].url, tuple(shards)

    def _sides(self, side: str, table: Mapping[str, Rule]) -> Side:
        return Side([getattr(shard, side) for shard in self._shards], table)

    @property
    def inspector(self) -> Inspector:
        """The part that reads all shards."""
        page: Rule = partial(_page, self.now_ms)
        return cast("Inspector", _Inspectors([shard.inspector for shard in self._shards], INSPECTOR | {"page": page}))

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
        """Refuse jobs that a shard cannot keep: see `Producer.check`."""
        self._shards[0].check(job)

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Answer:
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

    def batch(self, which: str | BulkPlace) -> BulkPlace:
        """Refuse: a batch advances in one step, and several shards have no common step. Raises NotFound,
        Unsupported.
        """
        if isinstance(which, BulkPlace):
            raise Unsupported(f"{self.schedule} has several shards: a bulk cannot be resumed there.", given=which.id)
        raise NotFound(f'no bulk "{which}" in {self.schedule}: it has several shards.', given=which)

    def close(self) -> None:
        """Close connections."""
        for shard in self._shards:
            shard.close()


class _Inspectors(Side):
    @property
    def history(self) -> Side:
        return Side([shard.history for shard in self.shards], HISTORY)


def _lately(parts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the last runs of the shards. Each job runs in one shard."""
    return {job: rules.first_full([part[job] for part in parts]) for job in parts[0]}


def _past(parts: list[list[Bucket]]) -> list[Bucket]:
    found: dict[datetime, Bucket] = {}
    for bucket in rules.concatenated(parts):
        before = found.get(bucket.start)
        found[bucket.start] = bucket if before is None else replace(bucket, cell=before.cell + bucket.cell)
    return [found[start] for start in sorted(found)]


def _functions(parts: list[Mapping[str, Cell]]) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for fn, cell in chain.from_iterable(part.items() for part in parts):
        found[fn] = found.get(fn, Cell()) + cell
    return found


def _refused(parts: list[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """Merge the answers of the shards: a listener gives jobs back in each shard by itself."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sorted({fn for part in parts for fn in part.get(name, ())}) for name in names}


def _page(now_ms: Callable[[], int], side: Side, member: str, query: JobQuery) -> JobPage:
    """Merge the walks of the shards. A place holds one place of each shard."""
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
        for job, place, number in merge(*map(numbered, range(len(places))), key=lambda one: place_in_list(one[0])):
            last[number] = place
            yield job, written

    return read_page(placed(), query, now=datetime.fromtimestamp(now_ms() / 1000, UTC), clock_s=monotonic)


def _job(side: Side, member: str, which: str) -> Job:
    """Find a job: a name leads to its shard; the beginning of an id may match jobs of several shards."""
    if (named := side.home(which).under(which)) is not None:
        return cast("Job", side.home(which).job(named))
    if len(which) != ID_DIGITS:
        ids = {id for found in side.ask("ids", which) for id in found}
        if len(ids) > 1:
            raise Ambiguous.among(which, ids, "give more characters")
        which = ids.pop() if ids else which
    return first_found(side.shards, which, lambda shard: cast("Job", shard.job(which)))


def _graves(side: Side, member: str, *, after: str = "", limit: int = 500, is_known: IsKnown | None = None) -> Graves:
    """Read one shard after the other."""
    count = len(side.shards)
    afters = after.split(",") if after else [""] * count
    if len(afters) != count:
        trouble = f"is no place in the dead sets of {count:,} shards"
        raise InvalidOptions.about(f"after={after[:100]!r}", trouble, where="after", given=after)
    jobs: list[Job] = []
    for number, shard in enumerate(side.shards):
        page: Graves = shard.graves(after=afters[number], limit=limit - len(jobs), is_known=is_known)
        jobs += page.jobs
        afters[number], is_last = page.after, page.is_last and number == count - 1
        if not page.is_last or len(jobs) == limit:
            break
    again = ",".join(map(place_before, afters))
    return replace(page, jobs=tuple(jobs), after=",".join(afters), again=again, is_last=is_last)


def _limits(side: Side, member: str, *, like: str = "") -> list[LimitUse]:
    """Read the limits of each shard: a limit applies within its shard."""
    return worst_first(rules.concatenated(side.ask(member, like=like)), like=like)


def _records(bound: str, place: str, side: Side, member: str, **how: Any) -> Iterator[Any]:
    """Merge the records of the shards, the latest first. A place is the number of a shard and the place there, which
    begins with milliseconds. Of records of the same millisecond, that of the first shard comes first. `bound`: the
    keyword behind which a shard continues. `place`: the attribute of a record with its place.
    """
    number, there = _numbered(side, how.pop(bound, None))
    if number is not None:
        getattr(side.shards[number], member)(**{bound: there})  # refuses a text that is no place
    ms = there.partition("-")[0]

    def of_shard(n: int) -> Iterator[Any]:
        before = None if number is None else there if n == number else f"{int(ms) + (n > number)}-0"
        found = getattr(side.shards[n], member)(**{bound: before}, **how)
        return (replace(one, **{place: f"{n}.{getattr(one, place)}"}) for one in found)

    def written(one: Any) -> tuple[int, int]:
        n, _, at = getattr(one, place).partition(".")
        return -int(at.partition("-")[0]), int(n)

    return merge(*map(of_shard, range(len(side.shards))), key=written)


def _numbered(side: Side, place: str | None) -> tuple[int | None, str]:
    """Read the number of a shard, and the place there."""
    if place is None:
        return None, ""
    number, _, there = place.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 5 and int(number) < len(side.shards)):
        raise no_place(place)
    return int(number), there


def _run(side: Side, member: str, place: str) -> PastRun:
    try:
        number, there = _numbered(side, place)
    except InvalidOptions:
        number, there = 0, ""
    found: PastRun = side.shards[number or 0].run(there)
    return replace(found, place=place)


def _result_id(side: Side, member: str, which: str) -> str | None:
    return next((id for shard in side.shards if (id := shard.result_id(which)) is not None), None)


def _results(side: Side, member: str, id: str, *, after: str | None = None, wait_ms: int = 0) -> Sequence[Result]:
    """Read a job's results where it ran. Wait in the shard where it is or has been."""
    shards = by_home(side.shards, id)
    if after is None:
        return next((found for shard in shards if (found := shard.results(id))), [])
    shard = next((shard for shard in shards if shard.has(id)), shards[0])
    return cast("Sequence[Result]", shard.results(id, after=after, wait_ms=wait_ms))


def _steer(brokers: Sequence[Part], side: Side, member: str, change: Steer) -> bool:
    """Pause a job in its shard, quiet a listener in the shard that it serves, and undo a change in the shard that made
    it. Apply all other changes to every shard.
    """
    match change:
        case Undo(place=place):
            return bool(side.shards[[broker.schedule for broker in brokers].index(place)].steer(change))
        case Quieted():
            return first_found(side.shards, "", lambda shard: bool(shard.steer(change)))
        case Paused(target) if target.startswith(JOB):
            inspectors = [broker.inspector for broker in brokers]
            job = _job(Side(inspectors, {}), "job", target.removeprefix(JOB))
            pairs = [*zip(inspectors, side.shards, strict=True)]
            return first_found(pairs, job.id, lambda pair: bool(pair[0].job(job.id)) and bool(pair[1].steer(change)))
        case Limited(limit=limit, turn_ms=turn_ms) if limit is not None or turn_ms is not None:
            trouble, remedy = "each shard would count for itself", "Give limit= or rate= to @job."
            raise Unsupported(
                f"a schedule of {len(side.shards)} shards has no limit and no rate of its own: {trouble}. {remedy}",
                given=turn_ms if limit is None else limit, trouble=trouble, remedy=remedy,
            )  # fmt: skip
        case Marked():
            return bool(rules.first(side, member, change))
        case Resumed(target) if target.startswith(JOB):
            return True in side.ask(member, change)
    return True in rules.told(side, member, change)


def _reschedule(side: Side, member: str, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
    """Reschedule each job in its shard. If there are several, look at all before the first one is changed."""

    def moved(job: Job, dry: bool) -> list[Job]:
        return first_found(side.shards, job.id, lambda shard: list(shard.reschedule([job], to, dry_run=dry)))

    found = [moved(job, dry_run or len(jobs) > 1) for job in jobs]
    return rules.concatenated(found if dry_run or len(jobs) == 1 else [moved(job, False) for job in jobs])


def _retry(side: Side, member: str, dead: Sequence[Job], *, delays_ms: Sequence[int] = (), **how: Any) -> list[Revival]:
    """Retry in one step in each shard."""
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
    """Withdraw each job from the shard of its name."""
    homes: dict[Any, list[str]] = {}
    for name in names:
        homes.setdefault(side.home(name), []).append(name)
    return False not in [home.withdraw(here, **plan) for home, here in homes.items()]


def _checkup(side: Side, member: str, *, patience_ms: int) -> Iterator[Finding]:
    """Check shard by shard. A fault without a subject that several shards have is reported once."""
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
    "is_known": rules.joined(any),
    "counts": rules.joined(summed_counts),
    "pulse": rules.joined(joined_pulse),
    "jobs": rules.in_order(place_in_list),
    "unlisted": rules.joined(rules.put_together),
    "job": _job,
    "recurring": rules.joined(rules.concatenated),
    "graves": _graves,
    "still_dead": rules.joined(lambda parts: [any(found) for found in zip(*parts, strict=True)]),
    "listeners": rules.joined(rules.concatenated),
    "control": rules.joined(joined_control),
    "limits": _limits,
    "ahead": rules.joined(rules.summed_places),
}
HISTORY: dict[str, Rule] = {
    "runs": partial(_records, "before", "place"),
    "run": _run,
    "lately": rules.joined(_lately),
    "days": rules.joined(rules.first_full),
    "past": rules.joined(_past),
    "functions": rules.joined(_functions),
    "log": rules.joined(rules.first_full),
    "missed": rules.in_order(lambda one: -one.due.timestamp()),
    "changes": partial(_records, "after", "number"),
    "result_id": _result_id,
    "results": _results,
    "knows": rules.first,
    "refused": rules.joined(_refused),
    "size": rules.joined(rules.summed_places),
}
ADMIN: dict[str, Rule] = {
    "by": rules.sides,
    "note": rules.first,
    "cancel": rules.of_id,
    "run": rules.of_id,
    "reschedule": _reschedule,
    "retry": _retry,
    "discard": rules.joined(sum),
}
PLANS: dict[str, Rule] = {
    "contents": rules.first,
    "named": rules.joined(rules.put_together),
    "decide": _decide,
    "made": rules.joined(rules.put_together),
    "withdraw": _withdraw,
}
DOCTOR: dict[str, Rule] = {"checkup": _checkup, "repair": _repair}
