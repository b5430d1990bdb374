"""Write a listener's results: the arguments of `settle` and `cancel` for endings, with their records and kept results,
the counts of `tally`, and the bytes of kept results (spec/results.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import msgpack

from workkit.brokers.native.codec import Codec
from workkit.brokers.native.history import Entry, entry_of, packed_cell, slot
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.settle import Receipt, deadline_name, ending, log_name, read_failure
from workkit.brokers.redis_server.control import pack, read_packed
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Call
from workkit.contract.history import ALL, KEPT_MS, TIERS, Counted, Ended, Result, Sample, kept_call
from workkit.contract.listener import Claim, Ending
from workkit.jobs.admission import History
from workkit.jobs.job import Job
from workkit.jobs.names import LONGEST
from workkit.jobs.outcome import Again, Dead, Done, Failure, Kept, Outcome, Released, ResultKind, of_cancelled

MOST_KEPT = 8_000_000  # bytes of results in one call of `settle.lua`, if it has more than one ending
NO_MAPS = bytes(msgpack.packb([]))  # the maps of endings that need none
NAMED = "name:"  # before a name in the key that leads from it to an id
_KINDS: dict[bytes, ResultKind] = {kind.encode(): kind for kind in get_args(ResultKind)}
_PLACE = re.compile(rb"(\d{1,15})-\d{1,20}")
_NUMBER = re.compile(rb"-?\d{1,18}")


def kept_size(outcome: Outcome) -> int:
    """Count the bytes that are kept of an ending."""
    kept: Kept | None = getattr(outcome, "kept", None)
    return 0 if kept is None else len(kept.text)


def settlement(
    ends: Sequence[Ending], members: Mapping[str, Sequence[bytes]], *, recorder: Recorder | None, listener: str,
    now_ms: int, codec: Codec,
) -> tuple[bytes, tuple[str, ...]]:  # fmt: skip
    """Write the maps that `settle.lua` applies for these endings, and list the words of its keys of results.
    `members`: the receipts of plain members of each batch. `recorder`: None if nothing is recorded.
    """
    maps: list[dict[str, Any]] = []
    for batch, fields in members.items():
        raw = bytes.fromhex(b"".join([field[-42:-2] for field in fields]).decode("ascii"))
        maps.append({"plain": fields, "batch": batch, "raw": raw})
    words = list[str]()
    for claim, outcome in ends:
        made = ending(claim, outcome, now_ms=now_ms, codec=codec)
        if claim.terms.has_deadline:
            made["by"] = deadline_name(claim.id, claim.due_ms, recurs=claim.recurs)
        if recorder is not None:
            record = recorder.of(claim, outcome, listener=listener, now_ms=now_ms)
            if record is not None:
                made["ran"] = record
        if (result := result_of(claim, outcome)) is not None:
            made |= keep_result(claim, result, words)
        maps.append(made)
    return pack(maps), tuple(words)


def result_of(claim: Claim, outcome: Outcome) -> Kept | None:
    """Find the result that is kept of an ending; None if its job keeps nothing, or nothing has ended."""
    if claim.trouble is None:
        return getattr(outcome, "kept", None)
    if claim.trouble != "cancelled" or isinstance(outcome, Released):
        return None
    kept: Kept | None = getattr(outcome, "kept", None)
    if kept is None and claim.options.keep_ms is not None:
        kept = of_cancelled(claim.options.keep_ms, claim.reason or "cancelled before it started")
    return kept


def keep_result(claim: Claim, kept: Kept, words: list[str]) -> dict[str, Any]:
    """Make the fields of an ending that keep its result, and add the words of its keys to those of the call."""
    receipt: Receipt = claim.receipt
    fields = write_fields(kept, occurrence=receipt.occurrence, due_ms=claim.due_ms)
    out: dict[str, Any] = {"keep": [len(words), str(kept.ms), fields]}
    words.append(claim.id)
    if (name := claim.terms.name) is not None:
        out["called"] = [len(words), claim.id]
        words.append(NAMED + name)
    return out


def write_fields(kept: Kept, *, occurrence: str, due_ms: int) -> list[bytes | str]:
    """Write the entry of a result, without its time to live."""
    body = kept.text if kept.failure is None else _write_failure(kept.failure)
    return ["k", kept.kind, "o", occurrence, "d", str(due_ms), "v", body]


def _write_failure(failure: Failure) -> bytes:
    said = [failure.type, failure.message, failure.where, failure.traceback]
    return bytes(msgpack.packb(said, unicode_errors="surrogatepass"))


def read_result(place: bytes, fields: Mapping[bytes, bytes], *, now_ms: int) -> Result | None:
    """Read an entry of `S:result:<id>`; None if it cannot be read, or has expired."""
    kind, at = _KINDS.get(fields.get(b"k", b"")), _PLACE.fullmatch(place)
    numbers = [fields.get(name, b"") for name in (b"t", b"d")]
    if kind is None or at is None or not all(map(_NUMBER.fullmatch, numbers)):
        return None
    keep_ms, due_ms = map(int, numbers)
    if int(at[1]) + keep_ms <= now_ms:
        return None
    value, failure = None, None
    if kind == "value":
        try:
            value = json.loads(fields.get(b"v", b""))
        except (ValueError, RecursionError):
            return None
    else:
        failure = read_failure(read_packed(fields.get(b"v", b"")))
    return Result(
        kind=kind,
        occurrence=fields.get(b"o", b"").decode("utf-8", "replace"),
        due_ms=due_ms,
        place=place.decode(),
        value=value,
        failure=failure,
    )


LONGEST_ERROR = 200  # characters


MOST = 200  # records of single runs by one listener in one second


MAY, MUST, MUST_NOT = 0, 1, 2  # whether a run may, must or must not enter `S:runs`; see the part `ran`


Record = list[Any]


@dataclass(slots=True)
class Recorder:
    """Writes the records of one listener: at most 200 in a second enter `S:runs`; all others are only in rings."""

    second: int = 0
    made: int = 0

    def of(self, claim: Claim, outcome: Outcome, *, listener: str, now_ms: int) -> Record | None:
        """Make the record of an ending; None if nothing ran, or if the usual counts suffice: the job does not recur and
        is done. `now_ms`: by the server's clock.
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
        failure = None if claim.trouble or isinstance(outcome, Done) else getattr(outcome, "failure", None)
        said = outcome.discarded if isinstance(outcome, Done) else None
        error = _brief(failure) if failure is not None else (claim.reason or said or "")
        name = claim.terms.name
        return _row(
            (name or claim.id) if receipt.recurs else "", packed, id=claim.id, name=name, fn=claim.fn, how=how,
            listener=listener, error=error, call=kept_call(claim.args, claim.kwargs),
            log=log_name(claim.occurrence, claim.failures) if failure is not None and failure.log else "",
        )  # fmt: skip

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
            return "dead" if isinstance(outcome, Done | Dead) else None
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
    due_ms, ran = sample.due_ms, sample.ran
    entry = entry_of(due_ms, late_ms=ran.late_ms, took_ms=ran.took_ms, ending="done", attempt=sample.attempt)
    return _row(
        "", entry, id=sample.id, name=sample.name, fn=sample.fn, times=sample.times, listener=listener, call=sample.call
    )


