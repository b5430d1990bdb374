"""The calls about past runs, their results and changes, for a layout that keeps none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from workkit.contract.changes import Author, Change
from workkit.contract.history import Bucket, Cell, Day, PastRun, Tier
from workkit.contract.result import Results, no_results
from workkit.contract.undo import Undo
from workkit.errors import Unsupported
from workkit.jobs.job import Job
from workkit.jobs.known import Known
from workkit.triggers import Trigger


class WithoutHistory:
    """Refuses each call: see `Inspector`. Part of the inspector of a layout that keeps nothing of past runs."""

    def log(self, of: Job | PastRun) -> list[str]:
        """Raise Unsupported."""
        raise Unsupported.about(
            "what a run has logged", "is not kept in this layout", "Only the native layout keeps it."
        )

    def lately(self, jobs: Sequence[str]) -> Mapping[str, Sequence[PastRun]]:
        """Raise Unsupported."""
        raise _refusal()

    def days(self, job: str) -> list[Day]:
        """Raise Unsupported."""
        raise _refusal()

    def past(self, subject: str, *, since_ms: int, until_ms: int, tier: Tier) -> list[Bucket]:
        """Raise Unsupported."""
        raise _refusal()

    def functions(self, *, since_ms: int, until_ms: int, tier: Tier) -> Mapping[str, Cell]:
        """Raise Unsupported."""
        raise _refusal()

    def runs(self, *, since_ms: int = 0, until_ms: int | None = None, before: str | None = None) -> Iterator[PastRun]:
        """Raise Unsupported."""
        raise _refusal()

    def run(self, place: str) -> PastRun:
        """Raise Unsupported."""
        raise _refusal()

    @property
    def results(self) -> Results:
        """Raise Unsupported."""
        raise no_results("a result")

    def changes(self, *, after: str | None = None) -> Iterator[Change]:
        """Raise Unsupported."""
        raise _refusal()

    def history_bytes(self) -> int:
        """Raise Unsupported."""
        raise _refusal()

    def knows(self) -> Mapping[str, Known]:
        """Raise Unsupported."""
        trouble = "are not published by the listeners of this layout"
        raise Unsupported.about("functions", trouble, "Only those of the native layout tell what they know.")

    def refused(self, listeners: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """Raise Unsupported."""
        trouble = "are not told by the listeners of this layout"
        raise Unsupported.about("functions that a listener cannot run", trouble, "Their logs say so.")


def _refusal() -> Unsupported:
    return Unsupported.about("history", "is not kept in this layout", "Only the native layout keeps past runs.")


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
