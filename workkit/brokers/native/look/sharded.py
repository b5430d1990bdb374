"""Read all shards of a schedule as if they were one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import merge
from time import monotonic

from workkit.brokers.layout import no_queues
from workkit.brokers.native.history.changes import read_number
from workkit.brokers.native.history.ring import Runs
from workkit.brokers.native.look.inspector import NativeInspector
from workkit.brokers.native.look.past import NativeResults, place_of
from workkit.brokers.native.look.search import ID_DIGITS
from workkit.brokers.native.look.walk import packed_text, unpacked_text
from workkit.brokers.native.shards import by_home, first_found, shard_of_text
from workkit.brokers.redis_server.graves import place_before
from workkit.brokers.redis_server.pages import server_ms
from workkit.contract.changes import Change
from workkit.contract.history import Bucket, Cell, Day, PastRun, Tier
from workkit.contract.inspector import Counts, Graves, Missed, Named, Pulse, QueueInfo
from workkit.contract.job_page import JobPage, JobQuery, Placed, no_place, read_page
from workkit.contract.limit_use import LimitUse, worst_first
from workkit.contract.listener import ListenerInfo
from workkit.contract.pulse import soonest, summed_counts
from workkit.contract.recurring import Recurs
from workkit.contract.result import Result
from workkit.errors import Ambiguous, InvalidOptions
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.jobs.known import Known


class ShardedInspector:
    """Reads all shards as if they were one schedule. What it shows has the schedule's name.

    A name leads to its shard. Most ids do too. But a job with a unique key, a second equal `queued` job, and a job of a
    foreign peer may be in any shard.
    """

    def __init__(self, shards: Sequence[NativeInspector]) -> None:
        self._shards = tuple(shards)

    def is_known(self) -> bool:
        """Say whether the server knows any shard."""
        return any(shard.is_known() for shard in self._shards)

    def counts(self) -> Counts:
        """Add up the counts of all shards; a listener counts once in each."""
        return summed_counts([shard.counts() for shard in self._shards])

    def pulse(self) -> Pulse:
        """Look at all shards; a listener is there once for each."""
        pulses = [shard.pulse() for shard in self._shards]
        paused = {target: pause for one in pulses for target, pause in one.control.paused.items()}
        return Pulse(
            now_ms=max(one.now_ms for one in pulses),
            counts=summed_counts([one.counts for one in pulses]),
            control=replace(pulses[0].control, paused=paused),
            soon=soonest([job for one in pulses for job in one.soon]),
            listeners=tuple(info for one in pulses for info in one.listeners),
            version=" ".join(one.version for one in pulses),
        )

    def jobs(self, *, state: JobState | None = None, named: Sequence[str] = ()) -> Iterator[Job]:
        """Page through the jobs of all shards: running ones, then those that wait, soonest first, then dead ones,
        latest first.
        """
        return merge(*(shard.jobs(state=state, named=named) for shard in self._shards), key=_order)

    def unlisted(self) -> Mapping[JobState, str]:
        """All states can be listed."""
        return {}

    def page(self, query: JobQuery) -> JobPage:
        """Read a page of the jobs of all shards, merged: its place is one place for each shard."""
        places = _read_places(query.after, len(self._shards))
        walks = [
            _numbered(shard.walk(query).behind(at), n)
            for n, (shard, at) in enumerate(zip(self._shards, places, strict=True))
        ]
        last: list[Callable[[], str] | None] = [None] * len(self._shards)
        first = self._shards[0]
        now = datetime.fromtimestamp(server_ms(first.server) / 1000, UTC)

        def placed() -> Iterator[Placed]:
            for job, place, n in merge(*walks, key=lambda one: _order(one[0])):
                last[n] = place
                yield job, written

        def written() -> str:
            return packed_text([at if place is None else place() for at, place in zip(places, last, strict=True)])

        return read_page(placed(), query, now=now, clock_s=monotonic)

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id. Raises NotFound, also if several match."""
        home = self._shards[shard_of_text(which, len(self._shards))]
        if (named := home.search.under(which)) is not None:
            return home.job(named)
        if len(which) == ID_DIGITS:
            return first_found(self._shards, which, lambda shard: shard.job(which))
        ids = {id for shard in self._shards for id in shard.search.ids(which)}
        if len(ids) > 1:
            raise Ambiguous.among(which, ids, "give more characters")
        id = ids.pop() if ids else which
        return first_found(self._shards, id, lambda shard: shard.job(id))

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""
        return {name: found for shard in self._shards for name, found in shard.named().items()}

    def recurring(self) -> list[Recurs]:
        """Read the recurring jobs of all shards. A name is in one shard only."""
        return [found for shard in self._shards for found in shard.recurring()]

    def graves(self, *, after: str = "", limit: int = 500) -> Graves:
        """Read a page of the dead jobs, one shard after the other."""
        count = len(self._shards)
        afters = after.split(",") if after else [""] * count
        if len(afters) != count:
            trouble = f"is no place in the dead sets of {count:,} shards"
            raise InvalidOptions.about(f"after={after[:100]!r}", trouble, where="after", given=after)
        jobs: list[Job] = []
        most = kept_ms = None
        for number, shard in enumerate(self._shards):
            page = shard.graves(after=afters[number], limit=limit - len(jobs))
            jobs += page.jobs
            afters[number], most, kept_ms = page.after, page.most, page.kept_ms
            if not page.is_last or len(jobs) == limit:
                is_last = page.is_last and number == count - 1
                break
        else:
            is_last = True
        again = ",".join(map(place_before, afters))
        return Graves(
            jobs=tuple(jobs), after=",".join(afters), again=again, is_last=is_last, most=most, kept_ms=kept_ms
        )

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say of each of these dead jobs whether it stands in any shard still."""
        return [any(found) for found in zip(*(shard.still_dead(dead) for shard in self._shards), strict=True)]

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners: each once for each shard, with its claims there."""
        return [info for shard in self._shards for info in shard.listeners()]

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """Raise Unsupported: there is nothing here that `counts` does not say."""
        raise no_queues(self._shards[0].codec.schedule)

    def control(self) -> Control:
        """Read the pauses of all shards, and the schedule's own limits."""
        controls = [shard.control() for shard in self._shards]
        paused = {target: pause for control in controls for target, pause in control.paused.items()}
        quiet = frozenset(name for control in controls for name in control.quiet)
        return replace(controls[0], paused=paused, quiet=quiet)

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """Tell which limits and rates are in use: each holds in its shard."""
        return worst_first((use for shard in self._shards for use in shard.limits(like=like)), like=like)

    def missed(self) -> Iterator[Missed]:
        """Page through the missed occurrences, roughly the last one first."""
        return merge(*(shard.missed() for shard in self._shards), key=lambda one: -one.due.timestamp())

    def log(self, of: Job | PastRun) -> list[str]:
        """Read what a run has logged: its job runs in one shard."""
        return next((lines for shard in self._shards if (lines := shard.log(of))), [])

    def lately(self, jobs: Sequence[str]) -> dict[str, Runs]:
        """Read the last runs of recurring jobs; each job runs in one shard."""
        found = [shard.lately(jobs) for shard in self._shards]
        return {job: next((one[job] for one in found if one[job]), Runs()) for job in jobs}

    def days(self, job: str) -> list[Day]:
        """Read the days of a recurring job."""
        return next((days for shard in self._shards if (days := shard.days(job))), [])

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Add up the counts of all shards."""
        found: dict[datetime, Bucket] = {}
        for shard in self._shards:
            for bucket in shard.past(subject, since_ms=since_ms, until_ms=until_ms, tier=tier):
                before = found.get(bucket.start)
                found[bucket.start] = bucket if before is None else replace(bucket, cell=before.cell + bucket.cell)
        return [found[start] for start in sorted(found)]

    def functions(self, *, since_ms: int, until_ms: int, tier: Tier) -> dict[str, Cell]:
        """Add up the counts of all shards by function."""
        found: dict[str, Cell] = {}
        for shard in self._shards:
            for fn, cell in shard.functions(since_ms=since_ms, until_ms=until_ms, tier=tier).items():
                found[fn] = found.get(fn, Cell()) + cell
        return found

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Page through the single runs of all shards, the last written one first. A place is the number of its shard
        and the place there: what was written in one millisecond comes by the number of its shard.
        """
        number, place = (None, "") if before is None else self._placed(before)
        walks = []
        for n, shard in enumerate(self._shards):
            ms = place.partition("-")[0]
            upto, bound = until_ms, None
            if number == n:
                bound = place
            elif number is not None and n < number:
                bound = f"{ms}-0"
            elif number is not None:
                upto = int(ms) if until_ms is None else min(until_ms, int(ms))
            found = shard.runs(since_ms=since_ms, until_ms=upto, before=bound)
            walks.append(_of_shard(found, n))
        return merge(*walks, key=_written)

    def run(self, place: str) -> PastRun:
        """Read one single run by its place."""
        try:
            number, there = self._placed(place)
        except InvalidOptions:
            return self._shards[0].run("")
        return replace(self._shards[number].run(there), place=place)

    def _placed(self, place: str) -> tuple[int, str]:
        number, _, there = place.partition(".")
        if not (number.isascii() and number.isdigit() and len(number) < 5 and int(number) < len(self._shards)):
            raise no_place(place)
        return int(number), place_of(there)

    def ahead(self, edges: Sequence[int]) -> list[int]:
        """Add up what waits in all shards, by its time."""
        return [sum(counts) for counts in zip(*(shard.ahead(edges) for shard in self._shards), strict=True)]

    @property
    def results(self) -> ShardedResults:
        """The kept results of runs, of all shards."""
        return ShardedResults([shard.results for shard in self._shards])

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Page through who changed what in all shards, the last change first. A number begins with that of its shard.
        Of two changes at the same time, that of the first shard comes first.
        """
        at, _, seen = ("", "", "") if after is None else after.partition(".")
        ms = read_number(seen).partition("-")[0] if after is not None else ""

        def upto(shard: int) -> str:
            if after is None:
                return "+"
            if not at.isdecimal() or shard == int(at):
                return f"({seen}"
            return ms if shard > int(at) else f"({ms}-0"

        def numbered(shard: int) -> Iterator[Change]:
            found = self._shards[shard].changes_upto(upto(shard))
            return (replace(one, number=f"{shard}.{one.number}") for one in found)

        return merge(*map(numbered, range(len(self._shards))), key=lambda one: -one.at.timestamp())

    def knows(self) -> Mapping[str, Known]:
        """Read it of the first shard: a listener tells the same in each."""
        return self._shards[0].knows()

    def refused(self, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Put together what each shard tells: a listener gives jobs back in each by itself."""
        parts = [shard.refused(listeners) for shard in self._shards]
        found = {name: sorted({fn for part in parts for fn in part.get(name, ())}) for name in listeners}
        return {name: known for name, known in found.items() if known}

    def history_bytes(self) -> int:
        """Add up the memory of the history of all shards."""
        return sum(shard.history_bytes() for shard in self._shards)

    def shard_of(self, job: Job) -> int:
        """Find the number of the shard that has a job. Raises NotFound."""

        def number(shard: NativeInspector) -> int:
            shard.job(job.id)
            return self._shards.index(shard)

        return first_found(self._shards, job.id, number)


