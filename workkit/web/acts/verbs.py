"""The verbs that the web is given. It knows them by this protocol alone; `workkit/asgi/pages.py` keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from workkit.contract.admin import Arguments
from workkit.contract.changes import Author
from workkit.contract.doctor import Finding
from workkit.contract.undo import Undo
from workkit.errors import WorkkitError
from workkit.jobs.job import Job


class Verbs(Protocol):
    """The verbs of `workkit.schedule` on one schedule. Those that return a pair also tell how to undo the change; None:
    it cannot be undone.
    """

    def acting(self, author: Author) -> AbstractContextManager[None]:
        """Make the changes of this thread in somebody's name. Every act is carried out within it."""

    def pause(self, which: str | None, *, reason: str | None, until: str | None) -> None:
        """Start nothing more of a job, or of the whole schedule."""

    def pause_end(self, until: str) -> datetime:
        """Read until when a pause lasts. Raises an Invalid."""

    def resume(self, which: str | None) -> None:
        """End a pause."""

    def run(self, which: str) -> tuple[Job, Undo | None]:
        """Run a job once now."""

    def skip(self, which: str) -> tuple[Job, Undo | None]:
        """Leave out the next run of a recurring job."""

    def cancel(self, which: str) -> tuple[Job, Undo | None]:
        """Take a job out."""

    def interrupt(self, run: Job, listener: str) -> None:
        """Cancel one run of a job, as a listener has it. Raises NotFound."""

    def undo(self, undo: Undo) -> Job:
        """Put back what a change took away. Raises ChangedMeanwhile."""

    def quiet(self, listener: str, on: bool) -> bool:
        """Have a listener take nothing new, or take work again. False: it was so already."""

    def note_shown(self, job: Job, argument: str) -> None:
        """Record that somebody is shown an argument of a job that is masked."""

    def purge_history(self) -> None:
        """Remove all that is kept of past runs."""

    def repair(self, finding: Finding) -> bool:
        """Repair a fault. False: it is over, or cannot be repaired."""

    def imagined(self, given: Mapping[str, Any], *, stands: Job | None) -> Job:
        """Make the job that `saved` would write. `given`: the keywords of `add`; `stands`: keep its time."""

    def saved(self, given: Mapping[str, Any], *, seen: Job | None, stands: Job | None) -> Job | None:
        """Add a job, if `seen` still stands under its name; None if it does not."""

    def put_back(self, job: Job, *, over: Job) -> Job | None:
        """Put the former content of a job back, if `over` still stands in its place; None if it does not."""

    def reschedule(self, which: str, *, when: str, tz: str | None, seen: str | None) -> tuple[Job, Job]:
        """Give a job another time, and return it before and after. `seen`: the id that it must have. Raises
        ChangedMeanwhile.
        """

    def reschedule_back(self, job: Job, *, over: Job) -> Job:
        """Give `over` the time back that it had as `job`. Raises ChangedMeanwhile."""

    def dead(self, which: str) -> list[Job]:
        """Find dead jobs by name, by id or by the beginning of one. Raises NotFound."""

    def retry(self, dead: Sequence[Job], *, args: Arguments | None, rate: str | None) -> list[WorkkitError | None]:
        """Put dead jobs back, at a rate, one of them perhaps with other arguments; say why one was not."""

    def discard(self, dead: Sequence[Job]) -> int:
        """Forget dead jobs, and return how many stood there."""
