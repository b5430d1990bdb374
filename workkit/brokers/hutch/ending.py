"""What an ending publishes: a copy that comes again, a dead one, or nothing. Pure.

Normative: spec/layouts/hutch.md, sections 6 to 8.
"""

from __future__ import annotations

from workkit.brokers.hutch import compose
from workkit.brokers.hutch.codec import Receipt
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import Names
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome, Released


def copy_of(names: Names, claim: Claim, outcome: Outcome, *, now_ms: int) -> Message | None:
    """Compose what an ending publishes, if anything."""
    receipt: Receipt = claim.receipt
    message, queue = receipt.message, receipt.queue
    if claim.trouble is not None and isinstance(outcome, Done):
        outcome = Dead(failure=Failure(type="CorruptRecord", message=claim.reason or ""), reason=claim.trouble)
    match outcome:
        case Again(delay_ms=delay, attempt=attempt, failure=failure):
            error = None if failure is None else failure.line
            return compose.again(
                names, message, queue=queue, attempt=attempt, now_ms=now_ms, delay_ms=delay, error=error
            )
        case Dead(failure=failure, reason=reason):
            return compose.dead(
                names, message, queue=queue, attempts=claim.attempt + 1, now_ms=now_ms, error=failure.line,
                reason=reason,
            )  # fmt: skip
        case Released(delay_ms=delay) if delay:
            return compose.again(names, message, queue=queue, attempt=claim.attempt, now_ms=now_ms, delay_ms=delay)
    return None
