"""What a listener hands to a thread: the run of a claim, or the lookup of its function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from workkit.contract.claim import Claim
from workkit.errors import CannotRun
from workkit.worker.lane import Lane
from workkit.worker.run.progress import Progress, Reports
from workkit.worker.run.run import Run


@dataclass(slots=True, eq=False)
class LaneRun(Run):
    """A run whose claim came from a lane: its ending waits there, and so does its progress."""

    lane: Lane
    reports: Reports | None = field(default=None, init=False)

    @property
    def schedule(self) -> str:
        """The schedule of its job."""
        return self.lane.broker.schedule

    def reporter(self) -> Callable[[Progress], None] | None:
        """Return what takes reports of progress; None if nobody reads them."""
        writer = self.lane.progress
        if writer is None:
            return None
        self.reports = writer.reports(self)
        return self.reports.put


@dataclass(frozen=True, slots=True, eq=False)
class LookUp:
    """A claim whose function a thread looks up, since an import can take long. Posted back, its function is known, or
    `error` says why it cannot be run here.
    """

    lane: Lane
    claim: Claim
    error: CannotRun | None = None


Task = LaneRun | LookUp
