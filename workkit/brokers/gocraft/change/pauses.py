"""Pause and resume a name of a namespace, or all of it. Each is one script, and may be repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workkit.brokers.gocraft.keys import Keys
from workkit.brokers.gocraft.pauses import NO_REASON
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.errors import Unsupported
from workkit.jobs.admission import SCHEDULE, Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Pauses and resumes the targets of one namespace: see `Control`."""

    server: Server
    keys: Keys

    def pause(self, target: str, pause: Pause) -> None:
        """Pause a target: see `Paused`. A pause until an instant ends by itself, for Go pools too."""
        at = "" if pause.until_ms is None else pause.until_ms
        self._script("pause", [self.keys.prefix, _name(target), pause.reason or NO_REASON, at])

    def resume(self, target: str) -> bool:
        """End a pause: see `Resumed`."""
        return bool(self._script("resume", [self.keys.prefix, _name(target)]))

    def _script(self, verb: str, args: list[Any]) -> Any:
        script = load("gocraft")[verb]
        return self.server.call(script, script.keys(self.keys), args)


def _name(target: str) -> str:
    """The job name of a target; nothing for the whole namespace. Raises Unsupported for one job."""
    kind, _, of = target.partition(":")
    if kind == "job":
        remedy = "Pause all jobs of its name (fn=), or cancel this one."
        raise Unsupported.about(f"a pause of the one job {of[:8]}", "is not known to gocraft pools", remedy, given=of)
    return "" if target == SCHEDULE else of
