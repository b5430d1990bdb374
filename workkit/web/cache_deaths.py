"""Listeners that died while somebody looked: silent when they were last seen, and then gone. No server keeps them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Final

from workkit.contract.inspector import Pulse
from workkit.contract.listener import ListenerInfo

SILENT_MS: Final = 5_000
"""A listener tells of itself every second or so; without a heartbeat for so long it is silent."""

LATELY: Final = timedelta(hours=1)
MOST: Final = 50


def is_silent(info: ListenerInfo) -> bool:
    """Say whether it has not told of itself for a while."""
    return (info.beat_ms or 0) >= SILENT_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """A listener that died: when its last heartbeat came, and how many jobs it ran."""

    listener: str
    at: datetime
    jobs: int


@dataclass(slots=True, eq=False)
class Deaths:
    """The deaths of one schedule that its pulses have shown. Thread-safe."""

    _lock: Lock = field(default_factory=Lock)
    _silent: dict[str, tuple[ListenerInfo, datetime]] = field(default_factory=dict)
    _found: deque[Death] = field(default_factory=lambda: deque(maxlen=MOST))
    _now_ms: int = 0

    def note(self, pulse: Pulse) -> None:
        """Look for those that are gone. One that has said nothing for a while and is there again has not died; one that
        ended by itself was never silent.
        """
        with self._lock:
            is_whole = pulse.counts.listeners <= len(pulse.listeners)
            if pulse.now_ms <= self._now_ms or not is_whole or "listeners" in pulse.unknown:
                return
            self._now_ms = pulse.now_ms
            here = {info.listener for info in pulse.listeners}
            for name in [*self._silent]:
                info, at = self._silent.pop(name)
                if name not in here:
                    self._found.append(Death(listener=name, at=at, jobs=len(info.running)))
            now = datetime.fromtimestamp(pulse.now_ms / 1000, UTC)
            for info in pulse.listeners:
                if is_silent(info):
                    self._silent[info.listener] = (info, now - timedelta(milliseconds=info.beat_ms or 0))

    def lately(self, now: datetime) -> Sequence[Death]:
        """Tell those of the last hour, the last one first."""
        with self._lock:
            return tuple(one for one in reversed(self._found) if now - one.at <= LATELY)
