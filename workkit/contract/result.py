"""The kept results of runs, as values, and how a layout gives them. The rules: spec/results.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workkit.errors import Unsupported
from workkit.jobs.outcome import Failure, ResultKind
from workkit.jobs.run_options import RunOptions
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What is kept of one run. `kind` says whether `value` (what JSON carries) is it, or `failure` tells why not.

    `due_ms`: when its occurrence was due. `place`: where it stands among the results of its job, for `await_result`.
    """

    kind: ResultKind
    occurrence: str
    due_ms: int
    place: str
    value: Any = None
    failure: Failure | None = None

    __repr__ = brief_repr


def no_results(what: str = "keep=") -> Unsupported:
    """Make the error for a layout that keeps no results."""
    return Unsupported.about(what, "cannot be kept in this layout", "Only the native layout keeps results.")


def refuse_native(options: RunOptions, of: str = "") -> None:
    """Refuse the options of runs that only the native layout keeps. `of`: whose options they are. Raises
    Unsupported.
    """
    if options.keep_ms is not None:
        raise no_results(f"keep={of}")
    if options.crashes is not None:
        remedy = "Only the native layout marks which runs have begun. Leave it out."
        raise Unsupported.about(f"crashes={of}", "cannot be kept in this layout", remedy)
