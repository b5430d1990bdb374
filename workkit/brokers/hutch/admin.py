"""Change an exchange by hand: the front of what does it."""

from __future__ import annotations

from collections.abc import Sequence

from workkit.brokers.hutch.beside.pauses import Pauses
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.hutch.codec import needs_redis
from workkit.brokers.hutch.names import Names
from workkit.contract.admin import Arguments, Revival
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job


class HutchAdmin:
    """Changes one exchange. Pauses and limits stand in the Redis beside; without one they raise Unsupported."""

    def __init__(self, names: Names, beside: Beside | None) -> None:
        self._names, self._beside = names, beside

    # Pauses and limits.

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a job name or the whole exchange: see `Admin.pause`. Raises Unsupported for one job."""
        self._pauses("a pause").pause(target, pause)

    def resume(self, target: str) -> bool:
        """End a pause: see `Admin.resume`. Raises Unsupported for one job."""
        return self._pauses("a pause").resume(target)

    def declare(self, *, limit: int | None, turn_ms: float | None) -> None:
        """Set the limits of all listeners of this exchange: see `Admin.declare`."""
        self._pauses("a limit or a rate over all listeners").declare(limit=limit, turn_ms=turn_ms)

    def _pauses(self, what: str) -> Pauses:
        if self._beside is None:
            raise needs_redis(what)
        return Pauses(self._beside)

    # Jobs.

    def cancel(self, job: Job) -> Job:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("a job to cancel")

    def skip(self, job: Job) -> Job:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("a next run to leave out")

    def run(self, job: Job) -> Job:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("a job to run by hand")

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None = None, delays_ms: Sequence[int] = ()
    ) -> list[Revival]:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("retrying dead jobs")

    def discard(self, dead: Sequence[Job]) -> int:
        """Not there yet. Raises Unsupported."""
        raise self._not_yet("discarding dead jobs")

    def _not_yet(self, what: str) -> Unsupported:
        trouble = f"is something the {self._names.dialect} layout cannot do yet"
        return Unsupported.about(what, trouble, "Use a native schedule for it.")