def _of_shard(runs: Iterator[PastRun], number: int) -> Iterator[PastRun]:
    return (replace(run, place=f"{number}.{run.place}") for run in runs)


def _written(run: PastRun) -> tuple[int, int]:
    """Sort single runs: the last written one first, then by shard."""
    number, _, place = (run.place or "").partition(".")
    return -int(place.partition("-")[0]), int(number)


def _numbered(walk: Iterator[Placed], number: int) -> Iterator[tuple[Job, Callable[[], str], int]]:
    return ((job, place, number) for job, place in walk)


def _read_places(text: str | None, shards: int) -> list[str | None]:
    if text is None:
        return [None] * shards
    places = unpacked_text(text)
    if not isinstance(places, list) or len(places) != shards or not all(isinstance(p, str | None) for p in places):
        raise no_place(text)
    return places


def _order(job: Job) -> tuple[int, float]:
    """Sort a job as each shard sorts its own."""
    due = float("-inf") if job.due is None else job.due.timestamp()
    if job.state in ("running", "cancelling"):
        return 0, due
    return (2, -due) if job.state == "dead" else (1, due)


@dataclass(frozen=True, slots=True)
class ShardedResults:
    """The results of all shards. A job's are where it ran."""

    shards: Sequence[NativeResults]

    def id_of(self, which: str) -> str | None:
        """Find the id of a job that has a kept result."""
        return next((id for shard in self.shards if (id := shard.id_of(which)) is not None), None)

    def of(self, id: str) -> Sequence[Result]:
        """Read the results of a job."""
        return next((found for shard in by_home(self.shards, id) if (found := shard.of(id))), [])

    def after(self, id: str, *, place: str, wait_ms: int) -> Sequence[Result]:
        """Wait for further results of a job, where it is or has been."""
        return self._home(id).after(id, place=place, wait_ms=wait_ms)

    def size(self) -> tuple[int, int]:
        """Add up all shards."""
        sizes = [shard.size() for shard in self.shards]
        return sum(count for count, _ in sizes), sum(size for _, size in sizes)

    def _home(self, id: str) -> NativeResults:
        for shard in by_home(self.shards, id):
            with shard.server.translated() as client:
                if client.hexists(shard.keys.jobs, id) or client.exists(shard.keys.result(id)):
                    return shard
        return by_home(self.shards, id)[0]
