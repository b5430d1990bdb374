"""The verbs that the web is given. It knows them by this protocol alone; `workkit/asgi.py` keeps it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from workkit.contract.changes import Author
from workkit.contract.undo import Undo
from workkit.jobs.job import Job


class Verbs(Protocol):
    """The verbs of `workkit.schedule` on one schedule. Those that return a pair also tell how to undo the change; None:
    it cannot be undone.
    """

    def acting(self, author: Author) -> AbstractContextManager[None]:
        """Make the changes of this thread in somebody's name. Every act is carried out within it."""

    def pause(self, which: str | None, *, reason: str | None, until: str | None) -> None:
        """Start nothing more of a job, or of the whole schedule."""

    def resume(self, which: str | None) -> None:
        """End a pause."""

    def run(self, which: str) -> tuple[Job, Undo | None]:
        """Run a job once now."""

    def skip(self, which: str) -> tuple[Job, Undo | None]:
        """Leave out the next run of a recurring job."""

    def cancel(self, which: str) -> tuple[Job, Undo | None]:
        """Take a job out."""

    def undo(self, undo: Undo) -> Job:
        """Put back what a change took away. Raises ChangedMeanwhile."""

    def quiet(self, listener: str, on: bool) -> bool:
        """Have a listener take nothing new, or take work again. False: it was so already."""

    def note_shown(self, job: Job, argument: str) -> None:
        """Record that somebody is shown an argument of a job that is masked."""

    def purge_history(self) -> None:
        """Remove all that is kept of past runs."""
