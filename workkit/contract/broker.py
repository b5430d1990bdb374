"""Five protocols that the broker of every layout keeps. A `Producer` adds jobs and gives an `Inspector` (reads), an
`Admin` (changes) and a `Doctor` (checks); a `Broker` also serves a listener. Each method names what is atomic.
Protocols of some layouts only are in `contract/optional.py`. The values are in the other files of this folder.
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
from workkit.contract.producer import Added, BulkPlace, BulkStep, NewJob
from workkit.contract.where import JobPage, JobQuery
from workkit.jobs.admission import Admission, Control
from workkit.jobs.job import Job, JobState
from workkit.tracing import TraceContext


class Producer(Protocol):
    """Adds jobs to one schedule on one server, and gives its inspector, admin and doctor."""

    @property
    def schedule(self) -> str:
        """The schedule's name."""

    @property
    def url(self) -> str:
        """The server's URL, without a password."""

    def now_ms(self) -> int:
        """Estimate the server's clock in epoch ms. Only the first call needs a round trip."""

    def close(self) -> None:
        """Close connections."""

    @property
    def inspector(self) -> Inspector:
        """The inspector, which reads the schedule."""

    @property
    def admin(self) -> Admin:
        """The admin, which changes jobs and pauses."""

    @property
    def plans(self) -> Plans:
        """The plans of code. Raises Unsupported where jobs have no names."""

    @property
    def doctor(self) -> Doctor:
        """The doctor, which checks and repairs the schedule."""

    def check(self, job: NewJob) -> None:
        """Refuse a job that the layout cannot keep, as `adding` does. Raises Unsupported, an Invalid."""

    def adding(self, jobs: Sequence[NewJob], *, step: BulkStep | None = None) -> Callable[[], list[Added]]:
        """Send jobs, and return a function that waits for the answer. The caller must call that function. Without jobs
        it only asks whether the server answers. On Redis all jobs of one call that go to the same shard are added in
        one step, or none of them is.

        If that function raises ServerUnreachable, another call repeats the same request, which has one effect (for ten
        minutes). A layout that does not add in one step fills `ServerError.added`, `refused` and `unanswered`; another
        call then adds the rest, and repeats only the jobs that were sent without an answer.

        With a `step` one atomic step adds all jobs and advances the batch. Raises InvalidOptions if the batch is no
        longer at its place `before`.
        """

    def batch(self, which: str | BulkPlace) -> BulkPlace:
        """Read the progress of a batch by its id; or store a new batch, for a week after its last addition. Raises
        NotFound; Unsupported if the layout keeps no batches.
        """


class Broker(Producer, Protocol):
    """One schedule, as a listener serves it. Use it from one thread, except `wait` and the methods of a producer."""

    @property
    def listener(self) -> str:
        """The name of this registration as a listener; empty before the first."""

    @property
    def is_on_test_clock(self) -> bool:
        """Whether tests move the server's clock, so that no answer predicts the next one."""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener. Raises ServerUnreachable or ServerRefused. After ServerFull the next `claim` or `beating`
        first tries again.
        """

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take up to `limit` due jobs, in one round trip, or two if these are many; never blocks.

        `ends` and claims are atomic. Raises ServerUnreachable or ServerRefused; then the next call first repeats the
        same request, which has one effect however often it is sent.
        """

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Re-arm recurring jobs, and take slots and turns of rates, before these jobs start.

        The answer returns the jobs that may start, armed. The listener no longer holds a job that must wait.
        `wake_in_ms` of the answer: ms until the first of the next occurrences is due.
        """

    def beating(
        self, *, trouble: str | None = None, state: str | None = None, awaited: int = 0
    ) -> Callable[[], Orders]:
        """Send a heartbeat, and return a function that waits for the answer: the orders for this listener. The caller
        must call that function. `trouble`: the part of this listener that no longer makes progress. `state`: its state
        now ("quiet", "stopping"); None: as it registered. `awaited`: the coroutines that it holds now.
        """

    def tell(self, said: Mapping[Any, str | None], logs: Sequence[tuple[Claim, str]] = ()) -> None:
        """Show the progress of runs: receipt -> progress as JSON; None if the run is over. `logs`: the lines that runs
        have logged; an empty text if the run succeeded. A layout may ignore them.
        """

    def traces_of(self, claims: Sequence[Claim]) -> list[TraceContext | None]:
        """Read the trace contexts of the additions of these jobs; None for a job without one. From any thread."""

    @property
    def count(self) -> Callable[[Counted], None] | None:
        """The function that stores the counts of this listener; None if the layout keeps no counts, or its last answers
        show that the schedule keeps none. The function sends its request once: if the answer is lost, the counts may be
        lost too.
        """

    def maintain(self, *, reconsider: bool = False) -> list[tuple[str, int]]:
        """Take back the claims of dead listeners, and return (listener, number of jobs) for each; end pauses that have
        expired. `reconsider`: let this listener claim again the jobs that it gave back as `unknown`.
        """

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or until the time is over (False), on a connection of its own."""

    def pass_on(self) -> None:
        """Pass a wake-up on to another listener."""

    def leave(self) -> None:
        """End the registration. The listener must not hold a claim."""


