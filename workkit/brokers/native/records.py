"""What a listener holds, read: a claimed record to a claim, and when a recurring job runs next. Pure."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import msgpack

from workkit import wire
from workkit.broker import Claim, ListenerInfo, Trouble
from workkit.brokers.native.codec import Codec, at, is_once
from workkit.brokers.native.endings import Receipt
from workkit.brokers.native.entry import Entry, read_entry
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job

PADDED = 65  # bytes; a shorter field would leave the record hash in its packed form, slower per job


@dataclass(frozen=True, slots=True)
class Record:
    """One job as `claim.lua` answers it."""

    listener: str
    seq: int
    member: bytes
    due: bytes
    id: bytes
    payload: bytes | None


def read_claim(record: Record, *, codec: Codec, cancelled: bool) -> Claim:
    """A claim from a record, whatever stands in it: what cannot be read becomes its trouble, never an exception."""
    entry = read_entry(record.member) if not record.due else None
    entry = entry or Entry(due=record.due.decode("ascii") or "0", item=record.member)
    receipt = Receipt(
        listener=record.listener,
        field=b"%d." % record.seq + record.member,
        id=record.id,
        entry=entry,
        payload=record.payload,
    )
    job, trouble, reason = _read(record, codec)
    if cancelled and trouble is None:
        trouble, reason = "cancelled", "cancelled before it started"
    recurs = trouble is None and not is_once(job) and (entry.kind == "o" or job.trigger is not None)
    return Claim(
        job=at(job, entry.due_ms, state="running", attempt=entry.attempt),
        receipt=replace(receipt, recurs=recurs or entry.kind == "o"),
        due_ms=entry.due_ms,
        crashes=entry.crashes,
        trouble=trouble,
        reason=reason,
        armed=not recurs or entry.kind == "o",
    )


def _read(record: Record, codec: Codec) -> tuple[Job, Trouble | None, str | None]:
    id = record.id.decode("utf-8", "replace")
    unread = Job(id=id, schedule=codec.schedule, fn="?")
    try:
        if not record.id:
            wire.read_item(record.member)
            raise CorruptRecord("queue item: no id that the server can read")
        if record.payload is None:
            return unread, "missing", f"S:jobs has no {id}"
        return codec.decode(id, record.payload), None, None
    except CorruptRecord as error:
        return unread, "corrupt", str(error)


def next_due(claim: Claim, *, now_ms: int) -> int | None:
    """When a recurring job is due next: strictly after its due time and now, so that missed ticks make one late run."""
    trigger = claim.job.trigger
    return None if trigger is None else trigger.next_after_ms(max(claim.due_ms, now_ms))


def write_info(info: ListenerInfo) -> bytes:
    """A listener's description as it stands in its record hash. `up_ms` is not kept; when it began is."""
    fields = [info.host, info.pid, info.version, info.schedules, info.threads, info.state, round(time.time() * 1000)]
    packed = bytes(msgpack.packb(fields))
    return packed if len(packed) >= PADDED else bytes(msgpack.packb([*fields, "." * PADDED]))


def read_info(packed: bytes | None, *, listener: str, now_ms: int) -> ListenerInfo:
    """The inverse; of a listener that is being taken apart, what its name tells."""
    if packed is None:
        return ListenerInfo(
            listener=listener, host=listener.partition(":")[0], pid=0, version="?", schedules={}, threads=0
        )
    host, pid, version, schedules, threads, state, began, *_ = msgpack.unpackb(packed)
    return ListenerInfo(
        listener=listener,
        host=host,
        pid=pid,
        version=version,
        schedules=schedules,
        threads=threads,
        state=state,
        up_ms=max(0, now_ms - began),
    )
