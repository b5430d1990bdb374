"""One schedule over several slots of a cluster: its shards, each an ordinary schedule that any peer can use.

Only what adds and looks is composed here. A listener has one broker for each shard, and needs nothing of this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha1
from heapq import merge
from typing import Any, TypeVar

from workkit.brokers.native.broker import NativeBroker
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.look.inspector import ID_DIGITS, SHORTEST, NativeInspector
from workkit.brokers.native.look.steering import JOB
from workkit.brokers.native.put import home_of
from workkit.contract.broker import Added, Counts, Finding, ListenerInfo, Missed, Named, NewJob, Revival
from workkit.errors import InvalidSchedule, NotFound
from workkit.jobs.admission import Control, Pause
from workkit.jobs.job import Job, JobState
from workkit.jobs.terms import PLAIN, USUAL

MOST_SHARDS = 64

T = TypeVar("T")


def shard_names(name: str, shards: int) -> list[str]:
    """The schedules that make up schedule `name`: itself, or ``{name.0}``, ``{name.1}`` and so on, each of which a
    cluster puts into a slot of its own; braces of `name` are left out. Raises InvalidSchedule.
    """
    if type(shards) is not int or not 1 <= shards <= MOST_SHARDS:
        raise InvalidSchedule(f"shards={shards!r} is out of range. Accepted: 1 to {MOST_SHARDS}.", given=shards)
    if shards == 1:
        return [name]
    bare = name.replace("{", "").replace("}", "")
    return [f"{{{bare}.{number}}}" for number in range(shards)]


def shard_of(id: str, shards: int) -> int:
    """The shard to which a job is added: the number that the first 8 digits of its id are, modulo the shards."""
    return int(id[:8], 16) % shards


def shard_of_text(text: str, shards: int) -> int:
    """The shard of what jobs meet by, so that those which do stand together: where its SHA-1 leads, as an id does."""
    return shard_of(sha1(text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest(), shards)


class ShardedBroker:
    """The adding and looking side of a schedule of several shards. Thread-safe."""

    def __init__(self, brokers: Sequence[NativeBroker], *, schedule: str, dialect: str = "published") -> None:
        self._brokers, self._schedule = tuple(brokers), schedule
        self._codec = Codec(schedule, dialect)

    @property
    def schedule(self) -> str:
        """The schedule's name, without the shard."""
        return self._schedule

    @property
    def url(self) -> str:
        """Where it is, without a password."""
        return self._brokers[0].url

    @property
    def inspector(self) -> ShardedInspector:
        """The looking and administering side."""
        return ShardedInspector([replace(broker.inspector, codec=self._codec) for broker in self._brokers])

    def now_ms(self) -> int:
        """The clock of the first shard's server."""
        return self._brokers[0].now_ms()

    def add(self, jobs: Sequence[NewJob]) -> list[Added]:
        """Put jobs where they wait, each into the shard of its id, or of its name, unique key or window.

        The jobs of one shard go in whole, or none of them does. Where one shard raises, others may have theirs, and
        adding all again doubles nothing but what is `queued`.
        """
        return self.adding(jobs)()

    def adding(self, jobs: Sequence[NewJob]) -> Callable[[], list[Added]]:
        """The same in two halves: jobs are sent to all shards, and what is returned waits for the answers."""
        stored = self._brokers[0].encode(jobs)
        places: dict[int, list[int]] = {}
        for place, (job, what) in enumerate(zip(jobs, stored, strict=True)):
            shard = shard_of(what.id, len(self._brokers))
            if (job.terms is not PLAIN or job.entrance is not USUAL) and (home := home_of(job)) is not None:
                shard = shard_of_text(home, len(self._brokers))
            places.setdefault(shard, []).append(place)
        answers = [
            (here, self._brokers[shard].putting([jobs[i] for i in here], stored=[stored[i] for i in here]))
            for shard, here in places.items()
        ]

        def answer() -> list[Added]:
            added: dict[int, Added] = {}
            for here, done in answers:
                added.update(zip(here, done(), strict=True))
            return [added[place] for place in range(len(jobs))]

        return answer

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """The ids of jobs without a nonce."""
        return self._brokers[0].contents(jobs)

    def close(self) -> None:
        """Close connections."""
        for broker in self._brokers:
            broker.close()


