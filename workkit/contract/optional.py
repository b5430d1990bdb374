"""Protocols that a layout may keep beside the five of `contract/broker.py`. The `keeps` of its `Layout` value
(`brokers/layout.py`) names them. A caller asks once: `Producer.plans`, `Inspector.history` and the verbs that give the
others (`verbs/opening.py`) raise Unsupported if the layout lacks the protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, Protocol

from workkit.contract.admin import Change
from workkit.contract.history import Bucket, Cell, Day, PastRun, Result, Tier
from workkit.contract.inspector import Graves, IsKnown, LimitUse, Missed, Named, QueueInfo
from workkit.contract.producer import CodePlan, Made, Mode, NewJob, Verdict
from workkit.errors import Unsupported
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job


class History(Protocol):
    """Reads records that listeners and callers leave on the server, `Keeps.REMEMBER`: past runs, results, changes,
    functions.
    """

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Page through the single runs that are kept, about 50,000, the last one first: those written from `since_ms`
        and up to `until_ms`, before the place `before` of a run. Raises InvalidOptions for a text that is no place.
        """

    def run(self, place: str) -> PastRun:
        """Read one single run by its place. Raises NotFound."""

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

    def log(self, of: Job | PastRun) -> list[str]:
        """Read the last lines that a run has logged, as they were written: of a past run that failed; or of a job: of
        its present run, else of its last failed run. Empty if nothing is kept.
        """

    def missed(self) -> Iterator[Missed]:
        """Page through the occurrences that did not run, the last one first."""

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Page through the changes and their authors, the last change first; about 10,000 are kept. `after`: the
        `number` of the last change that the caller has seen. Raises InvalidOptions.
        """

    def result_id(self, which: str) -> str | None:
        """Return the id of a job that has a kept result, by a name, an id, or the beginning of one (6 or more digits);
        None if there is none. Raises NotFound if several match.
        """

    def results(self, id: str, *, after: str | None = None, wait_ms: int = 0) -> Sequence[Result]:
        """Read the results of a job that have not expired, the last one first. `after`: only those behind this place
        (``0``: any); wait for them, `wait_ms` at most. The server wakes the caller.
        """

    def knows(self) -> Mapping[str, KnownFunction]:
        """Read the functions that the living listeners know, by their names as jobs store them. Listeners that do not
        describe their functions are left out.
        """

    def refused(self, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Read the functions of the jobs that each of these listeners gave back because it cannot run them, by the
        names that jobs store; a listener without such jobs is left out. Looks at 100 jobs of each listener at most.
        """

    def size(self, of: Literal["runs", "results"] = "runs") -> tuple[int, int]:
        """Count the single runs, or the jobs with kept results, and estimate the memory that the past runs, or the
        results, take on the server, in bytes.
        """


class Plans(Protocol):
    """The plans of one schedule, `Keeps.PLAN`."""

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """Name the content of each job: two jobs have the same name if only a nonce tells them apart."""

    def decide(self, plans: Sequence[CodePlan], *, mode: Mode) -> list[Verdict]:
        """Decide about each plan whether it is in force, and store that, in one step for all."""

    def named(self) -> dict[str, Named]:
        """Read the jobs that have a name, by name."""

    def made(self) -> Mapping[str, Made]:
        """Read the jobs that plans have made, by name; finished jobs too."""

    def withdraw(self, names: Sequence[str], *, source: str, generation: int) -> bool:
        """Remove jobs that a plan has made and no longer contains. A run that has begun continues. Returns False if
        another plan of the source is in force meanwhile; then no further job is removed.
        """


class ByTime(Protocol):
    """Reads jobs in the order of their times, `Keeps.BY_TIME`: the inspector of such a layout has these members too."""

    def ahead(self, edges: Sequence[int]) -> list[int]:
        """Count the waiting occurrences that are due at or after one edge and before the next (epoch ms, ascending):
        returns one number less than there are edges. A recurring job counts once, with its next run.
        """

    def graves(self, *, after: str = "", limit: int = 500, is_known: IsKnown | None = None) -> Graves:
        """Read a page of the dead jobs, the oldest first, in several shards one shard after the other. `after` is that
        of the page before. The page leaves out known jobs. Raises InvalidOptions for another text.
        """

    def still_dead(self, dead: Sequence[Job]) -> list[bool]:
        """Return for each of these jobs whether it is still in the dead set."""


class Limits(Protocol):
    """The limits that a layout counts, `Keeps.LIMITS`: the inspector of such a layout has this too."""

    def limits(self, *, like: str = "") -> list[LimitUse]:
        """List the limits and rates in use, the worst first, at most 200. With `like`, also list, however much else is
        in use: the unique keys that begin with `like` and have a run, the job that holds the unique key `like`, and its
        window; if the layout has such keys.
        """


class Queues(Protocol):
    """The queues of a schedule that has many, `Keeps.QUEUES`: the inspector of such a layout has this too."""

    def queues(self, *, jobs: Sequence[str] = ()) -> list[QueueInfo]:
        """List the queues; `jobs`: look for the queues of these names too, if the server does not list all queues."""


def no_history() -> Unsupported:
    """Return the error for a layout that keeps no past runs."""
    return Unsupported.about("history", "is not kept in this layout", "Only the native layout keeps past runs.")
