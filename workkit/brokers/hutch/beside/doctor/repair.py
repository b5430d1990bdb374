"""Repair what is safe to repair beside an exchange: one value for each kind of trouble, and the step that repairs it.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.redis_server.checks.peers import STALE_MS
from workkit.brokers.redis_server.checks.unread import Garbled

Mark = Literal["slot", "begun", "counted"]
KEPT_S = 604_800  # seconds for which crashes are kept after the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What a run has left: a slot, or a mark that it has begun or was counted as a crash. `name`: see `sweep.lua`."""

    mark: Mark
    listener: str
    field: bytes
    name: bytes

    @property
    def run(self) -> bytes:
        """The run, as slots and marks name it."""
        return self.listener.encode() + b"/" + self.field


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A listener whose heartbeats have stopped, and the last one. None: it is not in the list, and has records."""

    listener: str
    beat: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A key that should have an expiry, and has none."""

    key: str


Subject = Left | Silent | Endless | Garbled


def repair(beside: Beside, subject: Subject) -> bool:
    """Repair one thing. False: the trouble is over. Raises ServerUnreachable, ServerRefused."""
    match subject:
        case Left():
            return sweep(beside, subject, remove=True)
        case Silent(listener=listener, beat=beat):
            return _reaped(beside, listener, beat)
        case Endless(key=key):
            with beside.server.translated() as client:
                return bool(client.ttl(key) == -1 and client.expire(key, KEPT_S))
        case Garbled(key=key, kind=kind, name=name, value=value):
            return bool(beside.call("tidy", [kind, name, value], key=key))
    assert_never(subject)


def sweep(beside: Beside, left: Left, *, remove: bool = False) -> bool:
    """Look in one step whether the listener has no record of this run, but the run has left something."""
    args = ["remove" if remove else "look", left.mark, left.field, left.name, left.run]
    return bool(beside.call("sweep", args, listener=left.listener))


def _reaped(beside: Beside, listener: str, beat: float | None) -> bool:
    """Take back what a listener holds, as others do. List an unlisted one first, with a very old heartbeat."""
    k = beside.keys
    if beat is None:
        beat = 1.0
        with beside.server.translated() as client:
            if not client.exists(k.running(listener), k.progress(listener)):
                return False
            client.zadd(k.listeners, {listener: beat}, nx=True)
    return int(beside.call("reap", [listener, repr(beat), STALE_MS], listener=listener)) >= 0
