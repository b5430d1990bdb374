"""The calls about past runs, their results and changes, for a layout that keeps none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from workkit.contract.changes import Author
from workkit.contract.undo import Undo
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.triggers import Trigger


class WithoutChanges:
    """Keeps nothing of who changed what: see `Admin`. Part of the admin of a layout that keeps nothing of past runs."""

    def by(self, author: Author | None) -> Self:
        """Return itself: changes are not recorded."""
        return self

    def keeping(self, undos: list[Undo]) -> Self:
        """Return itself: no change can be undone."""
        return self

    def undo(self, undo: Undo) -> Job:
        """Raise Unsupported."""
        raise Unsupported.about(f"undoing a {undo.verb}", "is not possible in this layout", given=undo.job.id)

    def quiet(self, listener: str, on: bool) -> bool:
        """Raise Unsupported."""
        remedy = "Send its process SIGTSTP, and SIGCONT later."
        raise Unsupported.about(f"making {listener} quiet from here", "is not possible in this layout", remedy)

    def interrupt(self, job: Job, listener: str) -> Job:
        """Raise Unsupported."""
        raise Unsupported.about("cancelling one run", "is not possible in this layout", given=job.id)

    def reschedule(self, job: Job, *, trigger: Trigger | None, due_ms: int | None, dry_run: bool = False) -> Job | None:
        """Raise Unsupported."""
        remedy = "Add it again at that time, or keep such jobs in a native schedule."
        raise Unsupported.about("giving a job another time", "is not possible in this layout", remedy, given=job.id)

    def snooze(self, jobs: Sequence[Job], time_ms: int, *, dry_run: bool = False) -> list[Job]:
        """Raise Unsupported."""
        remedy = "Add it again at a later time, or keep such jobs in a native schedule."
        raise Unsupported.about("putting off a run", "is not possible in this layout", remedy, given=jobs[0].id)

    def note(self, verb: str, after: Mapping[str, Any], *, times: int = 1, job: Job | None = None) -> None:
        """Record nothing."""

    def mark(self, text: str) -> None:
        """Raise Unsupported."""
        remedy = "Only the native layout keeps who changed what."
        raise Unsupported.about("a mark", "is not kept in this layout", remedy, given=text)
