"""The span of a run: what it says of the run, and the addition that it is linked to."""

from __future__ import annotations

from typing import Any

from workkit import tracing
from workkit.errors import WorkkitError
from workkit.jobs.names import shown
from workkit.worker.task import LaneRun


def begun(run: LaneRun) -> tracing.RunSpan | None:
    """Begin the span of a run in this thread; None if nobody wants it. Never raises."""
    claim, broker = run.claim, run.lane.broker
    try:
        (origin,) = broker.traces_of([claim])
    except WorkkitError:  # without its server the run has a span, and no link
        origin = None
    more: dict[str, Any] = {
        "workkit.job.name": claim.terms.name,
        "workkit.job.attempt": claim.attempt + 1,
        "workkit.job.lateness_ms": run.late_ms,
        **tracing.meta_attributes(claim.meta),
    }
    return tracing.running(broker.schedule, origin=origin, id=claim.id, fn=shown(claim.fn), more=more)
