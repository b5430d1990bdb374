"""What each outcome does to the keys, as the map that `settle.lua` applies. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any

import msgpack

from workkit.broker import Claim
from workkit.brokers.native.entry import Entry, read_entry
from workkit.jobs.outcome import DONE, Again, Dead, Done, Failure, Outcome, Released
from workkit.triggers import Trigger


@dataclass(slots=True, eq=False)
class Receipt:
    """What a claim of the native layout is settled by: the record's field in the hash of `listener`, and its bytes.

    `due` is the text of the score where `member` is a regular item, empty where it is an entry.
    """

    listener: str
    field: bytes
    member: bytes
    due: bytes
    id: bytes
    payload: bytes | None
    recurs: bool = False
    trigger: Trigger | None = None  # of a recurring one
    admitted: bool = False

    @property
    def entry(self) -> Entry:
        """The record as an entry, whatever it was before."""
        found = read_entry(self.member) if not self.due else None
        found = found or Entry(due=self.due.decode("ascii") or "0", item=self.member)
        return replace(found, kind="o") if self.admitted else found

    @property
    def occurrence(self) -> str:
        """The run that is owed: ``<job id>@<due ms>``, and the nonce where there is one."""
        return occurrence(self.id.decode("utf-8", "replace"), self.entry)


def occurrence(id: str, entry: Entry) -> str:
    """The name of a run that is owed."""
    nonce = entry.flags.partition("#")[2]
    return f"{id}@{entry.due_ms}" + (f"#{nonce}" if nonce else "")


def read_failure(kept: list[Any] | None) -> Failure:
    """A failure as `S:errors` and `S:graves` keep it."""
    type_, message, where, traceback, *_ = kept or ["?", "", None, ""]
    return Failure(type=type_, message=message, where=where, traceback=traceback)


def is_plain(claim: Claim, outcome: Outcome) -> bool:
    """The usual ending, which needs no map: a one-shot at its first attempt, done."""
    return outcome is DONE and not (claim.attempt or claim.trouble or claim.receipt.recurs)


def ending(claim: Claim, outcome: Outcome) -> dict[str, Any]:
    """The map for one ending. A claim in trouble ends by its trouble, whatever the outcome says."""
    receipt: Receipt = claim.receipt
    out: dict[str, Any] = {"receipt": receipt.field}
    match claim.trouble:
        case "missing" | "cancelled":
            return out | _over(receipt) | {"count": claim.trouble}
        case "corrupt":
            failure = Failure(type="CorruptRecord", message=claim.reason or "")
            return out | _over(receipt) | _buried(claim, failure, "corrupt") | {"count": "corrupt"}
    match outcome:
        case Done(discarded=reason):
            return out | _over(receipt) | {"count": "done" if reason is None else "discarded"}
        case Dead(failure=failure, reason=reason):
            return out | _over(receipt) | _buried(claim, failure, reason) | {"count": "dead"}
        case Again(delay_ms=delay, attempt=attempt, failure=failed):
            entry = replace(receipt.entry, attempt=attempt)
            out |= {"again": [entry.encode(), delay], "count": "retried"}
            return out | ({"error": [receipt.occurrence, _packed(failed)]} if failed else {})
        case Released(delay_ms=delay, unknown=unknown):
            return out | _back(receipt, delay) | ({"skip": receipt.id} if unknown else {})


def _over(receipt: Receipt) -> dict[str, Any]:
    """The occurrence is over: a recurring one is closed, the payload of a one-shot goes."""
    over: dict[str, Any] = {"error": [receipt.occurrence, ""]} if receipt.entry.attempt else {}
    if receipt.entry.kind == "o":
        return over | {"close": [receipt.id, receipt.occurrence]}
    return over | ({"drop": receipt.id} if receipt.id else {})


def _back(receipt: Receipt, delay_ms: int) -> dict[str, Any]:
    """Given back: a regular item that nothing is known of returns to the published queue, so that foreign peers see
    it; what carries counts, or is one occurrence of a chain that goes on, waits among our own.
    """
    entry = receipt.entry
    if entry.kind == "r" and not entry.attempt and not entry.crashes:
        return {"next": [entry.item, entry.due, delay_ms]}
    return {"again": [entry.encode(), delay_ms]}


def _buried(claim: Claim, failure: Failure, reason: str) -> dict[str, Any]:
    receipt: Receipt = claim.receipt
    bytes_of_it = receipt.payload or receipt.entry.item
    dead_id = receipt.occurrence if receipt.id else sha1(bytes_of_it, usedforsecurity=False).hexdigest()
    return {"dead": [dead_id, write_grave(receipt.id, receipt.payload, receipt.entry, failure=failure, reason=reason)]}


def write_grave(id: bytes, payload: bytes | None, entry: Entry, *, failure: Failure, reason: str) -> bytes:
    """What `S:graves` keeps of an occurrence."""
    grave = {
        "id": id,
        "payload": payload,
        "member": entry.item,
        "kind": entry.kind,
        "flags": entry.flags,
        "due": entry.due_ms,
        "attempt": entry.attempt,
        "reason": reason,
        "error": [failure.type, failure.message, failure.where, failure.traceback],
    }
    return bytes(msgpack.packb(grave, unicode_errors="surrogatepass"))


def _packed(failure: Failure) -> bytes:
    kept = [failure.type, failure.message, failure.where, failure.traceback, time.time()]
    return bytes(msgpack.packb(kept, unicode_errors="surrogatepass"))
