"""Read a listener's records: a claimed record becomes a claim. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from workkit import wire
from workkit.brokers.native.codec import Codec, at_due, is_once
from workkit.brokers.native.entry import is_ours
from workkit.brokers.native.settle import Receipt
from workkit.contract.listener import BatchEnd, Claim, PastDeadline, Standing, Trouble
from workkit.errors import CorruptRecord, OtherDialect
from workkit.jobs.job import Job
from workkit.jobs.terms import PLAIN, instant_of, of_member
from workkit.triggers.trigger import is_one_second

MARKS, MARKED_MS = 100, 60_000  # cancellations in one heartbeat; for how long heartbeats repeat them
_COUNT = re.compile(rb"\d{1,18}")


def read_claims(
    members: Sequence[bytes],
    payloads: Sequence[bytes | None],
    dues: Sequence[Any],
    told: Sequence[Any],
    *,
    seq: int,
    cancelled: Collection[int],
    listener: str,
    codec: Codec,
    held: dict[bytes, Claim],
) -> list[Claim]:
    """Read the jobs in the answer of `claim.lua`. Put each claim into `held`, under the field of its record. Never
    raises: a record that cannot be read becomes a claim with a trouble.

    `dues`: due texts, each with the number of jobs that have it. The argument after it has places of jobs, from 1, each
    with the id that its item does not show. `cancelled`: the places of cancelled jobs.
    """
    claims: list[Claim] = []
    prefix, is_published = b"%d." % seq, codec.dialect == "published"
    jobs, ids = zip(members, payloads, strict=True), dict(zip(told[::2], told[1::2], strict=True))
    for due, number in zip(dues[::2], dues[1::2], strict=True):
        due_ms = int(due) if due.isdigit() and len(due) < 20 else None
        for member, payload in islice(jobs, number):
            own_id = ids.get(len(claims) + 1) if ids else None
            id = member[7:47] if own_id is None else own_id
            receipt = Receipt(listener, prefix + member, member, due, id, payload)
            claim = None
            if due_ms is not None and own_id is None and payload is not None and is_published and not cancelled:
                plain = wire.read_plain_payload(payload)
                if plain is not None and is_one_second(plain[0]) and (plain[3] is None or is_ours(member)):
                    try:
                        claim = Claim(receipt, codec.describe, id.decode(), plain[1], plain[2], due_ms)
                        claim.batch = plain[3]
                    except ValueError:  # the id is no text
                        pass
            if claim is None:
                claim = _read_with_care(receipt, codec=codec, cancelled=len(claims) + 1 in cancelled)
                receipt.is_bound = receipt.is_bound or own_id is not None
            held[receipt.field] = claim
            claims.append(claim)
    return claims


def _read_with_care(receipt: Receipt, *, codec: Codec, cancelled: bool) -> Claim:
    try:
        return _read_entry(receipt, codec=codec, cancelled=cancelled)
    except Exception as error:  # an error of ours: one record must not stop the listener
        return _unread(receipt, codec, f"reading it failed: {type(error).__name__}: {error}")


def _unread(receipt: Receipt, codec: Codec, reason: str) -> Claim:
    id, entry = receipt.id.decode("utf-8", "replace"), receipt.entry
    fn, trouble = _named(receipt)
    return Claim(
        receipt,
        codec.describe,
        id,
        fn,
        (),
        entry.due_ms,
        attempt=entry.attempt,
        crashes=entry.crashes,
        trouble=trouble,
        reason=reason,
        armed=False,
    )


def _named(receipt: Receipt) -> tuple[str, Trouble]:
    """Read only the function of a job that cannot be read in full: the job may be for a foreign peer."""
    fn = wire.job_of(receipt.payload or b"") if receipt.id else None
    return ("?", "corrupt") if fn is None else (fn, "broken")


def _read_entry(receipt: Receipt, *, codec: Codec, cancelled: bool) -> Claim:
    entry = receipt.entry
    job, trouble, reason = _read(receipt, codec)
    recurs = trouble is None and not is_once(job) and (entry.kind == "o" or job.trigger is not None)
    renewed = recurs and entry.kind == "r"  # a cancelled recurring job has no payload: this one was added again
    if cancelled and trouble in (None, "broken", "foreign") and not renewed:
        trouble, reason, recurs = "cancelled", "cancelled before it started", False
    if cancelled and trouble == "missing" and entry.kind == "o":  # the payload of a recurring job leaves at once
        trouble, reason = "cancelled", "cancelled before it started"
    receipt.recurs = recurs or entry.kind == "o"
    standing, batch = None, job.terms.batch
    if batch is not None and (job.terms != of_member(batch) or not is_ours(entry.item)):
        batch = None
    is_plain = job.terms is PLAIN or batch is not None
    if entry.flags != "-" or not is_plain or receipt.recurs or job.options.crashes == 0:
        slots = tuple(key for key, _ in entry.slots)
        standing = Standing(terms=job.terms, slots=slots, has_begun=entry.has_begun)
        receipt.is_bound, batch = True, None
    receipt.trigger = job.trigger if recurs else None
    return Claim(
        receipt=receipt,
        describe=codec.describe,
        id=job.id,
        fn=job.fn,
        args=job.args,
        kwargs=job.kwargs,
        meta=job.meta,
        options=job.options,
        standing=standing,
        batch=batch,
        due_ms=entry.due_ms,
        attempt=entry.attempt,
        crashes=entry.crashes,
        recurs=receipt.recurs,
        waited=None if entry.flags == "-" else entry.waited,
        trouble=trouble,
        reason=reason,
        armed=trouble != "broken" and (not recurs or entry.kind == "o"),
    )


def _read(receipt: Receipt, codec: Codec) -> tuple[Job, Trouble | None, str | None]:
    id = receipt.id.decode("utf-8", "replace")
    unread = Job(id=id, schedule=codec.schedule, fn="?")
    try:
        if not receipt.id:
            wire.read_item(receipt.member)
            raise CorruptRecord("queue item: no id that the server can read")
        if receipt.payload is None:
            return unread, "missing", f"S:jobs has no {id}"
        return codec.decode(id, receipt.payload), None, None
    except OtherDialect as error:
        return unread, "foreign", str(error)
    except CorruptRecord as error:
        fn, trouble = _named(receipt)
        return replace(unread, fn=fn), trouble, str(error)


def read_late(reply: Sequence[Any], codec: Codec) -> tuple[PastDeadline, ...]:
    """Read the answer of `late.lua`. Leaves out what cannot be read."""
    found, now = [], int(reply[0])
    for name, deadline, payload, due in zip(*(reply[n::4] for n in range(1, 5)), strict=True):
        at = instant_of(int(deadline))
        with suppress(CorruptRecord):
            job = codec.decode(name.partition(b"@")[0].decode("utf-8", "replace"), payload)
            job = at_due(job, int(due)) if due else job
            if at is not None and job.terms.has_deadline:
                found.append(PastDeadline(job=job, deadline=at, is_past=int(deadline) <= now))
    return tuple(found)


def read_ended(pairs: Sequence[bytes]) -> list[tuple[str, BatchEnd]]:
    """Read the batches that a step has ended. Those that it has only cancelled are "cancelling"."""
    ends = [_BATCH_ENDS.get(state, "done") for state in pairs[1::2]]
    return [*zip((name.decode("utf-8", "replace") for name in pairs[::2]), ends, strict=True)]


_BATCH_ENDS: Mapping[bytes, BatchEnd] = {b"x": "cancelled", b"c": "cancelling"}


def heard_upto(marks: Sequence[Any], now_ms: int, *, before: int) -> int:
    """Compute the time after which the next heartbeat asks for cancellations. After many marks (each with its time), it
    asks for those left over. Otherwise it asks for the recent ones again, because a claim may have arrived meanwhile.
    """
    if len(marks) < 2 * MARKS:
        return max(before, now_ms - MARKED_MS)
    newest = int(min(float(marks[-1]), now_ms))  # a mark from the future must not hide others
    return newest - 1 if newest - 1 > before else newest  # others may have the same millisecond


def read_count(text: bytes) -> int | None:
    """Read a count of `S:stats` or `S:counts`; None if it is no count."""
    return int(text) if _COUNT.fullmatch(text) else None