class Inspector(Protocol):
    """Reads one schedule, page by page. A method that the layout cannot keep raises Unsupported."""

    def is_known(self) -> bool | None:
        """Return whether the server holds anything of the schedule; None if the server does not tell."""

    def counts(self) -> Counts:
        """Count the jobs in each state."""

    def pulse(self) -> Pulse:
        """Read the state of the schedule quickly: see `Pulse`."""

    def jobs(
        self, *, state: JobState | None = None, named: Sequence[str] = (), tagged: Sequence[str] = ()
    ) -> Iterator[Job]:
        """Page through the jobs: running ones first, then waiting ones, soonest first, then dead ones. Raises
        Unsupported for a state that the layout cannot list, and without a `state` if there is such a state.

        `named`: the caller needs only jobs that have one of these names, in which ``*`` matches any text. A layout may
        read less then; it may also yield jobs with other names. `tagged`: the same for tags, which are whole texts.

        If the layout lists all states, a job that exists the whole time is shown even while listeners move it: see
        spec/features.md 13. A job that a listener took before its page was read comes after other waiting jobs.
        """

    def unlisted(self) -> Mapping[JobState, str]:
        """Return the states that this layout cannot list, each with the reason in a sentence."""

    def page(self, query: JobQuery) -> JobPage:
        """Read one page of the jobs of `jobs`: as many as `query` asks for and as its time budget allows. Raises
        InvalidOptions for a place that this layout has not made, Unsupported for a state that it cannot list.
        """

    def job(self, which: str) -> Job:
        """Find one job by name, by id, or by the beginning of an id (6 or more digits). Raises NotFound."""

    def recurring(self) -> Sequence[Recurs]:
        """Read the recurring jobs, in no order. A recurring job without a name is included from its first run on, or
        while it is among the first waiting jobs. Raises Unsupported if the layout keeps no recurring jobs.
        """

    def listeners(self) -> list[ListenerInfo]:
        """List the listeners. Raises Unsupported if the server does not tell them."""

    def control(self) -> Control:
        """Read the pauses and the schedule's own limits."""

    @property
    def history(self) -> History:
        """The reader of past runs. Raises Unsupported if the layout keeps none."""


class Admin(Protocol):
    """Changes one schedule, one step at a time. A method that the layout cannot keep raises Unsupported."""

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> Admin:
        """Return the same admin, which records its changes under `author`. None, the default: it records no changes. It
        appends to `undos` the undo of each `cancel`, each `run` and each skipped run. A layout that keeps no changes
        ignores both.
        """

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record a change of the schedule that takes several steps, before the first step. `after`: the new values, by
        name; `times`: the number of jobs, or faults. `job`: the job that the change is about.
        """

    def steer(self, change: Steer) -> bool:
        """Change a setting of the schedule, of a target or of a listener: see `contract.admin`. Returns False if it had
        that value already. Raises NotFound, ChangedMeanwhile, Unsupported.
        """

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Remove a waiting job, or flag a running one as cancelled. Raises NotFound if the job has ended.

        With a `listener`, cancel only the run of that listener with the due time of `job`; the job itself does not
        change. The listener ends the run as one of a cancelled job. Raises NotFound if the run is not at that listener,
        Unsupported.
        """

    def run(self, job: Job) -> Job:
        """Run a job once now; a recurring job keeps its times. Raises NotFound."""

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Move jobs to another time, and keep everything else; return the jobs as they wait then. All jobs of one shard
        move in one step, or none; `dry_run`: write nothing. Only `Later` takes several jobs. `At` makes a new id, and
        returns an empty list if the job has changed meanwhile, or has no run that can move.

        Raises NotFound if one has no waiting run, InvalidOptions for one that is paused or has no further run;
        Unsupported.
        """

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, whole: bool = False, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Take jobs out of the dead set to run again, at once or each after its delay (ms). `args` make a new job. It
        keeps its other arguments, unless `args` are the `whole` call.

        Returns the result for each. Takes at most `Layout.at_once` jobs. Raises InvalidArguments.
        """

    def discard(self, dead: Sequence[Job]) -> int:
        """Remove jobs from the dead set, and return how many were there. Takes at most `Layout.at_once` jobs."""


class Doctor(Protocol):
    """Checks the server, one schedule and its listeners."""

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for faults; change nothing. A job without references becomes a fault `patience_ms` after its last time,
        because a foreign peer may still run it before.
        """

    def repair(self, finding: Finding) -> bool:
        """Repair one fault. Returns False if the fault is over, or cannot be repaired."""
