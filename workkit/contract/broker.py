"""What a broker promises, whatever the wire: protocols, and the frozen values that cross them.

Everything that differs between layouts hides behind `Broker`; `Inspector` is the part that looks and administers, the
only one the faces use. No method takes or returns a type of a client library. Instants are integer epoch
milliseconds by the server's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from workkit.jobs.admission import Admission, Control, Pause
from workkit.jobs.job import Job, JobState
from workkit.jobs.outcome import Outcome
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, USUAL, Entrance, Terms
from workkit.triggers import Trigger

Trouble = Literal["corrupt", "broken", "missing", "cancelled", "foreign"]
Revival = Literal["revived", "gone", "waits", "unreadable"]


@dataclass(slots=True, kw_only=True, eq=False)
class NewJob:
    """What a producer hands over: the job in words of the domain. `due_ms` None means now, by the server's clock.

    `queued`: every addition is a run of its own, equal or not (`add_now`).
    """

    fn: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] | None
    trigger: Trigger | None
    due_ms: int | None
    queued: bool = False
    options: RunOptions = UNSAID
    terms: Terms = PLAIN
    entrance: Entrance = USUAL


@dataclass(slots=True, kw_only=True, eq=False)
class Added:
    """What became of one `NewJob`: its id, when it is due, whether it was new, and the id of the job that it replaced.
    Where it was not new, `id` is that of the job in its place, and `due_ms` None where that is not waiting.
    """

    id: str
    due_ms: int | None
    new: bool
    replaced: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a claim stands among others: the terms of its job, the limit keys under which it has a slot, and whether its
    turns are taken.
    """

    terms: Terms = PLAIN
    slots: tuple[str, ...] = ()
    paid: bool = False


@dataclass(slots=True, eq=False)
class Claim:
    """Work this listener holds: what a run needs of the job, and the broker's opaque receipt for it.

    `trouble` says why it must not be run: its record cannot be read; nothing of it but the function can be read, and
    only a listener that can run this may end it; its payload is gone; it was cancelled; or it is written for listeners
    of another dialect. `reason` says it in a sentence. Such a claim is settled like any
    other. `armed` False: its next occurrence must be put back by `admit` before it may start. `standing` None: it asks
    for nothing but a run, and has nothing. Never changed, though not frozen: many thousands are made in a second.
    """

    receipt: Any
    describe: Callable[[Claim], Job]
    id: str
    fn: str
    args: Sequence[Any]
    due_ms: int
    kwargs: dict[str, Any] | None = None
    options: RunOptions = UNSAID
    standing: Standing | None = None
    attempt: int = 0
    crashes: int = 0
    trouble: Trouble | None = None
    reason: str | None = None
    armed: bool = True

    @property
    def terms(self) -> Terms:
        """What its job asks for beside a run."""
        return PLAIN if self.standing is None else self.standing.terms

    @property
    def slots(self) -> tuple[str, ...]:
        """The limit keys under which it has a slot."""
        return () if self.standing is None else self.standing.slots

    @property
    def paid(self) -> bool:
        """Whether its turns are taken."""
        return self.standing is not None and self.standing.paid

    @property
    def job(self) -> Job:
        """The whole job; made anew each time, for those who ask."""
        return self.describe(self)

    @property
    def occurrence(self) -> str:
        """The run that is owed, as cancellations name it: see `Orders`."""
        return str(self.receipt.occurrence)


