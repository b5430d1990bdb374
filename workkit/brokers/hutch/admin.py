"""Change an exchange by hand: delayed and dead messages, and the pauses and limits in the Redis beside."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.codec import needs_redis
from workkit.brokers.hutch.dead_queue import LOOKS, DeadQueueChange
from workkit.brokers.hutch.delayed import Delayed
from workkit.brokers.hutch.message import UNIQUE, Message, text
from workkit.brokers.hutch.names import Names
from workkit.brokers.redis_server.control import write_pause
from workkit.contract.admin import (
    Acknowledged,
    Arguments,
    Author,
    Forgotten,
    Limited,
    NewTime,
    NextRun,
    Paused,
    Resumed,
    Revival,
    Steer,
    Undo,
    not_one_run,
    unmoved,
    unsteered,
)  # fmt: skip
from workkit.errors import NotFound, Unsupported
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.jobs.names import shown

NATIVE = "Keep such jobs in a native schedule, and forward it here."


@dataclass(frozen=True, slots=True, kw_only=True)
class HutchAdmin:
    """Changes one exchange. Each method may be repeated. Without a Redis beside pauses and limits raise Unsupported."""

    dead_queue: DeadQueueChange
    delayed: Delayed
    names: Names
    beside: Beside | None = None

    def by(self, author: Author | None, *, undos: list[Undo] | None = None) -> HutchAdmin:
        """Return itself: changes are not recorded, and none can be undone."""
        return self

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record nothing."""

    def steer(self, change: Steer) -> bool:
        """Pause or resume a job name or the whole exchange, or limit all its listeners: see `Admin.steer`. Raises
        Unsupported for one job, and for all other changes.
        """
        match change:
            case Paused(target, pause):
                self._pauses("a pause").pause(target, pause)
                return True
            case Resumed(target):
                return self._pauses("a pause").resume(target)
            case Limited(limit=limit, turn_ms=turn_ms):
                self._pauses("a limit or a rate over all listeners").declare(limit=limit, turn_ms=turn_ms)
                return True
            case Acknowledged():
                self._refuse("acknowledging dead jobs", "Retry or discard them.")
            case Forgotten():
                self._refuse("history", "There is nothing to remove.")
        raise unsteered(change)

    def cancel(self, job: Job, *, listener: str | None = None) -> Job:
        """Take a delayed message out of its delay. Raises NotFound; Unsupported for one whose delay has ended, and
        where its unique key could not be freed.
        """
        if listener is not None:
            raise not_one_run(job)
        what = f"{job.short_id} {shown(job.fn)}"
        if job.state != "waiting":
            trouble = f"is {job.state}, and here only messages can be cancelled whose delay has not ended"
            raise Unsupported.about(what, trouble, NATIVE, given=job.id)

        def is_meant(message: Message) -> bool:
            found = (message.id, message.queue) == (job.id, job.queue)
            if found and self.beside is None and UNIQUE in message.headers:
                raise needs_redis(f"the unique key of {what}", given=job.id)
            return found

        taken: list[Message] = []
        for seconds in LOOKS:
            time.sleep(seconds)
            while found := self.delayed.take(is_meant):
                taken += found
            if taken:
                keys = {text(message.headers.get(UNIQUE)) for message in taken} - {""}
                if keys and self.beside is not None:
                    self.beside.call("keep", [word for key in keys for word in (key, job.id, 0)])
                return job
        trouble = "is not delayed any more: it has run, or is due"
        raise NotFound.about(what, trouble, f"Look for it: workkit show {job.schedule} {job.short_id}.", given=job.id)

    def reschedule(self, jobs: Sequence[Job], to: NewTime, *, dry_run: bool = False) -> list[Job]:
        """Raise Unsupported: a message keeps its time, and none recurs."""
        if isinstance(to, NextRun):
            self._refuse("a next run to leave out", "Each message runs once. " + NATIVE)
        raise unmoved(jobs[0], to)

    def run(self, job: Job) -> Job:
        """Raise Unsupported: a message keeps the time with which it was published."""
        self._refuse("running a waiting job now", "Add the job again. " + NATIVE)

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Have messages of the dead queue run again: see `Admin.retry`. Not in one step: each copy is confirmed before
        its message is taken out.
        """
        return self.dead_queue.retry(dead, args=args, delays_ms=delays_ms)

    def discard(self, dead: Sequence[Job]) -> int:
        """Take messages out of the dead queue: see `Admin.discard`."""
        return self.dead_queue.discard(dead)

    def _pauses(self, what: str) -> Pauses:
        if self.beside is None:
            raise needs_redis(what)
        return Pauses(self.beside)

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        trouble = f"is something the {self.names.dialect} layout cannot do: RabbitMQ has no such thing"
        raise Unsupported.about(what, trouble, remedy)


_JOB = "job:"


class Pauses:
    """Pauses and limits of one exchange. Listeners hear of them with their next request, within a second."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: see `Paused`. Raises Unsupported for one job."""
        _check(target)
        self._beside.call("pause", [target, write_pause(pause)])

    def resume(self, target: str) -> bool:
        """End a pause: see `Resumed`. Raises Unsupported for one job."""
        _check(target)
        return bool(self._beside.call("resume", [target, "end"]))

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the limits of all listeners: see `Limited`."""
        turn = "" if turn_ms is None else repr(float(turn_ms))
        self._beside.call("declare", ["limit", "" if limit is None else limit, "turn_ms", turn])


def _check(target: str) -> None:
    if target.startswith(_JOB):
        trouble = "cannot be paused by itself: a message that waits cannot be found"
        raise Unsupported.about("one job", trouble, "Pause its function: fn=.", given=target.removeprefix(_JOB))
