"""What `Admin.steer` and `Admin.reschedule` are asked for, as values; and the errors of layouts that cannot do it."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.contract.undo import Undo
from workkit.errors import Unsupported
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import Job
from workkit.triggers import Trigger


@dataclass(frozen=True, slots=True)
class Paused:
    """Pause a target (see `Control`). A job is parked at once."""

    target: str
    pause: Pause


@dataclass(frozen=True, slots=True)
class Resumed:
    """End a pause: parked jobs return, a recurring job at its next regular time. `lapsed`: only if its time has passed.
    Nothing changes where the target is not paused.
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
    """Remove all that is kept of past runs. Listeners begin anew."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Note that all that is dead now is known: checkups report only what dies later."""


@dataclass(frozen=True, slots=True)
class Quieted:
    """Have a listener take nothing new of this schedule, or (not `on`) take work again. It learns it with its next
    heartbeat; its runs continue. Nothing changes where it was so already. NotFound where no such listener is known.
    """

    listener: str
    on: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """Keep among the changes that something happened now: a release, a failover. It changes nothing else."""

    text: str


Steer = Paused | Resumed | Limited | Remembered | Forgotten | Acknowledged | Quieted | Marked | Undo
"""A change of a whole schedule, of a target or a listener; or an `Undo`, which puts back exactly what a change took
away: ChangedMeanwhile where something is no longer as that change left it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """Another time for one job. `due_ms` None means now, by the server's clock."""

    trigger: Trigger | None
    due_ms: int | None


@dataclass(frozen=True, slots=True)
class Later:
    """So many ms after the due time of the next run, or after now if that has come. Of a job that is not paused."""

    ms: int


@dataclass(frozen=True, slots=True)
class NextRun:
    """The regular time after the next run of a job that recurs: that run is left out."""


NewTime = At | Later | NextRun


def unsteered(change: Steer) -> Unsupported:
    """Make the error for a layout that cannot do this."""
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
    """Make the error for a layout whose jobs keep their times."""
    when, what = "at that time", "giving a job another time"
    if isinstance(to, Later):
        when, what = "at a later time", "putting off a run"
    remedy = f"Add it again {when}, or keep such jobs in a native schedule."
    return Unsupported.about(what, "is not possible in this layout", remedy, given=job.id)


def not_one_run(job: Job) -> Unsupported:
    """Make the error for a layout that cancels jobs, and no single run of one."""
    return Unsupported.about("cancelling one run", "is not possible in this layout", given=job.id)
