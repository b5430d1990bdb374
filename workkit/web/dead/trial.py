"""What became of the one that was tried first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from workkit.contract.broker import Inspector
from workkit.contract.history import PastRun
from workkit.errors import NotFound, Unsupported
from workkit.text.duration import duration_text
from workkit.web.background.works import Fate, Work
from workkit.web.dead.grave import Grave
from workkit.web.words import until

MOST_RUNS: Final = 2000
ENDED: Final = ("ran", "failed", "over")
WRITTEN_MS: Final = 3_000
"""Listeners write runs of plain jobs once a second: so long after its end a run may still come."""
STATES: Final = {"running": "It runs.", "due": "It is due.", "cancelling": "It runs, and is being cancelled."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One that was tried. `left`: how many others are dead of the same error; `ran`: it did, so they may follow."""

    print: str
    job: str
    said: str
    left: int
    upto: int
    ran: bool


def trial(inspector: Inspector, work: Work, graves: Sequence[Grave], *, now: datetime) -> Trial:
    """Look where it is. Once it has ended, nothing is asked any more."""
    others = [grave for grave in graves if grave.print == work.print and grave.died_ms < work.begun_ms]
    if work.fate not in ENDED:
        work.said, work.fate = _found(inspector, work, graves, now=now)
    said, fate = work.said, work.fate
    left = f" {len(others):,} left as they are." if fate in ("failing", "failed") and others else ""
    return Trial(
        print=work.print,
        job=work.job,
        said=said + left,
        left=len(others),
        upto=max((grave.died_ms for grave in others), default=0),
        ran=fate == "ran",
    )


def _found(inspector: Inspector, work: Work, graves: Sequence[Grave], *, now: datetime) -> tuple[str, Fate]:
    """Say where it is, and what that means."""
    again = next((one for one in graves if one.job.id == work.job_id and one.died_ms >= work.begun_ms), None)
    if again is not None:
        same = again.print == work.print
        return ("Failed again with the same error." if same else f"Failed again: {again.job.error}."), "failed"
    try:
        job = inspector.job(work.job_id)
    except NotFound:
        job = None
    except Unsupported:
        return "It was put back; what becomes of it cannot be followed here.", "over"
    if job is not None and job.state in STATES:
        return STATES[job.state], "going"
    if job is not None and job.state == "retrying":
        at = "" if job.due is None else f"; its next attempt is in {until(job.due, now)}"
        return f"Failed again{at}.", "failing"
    try:
        run = _run(inspector, work)
    except Unsupported:
        if job is None:
            return "It is not dead; more of it is not known here.", "going"
        run = None
    if run is not None and run.ending == "done":
        return f"It ran, in {duration_text(run.took_ms)}.", "ran"
    if run is not None and run.ending == "dead":  # the index of the dead is a moment older, and then says of what
        return "Failed again.", "failing"
    if run is not None and run.ending != "retried":
        return f"It ended: {run.ending}.", "over"
    if job is not None:
        return f"It is {job.state}.", "going"
    now_ms = round(now.timestamp() * 1000)
    work.gone_ms = work.gone_ms or now_ms
    if now_ms - work.gone_ms < WRITTEN_MS:
        return "It is over; how long it took is told in a moment.", "going"
    return "It ran; how long it took is not kept.", "ran"


def _run(inspector: Inspector, work: Work) -> PastRun | None:
    runs = islice(inspector.history.runs(since_ms=work.begun_ms), MOST_RUNS)
    return next((run for run in runs if run.id == work.job_id), None)
