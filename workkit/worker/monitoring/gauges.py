"""What stands in the schedules right now, read from the server for `/metrics`; at most a twentieth of the time is spent
on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from workkit.clocks import time
from workkit.contract.broker import Inspector
from workkit.contract.inspector import Counts
from workkit.errors import Unsupported, WorkkitError

SHARE = 20  # a look that took one second is followed by no other for twenty
LEAST, LONGEST = 0.5, 60.0  # seconds between the end of a look and the next one
WAIT = 2.0  # seconds that a page waits for a look; a server that is away must not hold it up


@dataclass(frozen=True, slots=True)
class Gauge:
    """The counts of one schedule. None: its server did not answer."""

    schedule: str
    counts: Counts | None


class Gauges:
    """The counts of some schedules, at most a second old unless reading them takes long. From any thread."""

    def __init__(self, inspectors: Mapping[str, Callable[[], Inspector]] | None = None) -> None:
        self._inspectors = {schedule: [inspector] for schedule, inspector in (inspectors or {}).items()}
        self._lock = threading.Lock()
        self._read: tuple[Gauge, ...] = ()
        self._next_at = 0.0
        self._looking: threading.Thread | None = None

    def add(self, schedule: str, inspector: Callable[[], Inspector]) -> None:
        """Look at a schedule too, by the first of its inspectors that is there. Before `read`."""
        self._inspectors.setdefault(schedule, []).append(inspector)

    def read(self) -> tuple[Gauge, ...]:
        """Return what was found last, after a new look where one is due."""
        with self._lock:
            looking = self._looking
            if looking is None and time.monotonic() >= self._next_at:
                looking = self._looking = threading.Thread(target=self._look, name="workkit-gauges", daemon=True)
                looking.start()
        if looking is not None:
            looking.join(WAIT)
        return self._read

    def _look(self) -> None:
        began = time.monotonic()
        try:
            self._read = tuple(self._found())
        finally:
            with self._lock:
                self._next_at = time.monotonic() + min(LONGEST, max(LEAST, SHARE * (time.monotonic() - began)))
                self._looking = None

    def _found(self) -> Iterator[Gauge]:
        for schedule, inspectors in self._inspectors.items():
            for inspector in inspectors:
                try:
                    yield Gauge(schedule, inspector().counts())
                except Unsupported:  # a layout that cannot count, or a listener that has stopped, has no gauges
                    continue
                except WorkkitError:
                    yield Gauge(schedule, None)
                break
