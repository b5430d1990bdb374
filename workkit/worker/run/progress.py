"""Progress that runs report, and the lines that they log, on their way to the server. No handler waits for it: the loop
writes the latest report of a run, and its last lines, at once if it wrote some a second ago or more, else when that
second is over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from typing import Protocol

from workkit.clocks import time
from workkit.contract.broker import Broker
from workkit.contract.listener import Claim
from workkit.worker.run.run_log import RunLog

Progress = tuple[float, float] | str  # done and total, or the text of a check-in

APART = 1.0  # seconds between two writes for one run, and before the report of an ended run is removed
TOGETHER = 0.05  # seconds between two writes of one schedule, so that many short runs share them


class Reporting(Protocol):
    """The part of a run that this module needs."""

    claim: Claim


class Reports:
    """The latest report of one run, and what it has logged. `put` and `announce` are for the threads of its handler,
    the rest for the loop's.
    """

    __slots__ = ("_announce", "are_news", "keeps_log", "latest", "log", "run", "written_at")

    def __init__(self, run: Reporting, *, announce: Callable[[Reports], None]) -> None:
        self.run = run
        self.latest: Progress | None = None
        self.log: RunLog | None = None
        self.keeps_log = False  # whether the ending of the run has stored its lines
        self.are_news = False  # whether something is announced and not written yet
        self.written_at = -math.inf
        self._announce = announce

    def put(self, progress: Progress) -> None:
        """Keep a report. The first one after each write is announced."""
        self.latest = progress
        self.announce()

    def announce(self) -> None:
        """Say that there are news: the first after each write."""
        if not self.are_news:
            self.are_news = True
            self._announce(self)


class ProgressWriter:
    """Writes the reports of the runs of one schedule, and what they have logged. For the loop's thread, except
    `reports`.
    """

    def __init__(self, broker: Broker, *, post: Callable[[Callable[[], None]], None]) -> None:
        self.at = math.inf  # when to `write` next, `time.monotonic()` seconds
        self._broker, self._post = broker, post
        self._news: dict[Reports, None] = {}
        self._stored: set[Reports] = set()
        self._written_at = -math.inf

    def reports(self, run: Reporting) -> Reports:
        """Make the place for the reports of this run. From any thread."""
        return Reports(run, announce=lambda reports: self._post(lambda: self._announced(reports)))

    def write(self, running: Collection[Reporting]) -> None:
        """Write the reports that are due, and remove those of runs that have ended. Raises ServerUnreachable or
        ServerRefused; then nothing is forgotten.
        """
        now = time.monotonic()
        over = [reports for reports in self._stored if reports.run not in running]
        news = [reports for reports in self._news if reports.run in running and reports.written_at + APART <= now]
        texts: dict[object, str | None] = {reports.run.claim.receipt: None for reports in over}
        logs = [(reports.run.claim, "") for reports in over if reports.log is not None and not reports.keeps_log]
        counts: list[tuple[RunLog, int]] = []
        for reports in news:
            reports.are_news = False  # before the read: any later report is announced again
            if reports.latest is not None:
                texts[reports.run.claim.receipt] = json.dumps(reports.latest)
            if (log := reports.log) is not None and log.told < log.count:
                counts.append((log, log.count))
                logs.append((reports.run.claim, log.text()))
        if texts or logs:
            self._broker.tell(texts, *([logs] if logs else []))
            self._written_at = now
        self._stored.difference_update(over)
        for log, count in counts:
            log.told = count
        for reports in news:
            reports.written_at = now
            self._stored.add(reports)
        self._news = {found: None for found in self._news if found.run in running and found.written_at != now}
        self.at = now + APART if self._stored else math.inf
        for reports in self._news:
            self._wake(reports)

    def _announced(self, reports: Reports) -> None:
        self._news[reports] = None
        self._wake(reports)

    def _wake(self, reports: Reports) -> None:
        self.at = min(self.at, max(reports.written_at + APART, self._written_at + TOGETHER))
