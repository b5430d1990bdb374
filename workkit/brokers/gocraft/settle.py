"""What each outcome does to a job that a pool holds, as a row for `turn.lua` (parts/ending.lua). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workkit.brokers.gocraft.codec import Receipt
from workkit.brokers.gocraft.text import rewrite
from workkit.contract.listener import Ending
from workkit.jobs.outcome import Again, Dead, Done, Released

STRAY = "stray job: no handler"  # as Go words it
MOST_ERROR = 2000  # characters of an error that are kept


def row(ending: Ending, *, now_ms: int) -> Sequence[Any]:
    """Make the row of one ending: queue, exact bytes, letter, new text, score, crashes, inner name. The usual one, of a
    job that is done, has the first three alone.

    Letters: d done, q to the head of its queue, h held by us until the score, r retry, x dead, u set aside unread.
    """
    claim, outcome = ending
    receipt: Receipt = claim.receipt
    if type(outcome) is Done and not claim.crashes and receipt.text is not None:
        return receipt.queue, receipt.raw, "d"
    raw, now_s = receipt.raw, now_ms // 1000

    def to(letter: str, text: bytes = b"", score: float = 0) -> list[Any]:
        return [receipt.queue, raw, letter, text, repr(score), claim.crashes, claim.fn]

    if receipt.text is None:
        return to("u", raw, now_s)
    match outcome:
        case Done():
            return to("d")
        case Released(unknown=True) if claim.stray:
            return to("x", rewrite(raw, fails=claim.attempt + 1, err=STRAY, failed_at=now_s), now_s)
        case Released(delay_ms=delay):
            return to("h", raw, (now_ms + delay) / 1000) if delay else to("q", raw)
        case Again(delay_ms=delay, attempt=attempt, failure=failure):
            err = None if failure is None else failure.line[:MOST_ERROR]
            text = rewrite(raw, fails=attempt, err=err, failed_at=now_s)
            return to("r", text, -(-(now_ms + delay) // 1000)) if delay else to("q", text)
        case Dead(failure=failure):
            text = rewrite(raw, fails=claim.attempt + 1, err=failure.line[:MOST_ERROR], failed_at=now_s)
            return to("x", text, now_s)
