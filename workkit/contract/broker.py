"""Five protocols that the broker of every layout keeps: a producer adds jobs, and gives those who look (`Inspector`),
change (`Admin`) and check (`Doctor`); a `Broker` serves a listener too. Each method says what is atomic. Protocols that
only some layouts keep are in `contract/optional.py`. The values that cross are in the other files of this folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from workkit.contract.admin import Arguments, Author, NewTime, Revival, Steer, Undo
from workkit.contract.doctor import Finding
from workkit.contract.history import Counted
from workkit.contract.inspector import Counts, Pulse, Recurs
from workkit.contract.listener import Claim, Ending, ListenerInfo, Orders, Turn
from workkit.contract.optional import History, Plans
from workkit.contract.producer import Added, Batch, BatchStep, NewJob
from workkit.contract.where import JobPage, JobQuery
from workkit.jobs.admission import Admission, Control
from workkit.jobs.job import Job, JobState
from workkit.tracing import TraceContext


class Producer(Protocol):
    """Adds jobs to one schedule on one server, and gives the sides that look, change and check."""

    @property
    def schedule(self) -> str:
        """The schedule's name."""

    @property
    def url(self) -> str:
        """The server's URL, without a password."""

    def now_ms(self) -> int:
        """Estimate the server's clock; only the first call needs a round trip."""

    def close(self) -> None:
        """Close connections."""

    @property
    def inspector(self) -> Inspector:
        """The side that looks."""

    @property
    def admin(self) -> Admin:
        """The side that changes jobs and pauses."""

    @property
    def plans(self) -> Plans:
        """The plans of code. Raises Unsupported where jobs have no names."""

    @property
    def doctor(self) -> Doctor:
        """The side that checks and repairs."""

    def check(self, job: NewJob) -> None:
        """Refuse a job that the layout cannot keep, as `adding` does. Raises Unsupported, an Invalid."""

    def adding(self, jobs: Sequence[NewJob], *, step: BatchStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs, and return a function that waits for the answer. The caller must call it. No jobs: it only asks
        whether the server answers. On Redis those of one call that go to the same shard are added in one step, or none
        of them is.

        If it raises ServerUnreachable, another call repeats the same request, which has one effect (for ten minutes). A
        layout that does not add in one step says in `ServerError.added`, `refused` and `unanswered` how far it came;
        another call then adds what is left, and repeats only what it sent and has no answer to.

        With a `step` all are added, and the batch is moved on, in one step; or InvalidOptions is raised, where the
        batch is not as it was before.
        """

    def batch(self, which: str | Batch) -> Batch:
        """Read how far a batch is, by its id; or keep a new one, for a week after its last addition. Raises NotFound,
        and Unsupported where none is kept.
        """


class Broker(Producer, Protocol):
    """One schedule, as a listener serves it. For one thread, except `wait` and what a producer has."""

    @property
    def listener(self) -> str:
        """The name of this registration as a listener; empty before the first."""

    @property
    def is_on_test_clock(self) -> bool:
        """Whether tests move the server's clock, so that no answer foretells the next one."""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener. Raises ServerUnreachable or ServerRefused. After ServerFull the next `claim` or
        `beating` first tries again.
        """

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take up to `limit` due jobs, in one round trip, or two if these are many; never blocks.

        `ends` and claims are atomic. Raises ServerUnreachable or ServerRefused; then the next call first repeats the
        same request, which has one effect however often it is sent.
        """

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Put the next occurrence of recurring jobs back, and take slots and turns, before these jobs start.

        The answer returns the jobs that may start, armed. The listener no longer holds a job that must wait.
        `wake_in_ms` of the answer is when the first of the next occurrences is due.
        """

    def beating(self, *, trouble: str | None = None, state: str | None = None) -> Callable[[], Orders]:
        """Send a heartbeat, and return a function that waits for the answer: the orders for this listener. The caller
        must call it. `trouble`: which part of this listener has stopped moving. `state`: its state now ("quiet",
        "stopping"); None: as it registered.
        """

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Show the progress of runs: receipt -> progress as JSON; None where the run is over. `logs`: the
        lines that runs have logged; an empty text where the run ended well. A layout may ignore them.
        """

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Read the trace contexts of the additions of these jobs; None where there is none. From any thread."""

    @property
    def count(self) -> Callable[[Counted], None] | None:
        """The function that stores what this listener has counted; None where the layout keeps no counts, or its last
        answers say that the schedule keeps none. Never repeated: if the answer is lost, the counts may be.
        """

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        """Take back the claims of dead listeners, and return (listener, number of jobs) for each; end pauses
        that are over. `reconsider`: be offered again the jobs that it gave back as `unknown`.
        """

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or the time is over, on a connection of its own."""

    def pass_on(self) -> None:
        """Hand a wake-up on to another listener."""

    def leave(self) -> None:
        """End the registration. The listener must hold no claim any more."""


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

        `named`: the caller needs only jobs that have one of these names, in which ``*`` matches any text. A layout
        may read less then; it may also yield jobs with other names.

        Where all states can be listed, a job that exists the whole time is shown while listeners move it: see
        spec/features.md 13. A job that a listener took before its page was read comes after others that wait.
        """

    def unlisted(self) -> Mapping[JobState, str]:
        """Name the states of which this layout cannot list the jobs, each with the reason in a sentence."""

    def page(self, query: JobQuery) -> JobPage:
        """Read one page of the jobs of `jobs`, as many as are asked for and can be looked at in time. Raises
        InvalidOptions for a place that this layout has not given, Unsupported for a state that cannot be listed.
        """

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id (6 or more digits). Raises NotFound."""

    def recurring(self) -> Sequence[Recurs]:
        """Read the recurring jobs, in no order. One without a name is among them from its first run on, or while it is
        among the first that wait. Raises Unsupported where the layout does not keep such jobs.
        """

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners. Raises Unsupported where the server does not tell."""

    def control(self) -> Control:
        """Read what is paused, and the schedule's own limits."""

    @property
    def history(self) -> History:
        """The side that reads past runs. Raises Unsupported where the layout keeps none."""


class Admin(Protocol):
    """Changes one schedule, one step at a time. A method that the layout cannot keep raises Unsupported."""

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> Admin:
        """Make the same admin, which records its changes as made by `author`. None, as at first: it records none. It
        adds to `undos` what undoes each `cancel` and `run`, and each run that is left out. A layout that keeps no
        changes ignores both.
        """

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record a change of the schedule that is made of several steps, before the first one. `after`: the
        new values, by name; `times`: how many jobs, or faults. `job`: the one that it is about.
        """

    def steer(self, change: Steer) -> bool:
        """Change what holds for the schedule, a target or a listener: see `contract.admin`. False: it was so
        already. Raises NotFound, ChangedMeanwhile, Unsupported.
        """

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Remove a waiting job, or flag a running one. Raises NotFound where the job has ended.

        With a `listener`, cancel only the run that it has with the due time of `job`; the job itself stays as it is.
        The listener ends the run as one of a cancelled job. Raises NotFound where it does not run there, Unsupported.
        """

    def run(self, job: Job) -> Job:
        """Run a job once now; a recurring one keeps its times. Raises NotFound."""

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Give jobs another time, and keep everything else; return them as they wait then. All of one shard in one
        step, or none; `dry_run`: write nothing. Only `Later` takes several jobs. `At` makes a new id, and returns
        nothing where the job is not as it was any more, or has no run that could have another time.

        Raises NotFound where one has no run that waits, InvalidOptions for one that is paused or has no further run;
        Unsupported.
        """

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again, at once or each after its delay; `args` make a new job.

        Returns what became of each. At most `Layout.at_once`. Raises InvalidArguments.
        """

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set, and return how many stood there. At most `Layout.at_once`."""


class Doctor(Protocol):
    """Checks the server, one schedule and its listeners."""

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for faults; changes nothing. A job that nothing refers to is a fault `patience_ms` after its last time,
        because a foreign peer may still run it before.
        """

    def repair(self, finding: Finding) -> bool:
        """Repair one fault. False: it is over, or cannot be repaired."""
