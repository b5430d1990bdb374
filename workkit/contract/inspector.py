"""The side of a broker that looks, and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from workkit.contract.listener import ListenerInfo
from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import STATES, Job
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

    `now_ms`: the server's clock. `counts`: as in `Inspector.counts`, but for this: a queued job whose function or name
    is paused counts as waiting or due until it is parked. `soon`: the first jobs that wait, at most 10, soonest first.
    `listeners`: those with the latest heartbeats, at most 50, with what they run. `version` changes when a pause or a
    limit does. `unknown`: the fields that the layout cannot tell, each with the reason in a sentence.
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
    """A job that has a name, and its content as `Plans.contents` names it."""

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
