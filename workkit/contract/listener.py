"""Values of a listener: its description, the claims that it holds, and the answers to its requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from workkit.jobs.admission import Admission, Control, admission
from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job
from workkit.jobs.outcome import Outcome
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, Terms, of_member
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a listener serves one job name: its share of what is taken, and the options of its handler."""

    priority: int = 1
    options: RunOptions = UNSAID


_OWN = re.compile(r"(.+:\d+):[0-9a-f]{12}")


def called(listener: str) -> str:
    """Return a listener's name without its random part: ``web-1:4242``."""
    found = _OWN.fullmatch(listener)
    return listener if found is None else found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerInfo:
    """A listener as others see it. `beat_ms` and `up_ms` are ages in milliseconds, None if unknown; `schedules` maps
    each schedule to its weight; `threads` and `coroutines` are how many runs of each kind it has room for (0: unknown);
    `awaited`: the coroutines that it held at its last heartbeat; `running` holds the jobs of its claims; `trouble`: in
    a sentence, the part that no longer makes progress while the listener sends heartbeats. `held`: the number of jobs
    that it holds, in a layout that counts them and does not list them. `serves`: the job names that it serves, in a
    layout with a queue for each name. `functions`: the functions that it knows, as it describes them when it registers;
    read them by `History.knows`.
    """

    listener: str
    host: str
    pid: int
    version: str
    schedules: dict[str, int]
    threads: int
    coroutines: int = 0
    awaited: int = 0
    state: str = "listening"
    beat_ms: int | None = 0
    up_ms: int | None = 0
    running: tuple[Job, ...] = ()
    trouble: str | None = None
    held: int | None = None
    serves: Mapping[str, Serving] = field(default_factory=dict)
    functions: tuple[KnownFunction, ...] = field(default=(), repr=False)

    __repr__ = brief_repr

    @property
    def called(self) -> str:
        """Its name where it has one of its own; else its host and process."""
        name = called(self.listener)
        is_named = name != self.listener and self.host and not name.startswith(f"{self.host}:")
        return name.rpartition(":")[0] if is_named else name

    @property
    def busy(self) -> int:
        """The number of its busy threads."""
        return max(0, self.active - self.awaited)

    @property
    def active(self) -> int:
        """The number of jobs that it holds."""
        return len(self.running) if self.held is None else self.held


Trouble = Literal["corrupt", "broken", "missing", "cancelled", "foreign"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The part of a claim that plain jobs do not need: the terms of its job, the limit keys under which it has a slot,
    and whether its run may have begun at a listener that died.
    """

    terms: Terms = PLAIN
    slots: tuple[str, ...] = ()
    has_begun: bool = False


class Waited(NamedTuple):
    """The pauses of an occurrence that asked to wait: how often, until when the last one lasted (epoch ms; None:
    another attempt failed since), and its progress at that time, as JSON.
    """

    times: int
    until_ms: int | None = None
    progress: str = ""


@dataclass(slots=True, eq=False)
class Claim:
    """Work that this listener holds: the parts of the job that a run needs, and the broker's opaque receipt for it.

    `trouble` is the reason why the job must not run. `corrupt`: its record cannot be read. `broken`: only its function
    can be read, so only a listener that can run this function may end it. `missing`: its payload is gone. `cancelled`:
    it was cancelled. `foreign`: it is written for listeners of another dialect. `reason` explains it in a sentence. The
    listener settles such a claim like any other.

    `armed` False: the listener must re-arm the job by `admit` before this occurrence may start. `standing` None: a
    plain claim of a job that does not recur, with no limits and no unique key. `batch`: the batch of a plain claim.
    `usual`: the layout's options of the run, for options that neither the job nor its handler sets. `stray`: it was in
    the queue of another name; if this listener cannot run it, the job dies and is not released to other listeners.
    `attempt` and `crashes` count from 0.
    `waited`: how often its runs asked to wait (`Retry` with a pause). A claim never changes; it is not frozen because a
    listener makes many thousands in a second.
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
    batch: str | None = None
    attempt: int = 0
    crashes: int = 0
    trouble: Trouble | None = None
    reason: str | None = None
    armed: bool = True
    usual: RunOptions = UNSAID
    recurs: bool = False
    stray: bool = False
    meta: dict[str, str] | None = None
    waited: Waited | None = None

    @property
    def asked_ms(self) -> int:
        """The start of its lateness, epoch ms: its due time, or the time that its last run asked for."""
        return self.due_ms if self.waited is None or self.waited.until_ms is None else self.waited.until_ms

    @property
    def failures(self) -> int:
        """The number of its failed attempts: all others asked to wait."""
        return self.attempt - (0 if self.waited is None else self.waited.times)

    @property
    def terms(self) -> Terms:
        """The terms of its job: limits, name, unique key."""
        if self.standing is not None:
            return self.standing.terms
        return PLAIN if self.batch is None else of_member(self.batch)

    @property
    def slots(self) -> tuple[str, ...]:
        """The limit keys under which it has a slot."""
        return () if self.standing is None else self.standing.slots

    def admission(self, options: RunOptions, control: Control) -> Admission | None:
        """Compute what it needs before its start: see `jobs.admission.admission`."""
        return admission(
            id=self.id,
            fn=self.fn,
            args=self.args,
            kwargs=self.kwargs or {},
            terms=self.terms,
            options=options,
            control=control,
            recurs=self.recurs,
        )

    @property
    def job(self) -> Job:
        """The whole job; each call reads it from the receipt."""
        return self.describe(self)

    @property
    def occurrence(self) -> str:
        """The due run, as cancellations name it: see `Orders`."""
        return str(self.receipt.occurrence)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastDeadline:
    """A job that is past its `deadline` (aware UTC), or that cannot meet it any more (`is_past` False)."""

    job: Job
    deadline: datetime
    is_past: bool = True


Ending = tuple[Claim, Outcome]
BatchEnd = Literal["done", "cancelled", "cancelling"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The answer to one `claim`: new claims, the latest time to ask again, and endings that were refused.

    `wake_in_ms` counts from now: 0 means that more is due, None that the next heartbeat is soon enough. `refused`:
    claims that could not be ended. `fenced`: claims that this listener lost because others took it for dead. `asked`:
    the broker has already asked for further jobs, and the next call returns them. `missed`: occurrences that do not
    run, each with the reason. `control`: the schedule's pauses and limits, if they have changed. `batches`: those
    that these endings have ended, each with its name and how.
    """

    claims: Sequence[Claim] = ()
    wake_in_ms: float | None = None
    refused: Sequence[Claim] = ()
    fenced: Sequence[Claim] = ()
    asked: bool = False
    missed: Sequence[tuple[Claim, str]] = ()
    control: Control | None = None
    batches: Sequence[tuple[str, BatchEnd]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The answer to a heartbeat. `look`: work is due now. `cancelled`: ids or occurrences of cancelled runs.
    `fenced` and `control` as in `Turn`. `late`: jobs that this listener alone reports as past their deadline.
    """

    look: bool = False
    cancelled: frozenset[str] = frozenset()
    fenced: Sequence[Claim] = ()
    control: Control | None = None
    late: Sequence[PastDeadline] = ()
