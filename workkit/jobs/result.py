"""What is kept of an ending, for a job that keeps its result. Pure. The rules: spec/results.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from workkit.jobs.outcome import Dead, Done, Failure, Kept, Outcome
from workkit.jobs.run_options import RunOptions

ResultKind = Literal["value", "failed", "discarded", "cancelled", "unkept"]
RESULT_KINDS: tuple[ResultKind, ...] = ("value", "failed", "discarded", "cancelled", "unkept")
"""Why there is a value, or none. `unkept`: the run is done, and its value could not be kept."""


def with_result(outcome: Outcome, options: RunOptions, returned: Kept | None = None) -> Outcome:
    """Return an outcome with what is kept of it. `returned`: what is kept of the value of a run that is done."""
    if options.keep_ms is None:
        return outcome
    match outcome:
        case Done(discarded=None):
            return outcome if returned is None else replace(outcome, kept=returned)
        case Done(discarded=reason):
            return replace(outcome, kept=_without_value(options.keep_ms, reason or ""))
        case Dead(failure=failure):
            return replace(outcome, kept=Kept(ms=options.keep_ms, kind="failed", failure=failure))
    return outcome


def of_cancelled(ms: int, message: str) -> Kept:
    """Make what is kept of a job that is cancelled before it begins."""
    return Kept(ms=ms, kind="cancelled", failure=Failure(type="JobCancelled", message=message))


def _without_value(ms: int, reason: str) -> Kept:
    if reason.startswith("cancelled"):
        return of_cancelled(ms, reason)
    return Kept(ms=ms, kind="discarded", failure=Failure(type="Discard", message=reason))
