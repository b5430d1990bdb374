"""Whether any of several processes lives, as a service manager hears it: each is asked, and answers by a report."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from workkit.worker.service import ServiceManager
from workkit.worker.supervision.listener_process import ListenerProcess

ASKED = "alive"  # the order, and the report that answers it


class Pulse:
    """`at`: when to beat again, `time.monotonic()` seconds."""

    def __init__(self, manager: ServiceManager) -> None:
        self._manager, self.at = manager, math.inf

    def begin(self, processes: Sequence[ListenerProcess]) -> None:
        """Tell that all is ready, and ask for the first time."""
        self._manager.ready()
        self._ask(processes)

    def beat(self, processes: Sequence[ListenerProcess]) -> None:
        """Tell that this service lives, if a process has answered since the last beat; and ask again."""
        if time.monotonic() < self.at:
            return
        answered = [process for process in processes if process.reports.pop(ASKED, None) is not None]
        if answered:
            self._manager.alive()
        self._ask(processes)

    def _ask(self, processes: Sequence[ListenerProcess]) -> None:
        if self._manager.beat_s is None:
            return
        self.at = time.monotonic() + self._manager.beat_s
        for process in processes:
            process.order(ASKED)
