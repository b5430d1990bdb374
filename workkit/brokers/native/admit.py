"""What `admit.lua` gets for each claim: its map, and what the claim becomes if it may start. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit.brokers.native.entry import Entry, rate_flag, slot_flag, waited_flag
from workkit.brokers.native.settle import TO_THE_END, Receipt
from workkit.contract.listener import Claim, Standing
from workkit.jobs.admission import NOTHING, Admission
from workkit.jobs.terms import is_missed, next_run, spread_offset_ms


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """One claim of an admission: its map, the claim once it is admitted, and the next due time (None: never)."""

    before: Claim
    after: Claim
    next_due_ms: int | None
    packed: bytes


def admission_request(
    claim: Claim, wanted: Admission | None, *, now_ms: int, is_now: bool, listener: str | None = None
) -> AdmissionRequest:
    """Make the request for one claim. `now_ms` is by the server's clock if `is_now`; else the caller names a time.
    `listener`: who records what does not run; None if nothing is recorded.
    """
    wanted, receipt = wanted or NOTHING, claim.receipt
    entry: Entry = receipt.entry
    has, needs = dict(entry.slots), dict(wanted.keys)
    turns = () if entry.is_paid and not is_now else wanted.turns  # a pretended time needs no check at the start
    kept = {key: limit for key, limit in has.items() if key.startswith(TO_THE_END)}
    flags = entry.with_flags(slots=wanted.keys, is_paid=entry.is_paid or bool(turns), has_begun=wanted.marks)
    after = replace(entry, kind="o" if receipt.recurs else entry.kind, flags=flags)
    as_parked = replace(entry, flags=entry.with_flags(slots=kept.items(), is_paid=entry.is_paid))
    asked: dict[str, Any] = {
        "receipt": receipt.field,
        "id": receipt.id,
        "run": receipt.occurrence,
        "full": after.encode(),
        "head": after.head + (f"{waited_flag(claim.waited)};" if claim.waited else ""),
        "tail": b" " + entry.item,
        "nonce": entry.nonce,
        "paid": entry.is_paid,
        "turns": [part for turn in turns for part in turn],
        "rates": [rate_flag(*turn) for turn in turns],
        "keys": [[key, limit, slot_flag(key, limit), int(key in has)] for key, limit in needs.items()],
        "drops": [key for key in has if key not in needs],
        "pause": wanted.pause,
        "as": as_parked.encode(),
        "gives": [key for key in has if key not in kept],
        "overlap": wanted.overlap,
        "frees": wanted.frees,
    }
    if receipt.recurs and listener is not None:
        asked["ring"] = [claim.terms.name or claim.id, listener]
    if wanted.overlap:
        asked["missed"] = [receipt.id, claim.terms.name or "", claim.fn, claim.due_ms]
    next_due = None
    if not claim.armed:
        next_due = _chain(asked, claim, receipt, entry, now_ms, is_now)
    packed = bytes(msgpack.packb(_said(asked), use_bin_type=False, unicode_errors="surrogatepass"))
    standing = Standing(terms=claim.terms, slots=tuple(needs))
    armed = replace(claim, armed=True, standing=standing)
    return AdmissionRequest(
        before=claim,
        after=replace(armed, receipt=replace(receipt, admitted=after, is_bound=True)),
        next_due_ms=next_due,
        packed=packed,
    )


def _chain(
    asked: dict[str, Any], claim: Claim, receipt: Receipt, entry: Entry, now_ms: int, is_now: bool
) -> int | None:
    """Add the next occurrence, and the ticks that did not run, to the map. Returns the next due time."""
    terms = claim.terms
    offset = spread_offset_ms(terms, claim.fn, claim.args)
    assert receipt.trigger is not None, "it recurs"
    following = next_run(receipt.trigger, due_ms=claim.due_ms, now_ms=now_ms, terms=terms, offset_ms=offset)
    is_late = is_missed(due_ms=claim.due_ms, now_ms=now_ms, terms=terms)
    may_be_past = is_late or terms.catch_up == "all" or not is_now
    asked["chain"] = [entry.item, "" if following.due_ms is None else following.due_ms, int(may_be_past)]
    asked["first"], asked["count"] = terms.priority, terms.count
    asked["times"] = following.missed
    asked["late"] = is_late
    if is_late or following.missed:
        asked["missed"] = [receipt.id, terms.name or "", claim.fn, claim.due_ms]
    return following.due_ms


def _said(asked: dict[str, Any]) -> dict[str, Any]:
    """Leave out fields that do not apply: Lua would get a nil as an entry of the map."""
    return {field: value for field, value in asked.items() if value is not None and value is not False}
