"""Change an exchange by hand: the front of the room `change`, and of the pauses in the Redis beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from workkit.brokers.hutch.beside.pauses import Pauses
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.change.dead_queue import DeadQueueChange
from workkit.brokers.hutch.codec import needs_redis
from workkit.brokers.hutch.names import Names
from workkit.contract.admin import Arguments, Revival
from workkit.contract.without_history import WithoutChanges
from workkit.errors import Unsupported
from workkit.jobs.admission import History, Pause
from workkit.jobs.job import Job

NATIVE = "Keep such jobs in a native schedule, and forward it here."


@dataclass(frozen=True, slots=True, kw_only=True)
class HutchAdmin(WithoutChanges):
    """Changes one exchange. Each method may be repeated. Without a Redis beside pauses and limits raise Unsupported."""

    at_once: ClassVar[int] = 10_000  # each call reads the queue from its head
    dead_queue: DeadQueueChange
    names: Names
    beside: Beside | None = None

    def cancel(self, job: Job) -> Job:
        """Raise Unsupported: a message cannot be taken out of the middle of a queue."""
        self._refuse("cancelling a job", "A message that was published cannot be called back. " + NATIVE)

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a job name or the whole exchange: see `Admin.pause`. Raises Unsupported for one job."""
        self._pauses("a pause").pause(target, pause)

    def resume(self, target: str) -> bool:
        """End a pause: see `Admin.resume`. Raises Unsupported for one job."""
        return self._pauses("a pause").resume(target)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the limits of all listeners of this exchange: see `Admin.declare`."""
        self._pauses("a limit or a rate over all listeners").declare(limit=limit, turn_ms=turn_ms)

    def remember(self, history: History) -> None:
        """Raise Unsupported: an exchange keeps nothing of past runs."""
        self._refuse(f"history={history!r}", "Leave it out. " + NATIVE)

    def acknowledge(self) -> None:
        """Raise Unsupported: nothing here keeps up to when deaths are known."""
        self._refuse("acknowledging dead jobs", "Retry or discard them.")

    def forget_history(self) -> None:
        """Raise Unsupported: an exchange keeps nothing of past runs."""
        self._refuse("history", "There is nothing to remove.")

    def skip(self, job: Job) -> Job:
        """Raise Unsupported: no job recurs here."""
        self._refuse("a next run to leave out", "Each message runs once. " + NATIVE)

    def run(self, job: Job) -> Job:
        """Raise Unsupported: a delayed message cannot be found."""
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
