"""What a claim becomes in another schedule: a new job that is due now. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from workkit.contract.claim import Claim
from workkit.contract.producer import NewJob
from workkit.errors import Unsupported
from workkit.jobs.names import brief, shown
from workkit.jobs.terms import PLAIN, Terms
from workkit.tracing import TraceContext
from workkit.triggers.trigger import once


def publication(claim: Claim, *, schedule: str, trace: TraceContext | None = None) -> NewJob:
    """Make the job that stands for one occurrence of `schedule` elsewhere: the same function, arguments and options.

    `trace`: the context of the addition here, to which the run elsewhere is linked. What says when, under which name
    and how late the job runs here is not passed on: this side has honoured it. Raises Unsupported for `overlap`: nobody
    here sees how long a run elsewhere takes.
    """
    terms = claim.terms
    if terms.overlap is not None:
        trouble = "cannot be kept by a forward, which does not see how long a run takes elsewhere"
        remedy = "Leave it out, or give the job a unique_key=."
        raise Unsupported.about(f'overlap="{terms.overlap}" of {brief(shown(claim.fn))}', trouble, remedy)
    passed = Terms(unique_key=terms.unique_key, unique_until=terms.unique_until, priority=terms.priority)
    return NewJob(
        fn=claim.fn,
        args=tuple(claim.args),
        kwargs=claim.kwargs,
        trigger=once(datetime.fromtimestamp(claim.due_ms // 1000, UTC)),
        due_ms=None,
        options=claim.options,
        terms=PLAIN if passed == PLAIN else passed,
        identity=f"{schedule} {claim.occurrence}",
        trace=trace,
        meta=claim.meta,
    )
