"""The verbs that the web is given. It knows them by this protocol alone; `workkit/asgi.py` keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from workkit.contract.admin import Arguments
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

    def dead(self, which: str) -> list[Job]:
        """Find dead jobs by name, by id or by the beginning of one. Raises NotFound."""

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, rate: str | None) -> list[WorkkitError | None]:
        """Put dead jobs back, at a rate, one of them perhaps with other arguments; say why one was not."""

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs, and return how many stood there."""
