"""Make the requests of `admit.lua`, one for each claim, and the maps that `settle.lua` applies: the effect of each
outcome on the keys. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any

import msgpack

from workkit.brokers.native.codec import Codec, is_follower
from workkit.brokers.native.entry import Entry, rate_flag, read_entry, regular, slot_flag, waited_flag
from workkit.brokers.redis_server.control import pack
from workkit.contract.listener import Claim, Standing, Trouble, Waited
from workkit.contract.producer import NewJob
from workkit.jobs.admission import NOTHING, Admission
from workkit.jobs.outcome import CANCELLED, Again, Dead, Done, Failure, Outcome, Released
from workkit.jobs.terms import deadline_ms, is_missed, next_run, spread_offset_ms
from workkit.text.wording import printable
from workkit.triggers import Trigger

DEAD_KEPT, DEAD_KEPT_MS = 10_000, 90 * 86_400_000  # kept in each dead set, or shard of it: jobs, and ms
TO_THE_END = ("over:", "unique:")
UNREAD: tuple[Trouble, ...] = ("corrupt", "broken", "foreign")  # the payload could not be read


@dataclass(slots=True, eq=False)
class Receipt:
    """The receipt of a claim of the native layout, which settles it: the field of its record in the hash of `listener`,
    and the bytes of the record.

    `due` is the text of the score if `member` is a regular item, and empty if it is an entry.
    """

    listener: str
    field: bytes
    member: bytes
    due: bytes
    id: bytes
    payload: bytes | None
    recurs: bool = False
    is_bound: bool = False  # its ending changes more than its own payload, or its record has no item of our form
    trigger: Trigger | None = None  # the trigger of a recurring job
    admitted: Entry | None = None  # the record after its admission

    @property
    def entry(self) -> Entry:
        """The record as an entry, even if it was a regular item before."""
        if self.admitted is not None:
            return self.admitted
        found = read_entry(self.member) if not self.due else None
        return found or regular(self.member, due=self.due)

    @property
    def occurrence(self) -> str:
        """The name of the occurrence: ``<job id>@<due ms>``, and the nonce if there is one."""
        return occurrence(self.id.decode("utf-8", "replace"), self.entry)


def occurrence(id: str, entry: Entry) -> str:
    """Write the name of an occurrence."""
    return f"{id}@{entry.due_ms}{entry.nonce}"


def log_name(occurrence: str, failures: int) -> str:
    """Name the log of a run in `S:logs`: by its occurrence, without its nonce, and the number of failed attempts before
    it.
    """
    id, at, due = occurrence.rpartition("@")
    return f"{id}{at}{due.partition('#')[0]}.{failures}"


def is_failure(kept: object) -> bool:
    """Say whether a stored value is a failure."""
    return read_failure(kept) is not _UNKNOWN


def read_failure(kept: object) -> Failure:
    """Read a failure of `S:errors` or `S:graves`; an unknown failure if the value is none."""
    match kept:
        case [str(type_), str(message), str() | None as where, str(traceback), *_]:
            return Failure(type=type_, message=message, where=where, traceback=traceback)
    return _UNKNOWN


_UNKNOWN = Failure(type="?", message="")


def ending(claim: Claim, outcome: Outcome, *, now_ms: int, codec: Codec) -> dict[str, Any]:
    """Make the map for one ending, at `now_ms` of the server's clock. A claim with a trouble ends by that trouble,
    whatever its outcome is. But if its function can be read, it may be released.
    """
    receipt: Receipt = claim.receipt
    out: dict[str, Any] = {"receipt": receipt.field}
    trouble = None if claim.trouble == "broken" and isinstance(outcome, Released) else claim.trouble
    match trouble:
        case "missing" | "cancelled":
            over = _over(claim)
            if trouble == "missing":
                over.pop("drop", None)  # a payload under its id now was added later
            return out | over | {"count": trouble}
        case "corrupt" | "broken":
            failure = Failure(type="CorruptRecord", message=claim.reason or "")
            follower = outcome.follower if isinstance(outcome, Dead) else None
            dead = Dead(failure=failure, reason="corrupt", follower=follower)
            return out | _over(claim) | _buried(claim, dead, now_ms, codec) | {"count": "corrupt"}
    match outcome:
        case Done(expired=True):
            return out | _over(claim) | {"count": "expired"}
        case Done(discarded=reason):
            over = _over(claim) | ({"how": CANCELLED} if reason is not None and reason.startswith(CANCELLED) else {})
            return out | over | {"count": "done" if reason is None else "discarded"}
        case Dead(failure=failure):
            out |= _over(claim) | {"count": "dead"}
            return out | _buried(claim, outcome, now_ms, codec) | _logged(claim, failure, now_ms)
        case Again(delay_ms=delay, attempt=attempt, failure=failed):
            entry, kept = receipt.entry, _kept(receipt)
            out |= {} if outcome.is_wait else {"count": "retried"}
            out |= _freed(receipt, set(entry.slots).difference(kept))
            if outcome.is_wait or claim.waited is not None:
                entry = replace(entry, flags=waited_flag(_waited(claim, outcome, now_ms + delay)) + entry.nonce)
            entry = replace(entry, attempt=attempt)
            entry = replace(entry, flags=entry.with_flags(slots=kept))
            out |= {"again": [entry.encode(), delay]}
            return out | _error(claim, failed, now_ms)
        case Released(delay_ms=delay, unknown=unknown, unfit_ms=unfit):
            out |= _back(claim, 0 if unfit else delay) | _freed(
                receipt, set(receipt.entry.slots).difference(_kept(receipt))
            )
            return out | ({"skip": receipt.id} if unknown or unfit else {})


def _error(claim: Claim, failure: Failure | None, now_ms: int) -> dict[str, Any]:
    """Keep the error of a failed attempt, and the log of its run."""
    if failure is None:
        return {}
    error = {"error": [claim.receipt.occurrence, _packed(failure, now_ms)]}
    return error | _logged(claim, failure, now_ms)


def _logged(claim: Claim, failure: Failure, now_ms: int) -> dict[str, Any]:
    return {"log": log_row(claim, failure.log, now_ms)[1:]} if failure.log else {}


def log_row(claim: Claim, text: str, now_ms: int) -> list[Any]:
    """Write the log of a run as `log` takes it: the field of its record, its name in `S:logs`, and its value."""
    return [claim.receipt.field, log_name(claim.occurrence, claim.failures), text and f"{now_ms} {text}"]


def deadline_row(job: NewJob, now_ms: Callable[[], int]) -> dict[str, int]:
    """Write the deadline of a new job as `put.lua` takes it; empty if it has none. `now_ms`: for a job that is due at
    once.
    """
    terms = job.terms
    if terms.within_ms is not None:
        return {"within": terms.within_ms}
    if terms.done_by is None:
        return {}
    by = deadline_ms(terms, now_ms() if job.due_ms is None else job.due_ms)
    return {} if by is None else {"by": by}


def deadline_name(id: str, due_ms: int | None, *, recurs: bool) -> str:
    """Name the deadline of a run in `S:deadlines`."""
    return f"{id}@{due_ms}" if recurs else id


def _deadline(claim: Claim, next_due_ms: int | None) -> list[Any] | None:
    """Write the deadlines of a claim and of the next occurrence as `admit.lua` takes them."""
    found = []
    for due_ms in (claim.due_ms, next_due_ms):
        if due_ms is not None and (by := deadline_ms(claim.terms, due_ms)) is not None:
            found += [deadline_name(claim.id, due_ms, recurs=claim.recurs), by]
    return found or None


def read_log(value: bytes | None) -> list[str]:
    """Read the lines of a run; empty if the value holds none."""
    when, _, text = (value or b"").partition(b" ")
    return text.decode("utf-8", "replace").split("\n") if when.isdigit() and text else []


def _waited(claim: Claim, outcome: Again, until_ms: int) -> Waited:
    """Return how often the runs of an occurrence have asked to wait, and for a wait until when, with its progress."""
    before = claim.waited or Waited(0)
    if not outcome.is_wait:
        return Waited(before.times)
    return Waited(before.times + 1, until_ms, before.progress if outcome.progress is None else outcome.progress)


def _kept(receipt: Receipt) -> list[tuple[str, int]]:
    """Find the slots that an occurrence keeps until it is over, so that no other run of its job or key starts."""
    return [slot for slot in receipt.entry.slots if slot[0].startswith(TO_THE_END)]


def _over(claim: Claim) -> dict[str, Any]:
    """End an occurrence: close one of a recurring job, remove the payload of a one-shot, and free its slots."""
    receipt: Receipt = claim.receipt
    entry, terms = receipt.entry, claim.terms
    over: dict[str, Any] = {"error": [receipt.occurrence, ""]} if entry.attempt else {}
    over |= _freed(receipt, entry.slots)
    of_it = (
        ("unique", terms.unique_key), ("name", terms.name), ("tags", terms.tags), ("once_key", terms.once_key),
        ("batch", terms.batch), ("after", terms.after),
    )  # fmt: skip
    over |= {field: value for field, value in of_it if value is not None}
    if claim.trouble in UNREAD:
        over["unread"] = 1
    if entry.kind == "o":
        return over | {"close": [receipt.id, receipt.occurrence]}
    return over | ({"drop": receipt.id} if receipt.id else {})


def _freed(receipt: Receipt, slots: Iterable[tuple[str, int]]) -> dict[str, Any]:
    free = [key for key, _ in slots]
    return {"free": [receipt.occurrence, *free]} if free else {}


def _back(claim: Claim, delay_ms: int) -> dict[str, Any]:
    """Give an occurrence back. If no listener has admitted it and it has no attempt, it returns to `S:next` at its own
    due time, so that foreign peers see it. It goes to `S:again` if it has attempts, slots or a turn, if it is admitted
    and recurs, or if it must wait for a while.
    """
    entry = claim.receipt.entry
    entry = replace(entry, flags=entry.with_flags(slots=_kept(claim.receipt), is_paid=entry.is_paid))
    if entry.is_regular and not delay_ms:
        first = {"first": claim.terms.priority} if claim.terms.priority else {}
        return {"next": [entry.item, entry.due, entry.crashes]} | first
    return {"again": [entry.encode(), delay_ms]}


def _buried(claim: Claim, dead: Dead, now_ms: int, codec: Codec) -> dict[str, Any]:
    """Bury an occurrence, and add the job that follows it, if there is one."""
    receipt: Receipt = claim.receipt
    bytes_of_it = receipt.payload or receipt.entry.item
    dead_id = receipt.occurrence if receipt.id else sha1(bytes_of_it, usedforsecurity=False).hexdigest()
    more: dict[str, Any] = {}
    if dead.follower is not None and not is_follower(receipt.payload):
        id = receipt.id.decode("utf-8", "replace") or dead_id
        more["follower"] = codec.follower(
            dead.follower, [id, printable(dead.failure.line)], dead_id=dead_id, meta=claim.meta, now_ms=now_ms
        )
    follower = more["follower"][0] if more else ""
    grave = write_grave(
        receipt.id, receipt.payload, receipt.entry, failure=dead.failure, reason=dead.reason, follower=follower
    )
    return more | {"dead": [dead_id, grave]}


def write_grave(
    id: bytes, payload: bytes | None, entry: Entry, *, failure: Failure, reason: str, follower: str = ""
) -> bytes:
    """Write the record of an occurrence for `S:graves`. `follower`: the id of the job that follows it."""
    grave = {
        "id": id,
        "payload": payload,
        "member": entry.item,
        "kind": entry.kind,
        "flags": entry.flags,
        "due": entry.due_ms,
        "attempt": entry.failures,
        "reason": reason,
        "error": [failure.type, failure.message, failure.where, failure.traceback],
    }
    if follower:
        grave["follower"] = follower
    return bytes(msgpack.packb(grave, unicode_errors="surrogatepass"))


def _packed(failure: Failure, now_ms: int) -> bytes:
    kept = [failure.type, failure.message, failure.where, failure.traceback, now_ms / 1000]
    return bytes(msgpack.packb(kept, unicode_errors="surrogatepass"))


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
    """Make the request for one claim. `now_ms` is by the server's clock if `is_now`; otherwise the caller names a time.
    `listener`: who records occurrences that do not run; None if nothing is recorded.
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
        "level": (claim.terms.priority or 0) if turns else None,
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
    if claim.terms.has_deadline:
        asked["by"] = _deadline(claim, next_due)
    packed = pack(_said(asked))
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
    """Add the next occurrence, and the ticks that did not run, to the map. Return the next due time."""
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
