"""The side of a broker that looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal, Protocol

from workkit.contract.changes import Change
from workkit.contract.history import Bucket, Cell, Day, PastRun, Tier
from workkit.contract.job_page import JobPage, JobQuery
from workkit.contract.limit_use import LimitUse
from workkit.contract.listener import ListenerInfo
from workkit.contract.recurring import Recurs
from workkit.contract.result import Results
from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import STATES, Job, JobState
from workkit.jobs.known import Known
from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many jobs of one schedule are in each state. The states are those of `Inspector.jobs`.

    `known_dead`: how many of the dead were acknowledged. `late_ms`: how long the oldest due job has waited for a
    listener; None if no job is due. `totals`: the runs of the last 48 hours, by outcome. `unknown`: the fields that the
    server does not tell, which are 0 or None here, each with the reason in a sentence.
    """

    waiting: int = 0
    due: int = 0
    running: int = 0
    cancelling: int = 0
    retrying: int = 0
    held: int = 0
    paused: int = 0
    dead: int = 0
    known_dead: int = 0
    listeners: int = 0
    late_ms: int | None = None
    totals: dict[str, int] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief_repr

    @property
    def all(self) -> int:
        """How many jobs there are in all states, dead ones too."""
        return sum(getattr(self, state) for state in STATES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """What one quick look at a schedule tells, however many jobs it has.

    `now_ms`: the server's clock. `counts`: as in `Inspector.counts`, but for this: retries and occurrences that were
    handed back both count as `retrying`, and a queued job whose function or name is paused counts as waiting or due
    until it is parked. `soon`: the first jobs that wait, at most 10, soonest first. `listeners`: those with the latest
    heartbeats, at most 50, with what they run. `version` changes when a pause or a limit does. `unknown`: the fields
    that the layout cannot tell, each with the reason in a sentence.
    """

    now_ms: int
    counts: Counts = field(default_factory=Counts)
    control: Control = FREE
    soon: tuple[Job, ...] = ()
    listeners: tuple[ListenerInfo, ...] = ()
    version: str = ""
    unknown: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief_repr

    @property
    def now(self) -> datetime:
        """The server's clock (aware UTC)."""
        return datetime.fromtimestamp(self.now_ms / 1000, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A job that has a name, and its content as `Producer.contents` names it."""

    job: Job
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """An occurrence that did not run, because it was `late` or by `overlap`. `times`: so many in a row, from `due`."""

    id: str
    name: str | None
    fn: str
    due: datetime
    reason: str
    times: int = 1

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Graves:
    """A page of dead jobs. `after`: where the next page begins; `is_last`: nothing stands behind this page now;
    `again`: where to begin later, to find those that have died since, and perhaps some again. The layout keeps at most
    so many dead jobs (`most`), for `kept_ms`; None: it does not limit that.
    """

    jobs: tuple[Job, ...]
    after: str
    again: str
    is_last: bool
    most: int | None = None
    kept_ms: int | None = None

    __repr__ = brief_repr


QueueKind = Literal["work", "delay", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """A queue of a layout whose server has many. `ready`: messages that wait in it; `held`: those that its consumers
    hold. `keys`: the routing keys that lead to it. `rate_in`, `rate_out`: messages a second. None: the server does not
    tell. `job`: the job of a work queue of our namespace.
    """

    name: str
    kind: QueueKind
    ready: int
    consumers: int
    held: int | None = None
    keys: tuple[str, ...] | None = None
    rate_in: float | None = None
    rate_out: float | None = None
    job: str | None = None

    __repr__ = brief_repr


class Inspector(Protocol):
    """Looks at one schedule. Reads in pages. A method that the layout cannot keep raises Unsupported."""

    def is_known(self) -> bool | None:
        """Say whether the server holds anything of the schedule; None where it does not tell."""

    def counts(self) -> Counts:
        """Count the jobs in each state."""

    def pulse(self) -> Pulse:
        """Look at the schedule quickly: see `Pulse`."""

    def jobs(self, *, state: JobState | None = None, named: Sequence[str] = ()) -> Iterator[Job]:
        """Page through the jobs: running ones first, then those that wait, soonest first, then dead ones. Raises
        Unsupported for a state that cannot be listed, and without a state where there is such a state.

        `named`: the caller needs only jobs that have one of these names, in which ``*`` stands for any text. A layout
        may read less then; it may also yield jobs with other names.

        Where all states can be listed, a job that exists the whole time is shown while listeners move it: see
        spec/features.md 13. A job that a listener took before its page was read comes after others that wait.
        """

    def unlisted(self) -> Mapping[JobState, str]:
        """Name the states whose jobs this layout cannot list, each with the reason in a sentence."""

    def page(self, query: JobQuery) -> JobPage:
        """Read one page of the jobs of `jobs`, as many as are asked for and can be looked at in time. Raises
        InvalidOptions for a place that this layout has not given, Unsupported for a state that cannot be listed.
        """

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id (6 or more digits). Raises NotFound."""

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""

    def recurring(self) -> Sequence[Recurs]:
        """Read the recurring jobs, in no order. One without a name is among them from its first run on, or while it is
        among the first that wait. Raises Unsupported where the layout does not keep such jobs.
        """

    def graves(self, *, after: str = "", limit: int = 500) -> Graves:
        """Read a page of the dead jobs, the oldest first, in several shards one shard after the other. `after` is that
        of the page before. Raises InvalidOptions for another text, Unsupported where the server cannot begin in the
        middle.
        """

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Say of each of these dead jobs whether it stands in the dead set still. Raises Unsupported as `graves`."""

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners. Raises Unsupported where the server does not tell."""

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """List the queues; `jobs` are names whose queues are looked for where the server does not list all. Raises
        Unsupported for a layout without queues.
        """

    def control(self) -> Control:
        """Read what is paused, and the schedule's own limits."""

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """Tell which limits and rates are in use, the worst first, at most 200. With `like`, also the unique keys that
        begin so and have a run, the job that holds the unique key of that text, and its window, however much else is
        in use, where the layout has such keys. Raises Unsupported.
        """

    def missed(self) -> Iterator[Missed]:
        """Page through the occurrences that did not run, the last one first."""

    def lately(self, jobs: Sequence[str]) -> Mapping[str, Sequence[PastRun]]:
        """Read the last 60 runs of recurring jobs, by name or else id, the last one first."""

    def days(self, job: str) -> list[Day]:
        """Read the last 400 days on which a recurring job ran, by its name or else id, the first one first."""

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Read the counts of a subject (see `contract.history`) in each span of time, the first one first. A span
        without runs has an empty cell. Spans that are no longer kept are left out.
        """

    def functions(self, *, since_ms: int, until_ms: int, tier: Tier) -> Mapping[str, Cell]:
        """Add up the counts of a span by function, as stored. A key counts about 100 functions and recurring jobs."""

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Page through the single runs that are kept, about 50,000, the last one first: those written from `since_ms`
        and up to `until_ms`, before the place of one. Raises InvalidOptions for a text that is no place.
        """

    def run(self, place: str) -> PastRun:
        """Read one single run by its place. Raises NotFound."""

    def ahead(self, edges: Sequence[int]) -> list[int]:
        """Count the occurrences that wait and are due from one edge on and before the next one (epoch ms, ascending):
        one number less than there are edges. A job that recurs counts once, with its next run. Raises Unsupported.
        """

    @property
    def results(self) -> Results:
        """The kept results of runs. Raises Unsupported."""

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Page through who changed what, the last change first; about 10,000 are kept. `after`: the `number` of the
        last change that the caller has seen. Raises InvalidOptions.
        """

    def knows(self) -> Mapping[str, Known]:
        """Read which functions the living listeners know, by their names as jobs store them. Those of listeners that
        tell nothing are not there.
        """

    def refused(self, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Read of which functions these listeners have given jobs back that they cannot run, by the names that jobs
        store; a listener without such jobs is not there. At most 100 jobs of each are looked at. Raises Unsupported.
        """

    def history_bytes(self) -> int:
        """Estimate how much of the server's memory the past runs take, from samples."""
