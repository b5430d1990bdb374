"""Pause and resume an exchange or a job name, and set the limits of all its listeners. Each call may be repeated."""

from __future__ import annotations

from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.redis_server.control import write_pause
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause

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
