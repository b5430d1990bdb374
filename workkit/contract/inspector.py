"""The side of a broker that looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from workkit.contract.history import Bucket, Day, PastRun, Tier
from workkit.contract.listener import ListenerInfo
from workkit.jobs.admission import Control
from workkit.jobs.job import Job, JobState
from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many jobs of one schedule are in each state. The states are those of `Inspector.jobs`.

    `late_ms`: how long the oldest due job has waited for a listener; None if no job is due. `totals`: the runs of the
    last 48 hours, by outcome.
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


class Inspector(Protocol):
    """Looks at one schedule. Reads in pages. A method that the layout cannot keep raises Unsupported."""

    def counts(self) -> Counts:
        """Count the jobs in each state."""

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs: running ones first, then those that wait, soonest first, then dead ones."""

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id (6 or more digits). Raises NotFound."""

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners."""

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

    def history_bytes(self) -> int:
        """Estimate how much of the server's memory the past runs take, from samples."""
