"""What runs now: for how long, how long such runs usually take, and when it is done as far as progress tells. Pure.

No listener tells when a run began, so its time is reckoned from when it was due.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from workkit.contract.history import LATE_MS, PastRun
from workkit.contract.listener import ListenerInfo
from workkit.contract.record import job_record
from workkit.jobs.job import Job
from workkit.text.brief import brief_repr
from workkit.text.duration import MILLISECOND
from workkit.text.glance import TICKING_S
from workkit.text.wording import iso
from workkit.web.recurring.cells import took_within

FARTHEST_MS: Final = 7 * 86_400_000
"""A run that would be done later than that has no end that is worth to be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A job that runs, and its listener. `for_ms`: the time since it was due; `usual_ms`, `p95_ms`, `longest_ms`: how
    long half, 95 % and all of its last 60 runs took; `done_at`: when it is done if it goes on as until now. None: not
    known.
    """

    job: Job
    listener: str
    for_ms: int | None = None
    usual_ms: int | None = None
    p95_ms: int | None = None
    longest_ms: int | None = None
    done_at: datetime | None = None

    __repr__ = brief_repr

    @property
    def is_long(self) -> bool:
        """Whether it takes twice as long as 95 % of the last runs, or more. It may have begun a second late."""
        return self.for_ms is not None and self.p95_ms is not None and self.for_ms >= 2 * self.p95_ms + LATE_MS

    @property
    def is_longest(self) -> bool:
        """Whether, beside that, none of the last runs took so long."""
        return self.is_long and self.for_ms is not None and self.for_ms > (self.longest_ms or 0) + LATE_MS

    def record(self) -> dict[str, Any]:
        """Write it as JSON does."""
        return job_record(self.job) | {
            "listener": self.listener,
            "for_ms": self.for_ms,
            "usual_ms": self.usual_ms,
            "p95_ms": self.p95_ms,
            "done": None if self.done_at is None else iso(self.done_at),
        }


def running_jobs(
    listeners: Sequence[ListenerInfo], runs: Mapping[str, Sequence[PastRun]], *, now: datetime, most: int
) -> list[Running]:
    """List what listeners run, the first one due first. `runs`: the last runs of recurring jobs, by name or else id."""
    found = [(job, info.listener) for info in listeners for job in info.running]
    found.sort(key=lambda one: (one[0].due is None, one[0].due))
    return [_running(job, listener, runs.get(job.name or job.id, ()), now) for job, listener in found[:most]]


def _running(job: Job, listener: str, runs: Sequence[PastRun], now: datetime) -> Running:
    for_ms = None if job.due is None else max(0, int((now - job.due) / MILLISECOND))
    usual, p95, longest = (took_within(runs, share) for share in (0.5, 0.95, 1.0))
    done_at = None if for_ms is None else _done_at(job.progress, for_ms, now)
    return Running(
        job=job, listener=listener, for_ms=for_ms, usual_ms=usual, p95_ms=p95, longest_ms=longest, done_at=done_at
    )


def _done_at(progress: tuple[float, float] | str | None, for_ms: int, now: datetime) -> datetime | None:
    """Reckon when a run is done, up to a whole minute, or to ten seconds where that is soon."""
    if progress is None or isinstance(progress, str) or not 0 < progress[0] < progress[1]:
        return None
    left_ms = for_ms * (progress[1] / progress[0] - 1)
    if not 0 < left_ms < FARTHEST_MS:
        return None
    step = 60 if left_ms >= TICKING_S * 1000 else 10
    at = (now + timedelta(milliseconds=left_ms)).replace(microsecond=0)
    return at + timedelta(seconds=-(at.minute * 60 + at.second) % step)
