"""What a listener says of an occurrence that is over, for the part `ran` of a script. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workkit.brokers.native.history.ring import Entry, entry_of
from workkit.brokers.native.settle import Receipt, log_name
from workkit.contract.history import Ended, Sample, kept_call
from workkit.contract.listener import Claim
from workkit.jobs.job import Job
from workkit.jobs.names import LONGEST
from workkit.jobs.outcome import Again, Dead, Done, Failure, Outcome

LONGEST_ERROR = 200  # characters
MOST = 200  # records of single runs by one listener in one second
MAY, MUST, MUST_NOT = 0, 1, 2  # enter `S:runs`; see the part `ran`

Record = list[Any]


@dataclass(slots=True)
class Recorder:
    """Writes the records of one listener: at most 200 in a second enter `S:runs`, the others are only in rings."""

    second: int = 0
    made: int = 0

    def of(self, claim: Claim, outcome: Outcome, *, listener: str, now_ms: int) -> Record | None:
        """Make the record of an ending; None where nothing ran, or where the usual counts are enough: a job that does
        not recur, and is done. `now_ms`: by the server's clock.
        """
        receipt: Receipt = claim.receipt
        ending = _ending(claim, outcome)
        if ending is None or (ending == "done" and not receipt.recurs):
            return None
        ran = None if isinstance(outcome, Done) and claim.trouble else getattr(outcome, "ran", None)
        late_ms = max(0, now_ms - claim.asked_ms) if ran is None else ran.late_ms
        nonce = receipt.entry.nonce if receipt.recurs else ""
        packed = entry_of(
            claim.asked_ms,
            late_ms=late_ms,
            took_ms=0 if ran is None else ran.took_ms,
            ending=ending,
            attempt=claim.failures,
            by_hand=bool(nonce),
        )
        how = MAY if ending == "done" and not nonce else MUST
        if not self._has_room(now_ms):
            how = MUST_NOT
        if not receipt.recurs and how == MUST_NOT:
            return None
        failure = None if isinstance(outcome, Done) else getattr(outcome, "failure", None)
        said = outcome.discarded if isinstance(outcome, Done) else None
        error = _brief(failure) if failure is not None else (claim.reason or said or "")
        name = claim.terms.name
        return _row(
            field=(name or claim.id) if receipt.recurs else "",
            entry=packed,
            times=1,
            how=how,
            id=claim.id,
            name=name,
            fn=claim.fn,
            listener=listener,
            error=error,
            call=kept_call(claim.args, claim.kwargs),
            log=log_name(claim.occurrence, claim.failures) if failure is not None and failure.log else "",
        )

    def _has_room(self, now_ms: int) -> bool:
        if now_ms // 1000 != self.second:
            self.second, self.made = now_ms // 1000, 0
        self.made += 1
        return self.made <= MOST


def _ending(claim: Claim, outcome: Outcome) -> Ended | None:
    match claim.trouble:
        case "missing" | "cancelled":
            return None  # nothing ran
        case "corrupt" | "broken":
            return "dead" if isinstance(outcome, Done) else None
    match outcome:
        case Done(expired=True):
            return "expired"
        case Done(ran=None):
            return None  # cancelled before its handler was called
        case Done(discarded=None):
            return "done"
        case Done(discarded=reason):
            return "cancelled" if (reason or "").startswith("cancelled") else "discarded"
        case Again():
            return None if outcome.is_wait else "retried"
        case Dead():
            return "dead"
    return None


def sample_row(sample: Sample, *, listener: str) -> Record:
    """Make the record of a plain run that is done."""
    entry = entry_of(
        sample.due_ms,
        late_ms=sample.ran.late_ms,
        took_ms=sample.ran.took_ms,
        ending="done",
        attempt=sample.attempt,
    )
    return _row(
        field="",
        entry=entry,
        times=sample.times,
        how=MUST,
        id=sample.id,
        name=sample.name,
        fn=sample.fn,
        listener=listener,
        error="",
        call=sample.call,
    )


def skip_row(job: Job, *, due_ms: int) -> Record:
    """Make the record of an occurrence that somebody leaves out, at its own time."""
    entry = entry_of(due_ms, late_ms=0, took_ms=0, ending="skipped")
    name = job.terms.name
    return _row(
        field=name or job.id, entry=entry, times=1, how=MUST, id=job.id, name=name, fn=job.fn, listener="", error=""
    )


def _row(
    *,
    field: str,
    entry: Entry,
    times: int,
    how: int,
    id: str,
    name: str | None,
    fn: str,
    listener: str,
    error: str,
    call: str = "",
    log: str = "",
) -> Record:
    row = [field, entry.encode(), times, how, id, name or "", fn[:LONGEST], listener, error[:LONGEST_ERROR]]
    more = (("a", call), ("l", log))
    return row + [part for pair in more if pair[1] for part in pair]


def _brief(failure: Failure) -> str:
    return f"{failure.type}: {failure.message}" if failure.message else failure.type