class ShardedInspector:
    """Looks at all shards, and administers them, as if they were one schedule.

    What it shows bears the schedule's name. A job is found again by its name in the shard of that, or by its id: mostly
    in the shard of its id, but one that meets others by a key, a `queued` one whose equal was there already, and what a
    foreign peer added, may be in any.
    """

    def __init__(self, shards: Sequence[NativeInspector]) -> None:
        self._shards = tuple(shards)

    def counts(self) -> Counts:
        """The sums over all shards; a listener counts once in each."""
        all_counts = [shard.counts() for shard in self._shards]
        totals: dict[str, int] = {}
        for counts in all_counts:
            for what, n in counts.totals.items():
                totals[what] = totals.get(what, 0) + n
        numbers = {
            name: sum(getattr(counts, name) for counts in all_counts)
            for name in ("waiting", "due", "running", "retrying", "held", "paused", "dead", "listeners")
        }
        return Counts(**numbers, totals=totals)

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs of all shards: running ones, then those that wait, soonest first, then dead ones,
        latest first.
        """
        return merge(*(shard.jobs(state=state) for shard in self._shards), key=_order)

    def job(self, which: str) -> Job:
        """One job by name, by id, or by the beginning of one. Raises NotFound, also where several shards have such."""
        home = self._shards[shard_of_text(which, len(self._shards))]
        if (named := home.under(which)) is not None:
            return home.job(named)
        if len(which) == ID_DIGITS:
            return self._first(which, lambda shard: shard.job(which))
        ids = {id for shard in self._shards for id in shard.ids(which)}
        if len(ids) > 1:
            raise NotFound(
                f'"{which}" is the beginning of {len(ids)} jobs; give at least {SHORTEST} characters.', given=which
            )
        id = ids.pop() if ids else which
        return self._first(id, lambda shard: shard.job(id))

    def named(self) -> dict[str, Named]:
        """The jobs that stand under a name, by name."""
        return {name: found for shard in self._shards for name, found in shard.named().items()}

    def listeners(self) -> list[ListenerInfo]:
        """Who is listening; a listener is listed once for each shard, with what it runs of it."""
        return [info for shard in self._shards for info in shard.listeners()]

    def cancel(self, job: Job) -> Job:
        """Take a waiting job out, or flag a running one. Raises NotFound where it is gone meanwhile."""
        return self._first(job.id, lambda shard: shard.cancel(job))

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: a job in its shard, anything else in all."""
        if target.startswith(JOB):
            self._of(self.job(target.removeprefix(JOB))).pause(target, pause)
        else:
            for shard in self._shards:
                shard.pause(target, pause)

    def resume(self, target: str) -> bool:
        """The inverse, in all shards. False: it was not paused."""
        return True in [shard.resume(target) for shard in self._shards]

    def control(self) -> Control:
        """What is paused in any shard, and the schedule's own limits."""
        controls = [shard.control() for shard in self._shards]
        paused = {target: pause for control in controls for target, pause in control.paused.items()}
        return replace(controls[0], paused=paused)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits, of each shard."""
        for shard in self._shards:
            shard.declare(limit=limit, turn_ms=turn_ms)

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job. Raises NotFound, InvalidOptions."""
        return self._first(job.id, lambda shard: shard.skip(job))

    def run(self, job: Job) -> Job:
        """Run a job once now. Raises NotFound."""
        return self._first(job.id, lambda shard: shard.run(job))

    def missed(self) -> Iterator[Missed]:
        """Occurrences that did not run, about the last one first."""
        return merge(*(shard.missed() for shard in self._shards), key=lambda one: -one.due.timestamp())

    def retry(
        self, dead: Sequence[Job], *, args: Sequence[Any] | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Put dead jobs back: see `Inspector.retry`. One step in each shard."""
        answers: list[Revival] = ["gone"] * len(dead)
        for shard in self._shards:
            left = [place for place, answer in enumerate(answers) if answer == "gone"]
            delays = [delays_ms[place] for place in left] if delays_ms else ()
            for place, answer in zip(
                left, shard.retry([dead[i] for i in left], args=args, delays_ms=delays), strict=True
            ):
                answers[place] = answer
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs; one step in each shard."""
        return sum(shard.discard(dead) for shard in self._shards)

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for what is wrong, shard by shard; what is wrong with all of them alike is found once."""
        said: set[tuple[str, str]] = set()
        for number, shard in enumerate(self._shards):
            for finding in shard.checkup(patience_ms=patience_ms):
                if (finding.kind, finding.what) in said and finding.subject is None:
                    continue
                said.add((finding.kind, finding.what))
                yield replace(finding, subject=(number, finding.subject))

    def repair(self, finding: Finding) -> bool:
        """Mend one finding of `checkup`, in its shard."""
        number: int = finding.subject[0]
        return self._shards[number].repair(replace(finding, subject=finding.subject[1]))

    def _of(self, job: Job) -> NativeInspector:
        """The shard that has the job. Raises NotFound."""

        def one(shard: NativeInspector) -> NativeInspector:
            shard.job(job.id)
            return shard

        return self._first(job.id, one)

    def _first(self, id: str, verb: Callable[[NativeInspector], T]) -> T:
        """What the shard that has the job says of it, the shard of its id asked first. Raises NotFound, if possible
        one that names a near job.
        """
        refused: list[NotFound] = []
        for shard in self._by_home(id):
            try:
                return verb(shard)
            except NotFound as error:
                refused.append(error)
        raise next((error for error in refused if "Nearest:" in str(error)), refused[0])

    def _by_home(self, id: str) -> list[NativeInspector]:
        try:
            home = shard_of(id, len(self._shards))
        except ValueError:  # it is not the beginning of an id
            home = 0
        return [self._shards[home], *self._shards[:home], *self._shards[home + 1 :]]


def _order(job: Job) -> tuple[int, float]:
    """Where a job stands in `jobs`, in the order in which each shard lists its own."""
    due = float("inf") if job.due is None else job.due.timestamp()
    if job.state in ("running", "cancelling"):
        return 0, 0.0
    if job.state == "held":
        return 1, 0.0
    return (3, -due) if job.state == "dead" else (2, due)