Ending = tuple[Claim, Outcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The answer to one `claim`: new claims, when to ask again at the latest, and endings that were refused.

    `wake_in_ms` is counted from now: 0 = more is due, None = nobody needs to ask before the next heartbeat.
    `fenced` holds what this listener believed to hold when it was taken for dead: not its work any more. `asked`: an
    answer with further jobs is on its way already, and the next call brings them. `missed`: occurrences that are not to
    run, each with the reason; they are over. `control`: what holds for the schedule from now on, where it has changed.
    """

    claims: Sequence[Claim] = ()
    wake_in_ms: float | None = None
    refused: Sequence[Claim] = ()
    fenced: Sequence[Claim] = ()
    asked: bool = False
    missed: Sequence[tuple[Claim, str]] = ()
    control: Control | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """An occurrence that did not run: `late` or `overlap`. `times`: so many in a row, from `due` on."""

    id: str
    name: str | None
    fn: str
    due: datetime
    reason: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What a heartbeat brings back: whether to look for work now, and ids or occurrences whose runs were
    cancelled, and what holds for the schedule, where that has changed.
    """

    look: bool = False
    cancelled: frozenset[str] = frozenset()
    fenced: Sequence[Claim] = ()
    control: Control | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerInfo:
    """A listener as others see it. `beat_ms` and `up_ms` are ages; `running` what it holds; `trouble` what in it
    does not move although it beats, in a sentence.
    """

    listener: str
    host: str
    pid: int
    version: str
    schedules: dict[str, int]
    threads: int
    state: str = "listening"
    beat_ms: int = 0
    up_ms: int = 0
    running: tuple[Job, ...] = ()
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many jobs stand where in one schedule. `paused` are those parked by a pause; what stays in the queue of a
    paused schedule or function counts as waiting or due.
    """

    waiting: int = 0
    due: int = 0
    running: int = 0
    retrying: int = 0
    held: int = 0
    paused: int = 0
    dead: int = 0
    listeners: int = 0
    totals: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A job that stands under a name, and its content as `Producer.contents` tells it."""

    job: Job
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What a verb did, counted: jobs added anew or known already; runs that succeeded, that failed, and work that was
    given back.
    """

    new: int = 0
    known: int = 0
    ran: int = 0
    failed: int = 0
    given_back: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong: `what` in a sentence, `why` it matters, `remedy`, a command or an advice.

    `kind` is its stable name for programs; `repairs` whether `Inspector.repair` can mend it, by `subject`; `about`
    the ids, keys or bytes it speaks of, as text; `schedule` where it was found.
    """

    kind: str
    what: str
    why: str
    remedy: str
    repairs: bool = False
    subject: Any = None
    about: tuple[str, ...] = ()
    schedule: str = ""


class Producer(Protocol):
    """The side of a schedule that adds and looks."""

    @property
    def schedule(self) -> str:
        """The schedule's name."""

    @property
    def url(self) -> str:
        """Where it is, without a password."""

    @property
    def inspector(self) -> Inspector:
        """The looking and administering side."""

    def now_ms(self) -> int:
        """The server's clock, estimated without a round trip once it was asked."""

    def add(self, jobs: Sequence[NewJob]) -> list[Added]:
        """Put jobs where they wait; all of one call that go to the same shard go in whole, or none does."""

    def adding(self, jobs: Sequence[NewJob]) -> Callable[[], list[Added]]:
        """The same in two halves: jobs are sent, and what is returned waits for the answer. It must be called."""

    def contents(self, jobs: Sequence[NewJob]) -> list[str]:
        """What tells these jobs from others: their ids, but for what only keeps one addition from another."""

    def close(self) -> None:
        """Close connections."""


class Broker(Producer, Protocol):
    """Moves jobs. One per schedule and process side; see each method for what is atomic."""

    @property
    def listener(self) -> str:
        """The name of this registration as a listener; empty before there is one."""

    def register(self, info: ListenerInfo) -> None:
        """Become a listener. Raises ServerUnreachable or ServerRefused. After ServerFull the next `claim` or
        `heartbeat` tries again first.
        """

    def claim(self, limit: int, *, ends: Sequence[Ending] = (), now_ms: int | None = None) -> Turn:
        """Apply endings and take up to `limit` due jobs, in one round trip, or two if these are many; never blocks.

        Raises ServerUnreachable or ServerRefused; then the next call asks the same again first.
        """

    def admit(self, asked: Sequence[tuple[Claim, Admission | None]], *, now_ms: int | None = None) -> Turn:
        """Put the next occurrence of recurring jobs back, and take slots and turns, before these start. Those that may
        come back armed; those that must wait are not this listener's any more. `wake_in_ms` of the answer is when the
        first of the next ones is due.
        """

    def heartbeat(self, *, trouble: str | None = None) -> Orders:
        """Show presence, and what does not move in this listener; hear what others want of it."""

    def beating(self, *, trouble: str | None = None) -> Callable[[], Orders]:
        """The same in two halves: presence is shown, and what is returned waits for the answer. It must be called."""

    def tell(self, said: Mapping[Any, str | None]) -> None:
        """Show how far runs are: receipt -> what was said, as JSON; None where the run is over."""

    def maintain(self) -> list[tuple[str, int]]:
        """Take back what dead listeners held, (listener, jobs) for each; end pauses whose time has passed."""

    def wait(self, seconds: float) -> bool:
        """Sleep until woken (True) or the time is over, on a connection of its own."""

    def pass_on(self) -> None:
        """Give a wake-up back that this listener cannot use, for one that can."""

    def leave(self) -> None:
        """End the registration; nothing may be held any more."""


class Inspector(Protocol):
    """Looks at a schedule, and administers it."""

    def counts(self) -> Counts:
        """How many jobs stand where."""

    def jobs(self, *, state: JobState | None = None) -> Iterator[Job]:
        """Page through the jobs, soonest first; running ones before them, dead ones last."""

    def job(self, which: str) -> Job:
        """One job by name, by id, or by the beginning of an id (6+ digits). Raises NotFound."""

    def named(self) -> dict[str, Named]:
        """The jobs that stand under a name, by name."""

    def listeners(self) -> list[ListenerInfo]:
        """Who is listening."""

    def cancel(self, job: Job) -> Job:
        """Take a waiting job out, or flag a running one."""

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target (see `Control`). A job's item is parked at once."""

    def resume(self, target: str) -> bool:
        """The inverse: what was parked comes back, a recurring job at its next regular time. False: was not paused."""

    def control(self) -> Control:
        """What is paused, and the schedule's own limits."""

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the schedule's own limits, where they are not these."""

    def skip(self, job: Job) -> Job:
        """Leave out the next run of a recurring job. Raises NotFound where it waits no more."""

    def run(self, job: Job) -> Job:
        """Run a job once now; a recurring one keeps its times. Raises NotFound."""

    def missed(self) -> Iterator[Missed]:
        """Occurrences that did not run, the last one first."""

    def retry(
        self, dead: Sequence[Job], *, args: Sequence[Any] | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Put dead jobs back to be run anew, at once or each after its delay, with other arguments if given; says of
        each what became of it. At most 500, in one step. Raises InvalidArguments.
        """

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs; says how many there were. At most 500, in one step."""

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Look for what is wrong with the server, this schedule and its listeners; changes nothing."""

    def repair(self, finding: Finding) -> bool:
        """Mend what was found, if it still is so; False where it was not, or cannot be."""
