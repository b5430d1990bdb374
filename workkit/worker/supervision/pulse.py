"""Which of several processes live: each is asked once a second, and answers by a report. One that is silent for too
long is killed, so that another takes its place. A service manager hears whether any has answered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from workkit import events
from workkit.clocks import time
from workkit.text.wording import duration_text
from workkit.worker.service import ServiceManager
from workkit.worker.supervision.listener_process import ListenerProcess
from workkit.worker.supervision.orders import GRACE

ASKED = "alive"  # the order, and the report that answers it
LOOK = 1.0  # seconds between two questions


class Pulse:
    """`at`: when to beat again, `time.monotonic()` seconds. A process may be silent for `seconds`, counted in
    questions: a supervisor that was suspended blames nobody. It has `GRACE` more to end by itself, with its stacks.
    """

    def __init__(self, manager: ServiceManager, *, seconds: float) -> None:
        self._manager, self._patience, self.at = manager, seconds, math.inf
        self._between = LOOK if manager.beat_s is None else min(LOOK, manager.beat_s)
        self._tell_at, self._answered = 0.0, False

    def begin(self, processes: Sequence[ListenerProcess]) -> None:
        """Tell that all is ready, and ask for the first time."""
        self._manager.ready()
        self._tell_at = time.monotonic() + (self._manager.beat_s or 0.0)
        self._ask(processes)

    def beat(self, processes: Sequence[ListenerProcess]) -> None:
        """Tell that this service lives, if a process has answered since it was last told. Kill those that are silent
        for too long, and ask again.
        """
        now = time.monotonic()
        if now < self.at:
            return
        for process in processes:
            if process.reports.pop(ASKED, None) is not None:
                process.silent, self._answered = 0.0, True
            elif "may_run" in process.reports:  # it listens
                process.silent += self._between
                if process.silent >= self._patience + GRACE:
                    events.emit("stuck", reason=self.trouble(process))
                    process.kill()
        if self._manager.beat_s is not None and now >= self._tell_at:
            if self._answered:
                self._manager.alive()
            self._tell_at, self._answered = now + self._manager.beat_s, False
        self._ask(processes)

    def trouble(self, process: ListenerProcess) -> str | None:
        """Word for how long a process has been silent; None if that is not too long. From any thread."""
        silent = process.silent
        if silent < self._patience:
            return None
        return f"process {process.pid} has not answered for {duration_text(round(silent * 1000))}"

    def _ask(self, processes: Sequence[ListenerProcess]) -> None:
        self.at = time.monotonic() + self._between
        for process in processes:
            process.order(ASKED)
