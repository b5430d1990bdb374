"""Values of the admin of a schedule: its requests and answers, the errors of layouts that cannot carry a request out,
and the record of changes (spec/history.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from workkit import triggers
from workkit.errors import NotFound, Unsupported
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import SHORTEST_ID, Job, spoken
from workkit.jobs.names import shown
from workkit.text.cells import brief_repr

Undoable = Literal["cancel", "skip", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """How to undo a change. `job`: as it was before. `until_ms`: it can be undone before then, by the server's
    clock; None: at any time. `kept`: the bytes that the layout wrote for itself. `place`: the schedule, or its shard,
    that made the change.
    """

    verb: Undoable
    job: Job
    kept: bytes
    place: str
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """Pause a target (see `Control`). A job is parked at once."""

    target: str
    pause: Pause


@dataclass(frozen=True, slots=True)
class Resumed:
    """End a pause: parked jobs return, a recurring job at its next regular time. `lapsed`: only if the pause has
    expired. Changes nothing if the target is not paused.
    """

    target: str
    lapsed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """Set the schedule's own limits: how many jobs run at once, and the milliseconds between two starts."""

    limit: int | None
    turn_ms: float | None


@dataclass(frozen=True, slots=True)
class Remembered:
    """Set what listeners keep of past runs, for all of them: see `contract.history`."""

    history: History


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Remove all records of past runs. Listeners start new ones."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Acknowledge all dead jobs of this moment: later checkups report only jobs that die afterwards."""


@dataclass(frozen=True, slots=True)
class Quieted:
    """Make a listener take no new work of this schedule, or (not `on`) take work again. The listener learns of it with
    its next heartbeat; its runs continue. Changes nothing if the listener is in that state already. Raises NotFound if
    no such listener is known.
    """

    listener: str
    on: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """Record that something happened now: a release, a failover. It changes nothing else."""

    text: str


Steer = Paused | Resumed | Limited | Remembered | Forgotten | Acknowledged | Quieted | Marked | Undo
"""A change of a whole schedule, of a target or a listener; or an `Undo`, which restores exactly what a change removed.
An `Undo` raises ChangedMeanwhile if something has changed since that change.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Another time for one job. `due_ms` None means now, by the server's clock."""

    trigger: triggers.Trigger | None
    due_ms: int | None


@dataclass(frozen=True, slots=True)
class Later:
    """This many ms after the due time of the next run, or after now if that time has passed. For a job that is not
    paused.
    """

    ms: int


@dataclass(frozen=True, slots=True)
class NextRun:
    """The regular time after the next run of a recurring job: the job skips that next run."""


NewTime = At | Later | NextRun


Arguments = Sequence[Any] | Mapping[str, Any]
"""Other arguments for a job: a list replaces the positional arguments, an object replaces arguments by name."""


Revival = Literal["revived", "gone", "waits", "unreadable", "unroutable"]
"""The result of a request about a dead job. "unroutable": no queue takes its message; the job stays dead."""


def dead_refusal(job: Job) -> NotFound:
    """Return the error for a dead job where the request needs a waiting or running one."""
    remedy = f"Forget it: workkit discard {job.schedule} {job.short_id}."
    return NotFound.about(f"{job.short_id} {shown(job.fn)}", "is dead, and does not run", remedy, given=job.id)


def unsteered(change: Steer) -> Unsupported:
    """Return the error for a layout that cannot make this change."""
    match change:
        case Quieted(listener=name):
            remedy = "Send its process SIGTSTP, and SIGCONT later."
            return Unsupported.about(f"making {name} quiet from here", "is not possible in this layout", remedy)
        case Marked(text=text):
            remedy = "Only the native layout keeps who changed what."
            return Unsupported.about("a mark", "is not kept in this layout", remedy, given=text)
        case Undo(verb=verb, job=job):
            return Unsupported.about(f"undoing a {verb}", "is not possible in this layout", given=job.id)
        case Remembered(history=history):
            remedy = "Leave it out, or use the native layout."
            return Unsupported.about(f"history={history!r}", "cannot be kept in this layout", remedy, given=history)
    return Unsupported.about("this change of a schedule", "is not possible in this layout")


def unmoved(job: Job, to: NewTime) -> Unsupported:
    """Return the error for a layout that cannot move a job to another time."""
    when, what = "at that time", "giving a job another time"
    if isinstance(to, Later):
        when, what = "at a later time", "putting off a run"
    remedy = f"Add it again {when}, or keep such jobs in a native schedule."
    return Unsupported.about(what, "is not possible in this layout", remedy, given=job.id)


def not_one_run(job: Job) -> Unsupported:
    """Return the error for a layout that cancels whole jobs only, and no single run."""
    return Unsupported.about("cancelling one run", "is not possible in this layout", given=job.id)


Via = Literal["python", "cli", "web"]
"""Where a change was made: the face through which it came."""


LONGEST_BY = 100  # characters of the name of an author


LONGEST_MARK = 200  # characters of the text of a mark


MARK = "mark"  # the verb of a mark; `text` in `after` is its text


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """The author of a change, as the caller names it, and the face that was used. `role` and `address`: set for an
    author who came in over the network.
    """

    by: str
    via: Via = "python"
    role: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a schedule. `target`: as in `Control`, or "dead" for several dead jobs. `id` and `fn`: of one job.

    `before` and `after`: the values that differ, by name; times are aware UTC. `times`: the number of jobs, or of
    faults of a repair. `number`: its place among all changes, from which a reader can continue.
    """

    at: datetime
    by: str | None
    via: str | None
    verb: str
    target: str
    id: str | None = None
    fn: str | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    reason: str | None = None
    times: int = 1
    role: str | None = None
    address: str | None = None
    number: str = ""

    __repr__ = brief_repr

    @property
    def subject(self) -> str:
        """The job, function or target that the change is about, as a user types it."""
        kind, _, of = self.target.partition(":")
        if kind == "job" and self.id is not None and of == self.id:
            return spoken(self.fn or of)
        return spoken(of) if kind == "fn" else of or kind

    @property
    def names(self) -> list[str]:
        """The names of the values that differ, those of `before` first."""
        return list(dict.fromkeys([*self.before, *self.after]))

    def is_about(self, which: str) -> bool:
        """Return whether the change is about a job, by its name, its id, or the beginning of its id."""
        id = self.id or ""
        return self.target == f"job:{which}" or id == which or (len(which) >= SHORTEST_ID and id.startswith(which))
