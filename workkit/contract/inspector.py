"""Values that an inspector returns: counts, a pulse, recurring jobs, dead jobs, queues, limits in use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Final, Literal

from workkit.contract.listener import ListenerInfo, PastDeadline
from workkit.errors import Unsupported
from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import STATES, Job, JobState
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The number of jobs of one schedule in each state. The states are those of `Inspector.jobs`.

    `known_dead`: the number of acknowledged dead jobs. `late_ms`: how long the oldest due job has waited for a
    listener; None if no job is due. `totals`: the runs of the last 48 hours, by outcome. `unknown`: the fields that the
    server does not tell, which are 0 or None here, each with the reason in a sentence. `past_deadline`: the first jobs,
    at most 100 of a kind, that are past their deadline or cannot meet it.
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
    past_deadline: tuple[PastDeadline, ...] = ()

    __repr__ = brief_repr

    @property
    def all(self) -> int:
        """The number of jobs in all states, dead ones too."""
        return sum(getattr(self, state) for state in STATES)


SOON, MOST_LISTENERS = 10, 50  # the most waiting jobs, and listeners, in a pulse


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """The answer to one quick look at a schedule, whatever its number of jobs.

    `now_ms`: the server's clock. `counts`: as in `Inspector.counts`, with one difference: a queued job with a paused
    function or name counts as waiting or due until it is parked. `soon`: the first waiting jobs, at most 10, soonest
    first. `listeners`: those with the latest heartbeats, at most 50, with their runs. `version` changes when a pause or
    a limit does. `unknown`: the fields that the layout cannot tell, each with the reason in a sentence.
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


def soonest(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Choose the waiting jobs of a pulse: the first ones of several lists, soonest first."""
    return tuple(sorted(jobs, key=lambda job: -inf if job.due is None else job.due.timestamp())[:SOON])


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurs:
    """A recurring job. `key`: its name, or else its id, which history uses. `job`: the job as it was added.

    `state`: waiting, due, retrying, held or paused; `Inspector.pulse` tells whether the job runs now. `due`: its next
    run, or its next attempt if that is sooner; None if the server does not tell.
    """

    key: str
    job: Job
    state: JobState = "waiting"
    due: datetime | None = None
    attempt: int = 0
    why: str | None = None

    __repr__ = brief_repr

    @property
    def standing(self) -> Job:
        """The job in its present state."""
        return replace(self.job, state=self.state, due=self.due, attempt=self.attempt, why=self.why)


def no_recurring(trouble: str, remedy: str) -> Unsupported:
    """Return the error for a layout that keeps no recurring jobs."""
    return Unsupported.about("recurring jobs", trouble, remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A job that has a name, and its content as `Plans.contents` names it."""

    job: Job
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """An occurrence that did not run, because it was `late` or by `overlap`. `times`: how many in a row, starting with
    `due`.
    """

    id: str
    name: str | None
    fn: str
    due: datetime
    reason: str
    times: int = 1

    __repr__ = brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Graves:
    """A page of dead jobs. `after`: where the next page begins; `is_last`: there is no further page now; `again`: where
    to begin later to find jobs that have died since (some jobs may repeat). `most`: how many dead jobs the layout
    keeps, and `kept_ms`: for how long; None: without a limit.
    """

    jobs: tuple[Job, ...]
    after: str
    again: str
    is_last: bool
    most: int | None = None
    kept_ms: int | None = None

    __repr__ = brief_repr


IsKnown = Callable[[str, int], bool]
"""Returns whether the caller knows the dead job with a `dead_id`, and a time of its death (epoch ms), already."""


QueueKind = Literal["work", "delay", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueInfo:
    """A queue of a layout in which a schedule has many. `ready`: messages that wait in it; `held`: messages that its
    consumers hold. `keys`: the routing keys that lead to it. `rate_in`, `rate_out`: messages per second. None: the
    server does not tell. `job`: the job of a work queue of our namespace.
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


MOST_LIMITS: Final = 200
"""The number of limits in an answer, at most, the worst first."""


MOST_HOLDERS: Final = 10
"""The number of holders of one limit in an answer, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A job that has a slot, and the listener that runs it; None: the job does not run now, and keeps its slot."""

    job: Job
    listener: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUse:
    """One limit key, or one rate key, that is in use.

    `key`: as in `Admission`: ``schedule``, ``fn:<name as stored>``, with ``=<value as JSON>`` behind it if the limit
    counts by a parameter, ``over:<name, or else id>``, ``unique:<key>``; or ``window:<key>``, a window of throttle.
    `used` slots of `limit` are taken, some of them by `holders`; `waiting` jobs wait for a slot, or for their turn of a
    rate; the first job that waits for a slot is due since `oldest`. `turn`: the next free turn of a rate, or the end of
    a window; `turn_ms`: the time between two turns. None: not known.
    """

    key: str
    used: int = 0
    limit: int | None = None
    waiting: int | None = 0
    oldest: datetime | None = None
    holders: tuple[Holder, ...] = ()
    turn: datetime | None = None
    turn_ms: float | None = None

    __repr__ = brief_repr

    @property
    def is_alone(self) -> bool:
        """Whether the key allows one run, of a job or for a unique key. It is often full, which is no fault."""
        return self.key.startswith(("over:", "unique:"))

    @property
    def is_rate(self) -> bool:
        """Whether it limits when a next run may start, not how many may run."""
        return self.turn is not None


def worst_first(found: Iterable[LimitUse], *, like: str = "") -> list[LimitUse]:
    """Sort limits: first keys that contain `like`, then those with the most waiting jobs, then the fullest, then rates
    by their next turn, then keys that allow one run. Returns at most 200.
    """
    return sorted(found, key=lambda use: (like not in use.key, _rank(use)))[:MOST_LIMITS]


def _rank(use: LimitUse) -> tuple[int, bool, bool, float, float, str]:
    share = use.used / use.limit if use.limit else 0.0
    turn = -use.turn.timestamp() if use.turn is not None else 0.0
    return -(use.waiting or 0), use.is_alone, use.is_rate, -share, turn, use.key