def skip_row(job: Job, *, due_ms: int) -> Record:
    """Make the record of an occurrence that a person leaves out, at its own time."""
    entry, name = entry_of(due_ms, late_ms=0, took_ms=0, ending="skipped"), job.terms.name
    return _row(name or job.id, entry, id=job.id, name=name, fn=job.fn)


def _row(
    field: str, entry: Entry, *, id: str, name: str | None, fn: str, times: int = 1, how: int = MUST,
    listener: str = "", error: str = "", call: str = "", log: str = "",
) -> Record:  # fmt: skip
    """Make a record. `field`: the recurring job that has it in its ring; empty for a single run."""
    row = [field, entry.encode(), times, how, id, name or "", fn[:LONGEST], listener, error[:LONGEST_ERROR]]
    more = (("a", call), ("l", log))
    return row + [part for pair in more if pair[1] for part in pair]


def _brief(failure: Failure) -> str:
    return f"{failure.type}: {failure.message}" if failure.message else failure.type


SUBJECTS = 100  # subjects of one key; further subjects are counted under `more`


def tally_call(keys: Keys, counted: Counted, *, listener: str, history: History, now_ms: int) -> Call:
    """Make the call that stores these counts under the cells of now."""
    script = load("native")["tally"]
    spans = [[KEPT_MS[tier] // 1000, 1 if tier == "1" else SUBJECTS] for tier in TIERS]
    subjects = sorted(counted.cells, key=lambda subject: subject != ALL)
    cells = [[subject, packed_cell(counted.cells[subject])] for subject in subjects]
    samples = [sample_row(one, listener=listener) for one in counted.samples] if history == "full" else []
    slots = tuple(slot(tier, now_ms) for tier in TIERS)
    return script, script.keys(keys, slots=slots), [pack(spans), pack(cells), pack(samples)]
