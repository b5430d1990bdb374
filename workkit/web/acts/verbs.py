"""The verbs that the web is given. It knows them by this protocol alone; `workkit/asgi.py` keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from workkit.contract.admin import Arguments
from workkit.contract.doctor import Finding
from workkit.errors import WorkkitError
from workkit.jobs.job import Job


class Verbs(Protocol):
    """The verbs of `workkit.schedule` on one schedule."""

    def pause(self, which: str | None, *, reason: str | None, until: str | None) -> None:
        """Start nothing more of a job, or of the whole schedule."""

    def resume(self, which: str | None) -> None:
        """End a pause."""

    def run(self, which: str) -> Job:
        """Run a job once now."""

    def skip(self, which: str) -> Job:
        """Leave out the next run of a recurring job."""

    def cancel(self, which: str) -> Job:
        """Take a job out."""

    def repair(self, finding: Finding) -> bool:
        """Repair a fault. False: it is over, or cannot be repaired."""

    def imagined(self, given: Mapping[str, Any], *, stands: Job | None) -> Job:
        """Make the job that `saved` would write. `given`: the keywords of `add`; `stands`: keep its time."""

    def saved(self, given: Mapping[str, Any], *, seen: Job | None, stands: Job | None) -> Job | None:
        """Add a job, if `seen` still stands under its name; None if it does not."""

    def put_back(self, job: Job, *, over: Job) -> Job | None:
        """Put the former content of a job back, if `over` still stands in its place; None if it does not."""

    def dead(self, which: str) -> list[Job]:
        """Find dead jobs by name, by id or by the beginning of one. Raises NotFound."""

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, rate: str | None) -> list[WorkkitError | None]:
        """Put dead jobs back, at a rate, one of them perhaps with other arguments; say why one was not."""

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs, and return how many stood there."""
