"""The side of a broker that looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from workkit.contract.changes import Change
from workkit.contract.history import Bucket, Day, PastRun, Tier
from workkit.contract.listener import ListenerInfo
from workkit.contract.result import Results
from workkit.errors import Unsupported
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many jobs of one schedule are in each state. The states are those of `Inspector.jobs`.

    `late_ms`: how long the oldest due job has waited for a listener; None if no job is due. `totals`: the runs of the
    last 48 hours, by outcome. `unknown`: the fields that the server does not tell, which are 0 or None here, each with
    the reason in a sentence.
    """

    waiting: int = 0
    due: int = 0
    running: int = 0
    cancelling: int = 0
    retrying: int = 0
    held: int = 0
    paused: int = 0
    dead: int = 0
    listeners: int = 0
    late_ms: int | None = None
    totals: dict[str, int] = field(default_factory=dict)
    unknown: Mapping[str, str] = field(default_factory=dict)

    __repr__ = brief_repr


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


def no_queues(schedule: str) -> Unsupported:
    """Make the error for a layout on Redis, where `counts` says all that there is."""
    remedy = f"Count its jobs: workkit stats {schedule}."
    return Unsupported.about(f"queues of {schedule}", "are something that only layouts on RabbitMQ have", remedy)


class Inspector(Protocol):
    """Looks at one schedule. Reads in pages. A method that the layout cannot keep raises Unsupported."""

    def counts(self) -> Counts:
        """Count the jobs in each state."""

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs: running ones first, then those that wait, soonest first, then dead ones. Raises
        Unsupported for a state that cannot be listed, and without a state where there is such a state.

        Where all states can be listed, a job that exists the whole time is shown while listeners move it: see
        spec/features.md 13. A job that a listener took before its page was read comes after others that wait.
        """

    def unlisted(self) -> Mapping[JobState, str]:
        """Name the states whose jobs this layout cannot list, each with the reason in a sentence."""

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id (6 or more digits). Raises NotFound."""

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners. Raises Unsupported where the server does not tell."""

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """List the queues; `jobs` are names whose queues are looked for where the server does not list all. Raises
        Unsupported for a layout without queues.
        """

    def control(self) -> Control:
        """Read what is paused, and the schedule's own limits."""

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

    def runs(self, *, since_ms: int = 0) -> Iterator[PastRun]:
        """Page through the single runs that are kept, about 50,000, the last one first; those written from then on."""

    @property
    def results(self) -> Results:
        """The kept results of runs. Raises Unsupported."""

    def changes(self) -> Iterator[Change]:
        """Page through who changed what, the last change first; about 10,000 are kept."""

    def history_bytes(self) -> int:
        """Estimate how much of the server's memory the past runs take, from samples."""
