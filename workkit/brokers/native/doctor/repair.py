"""Repair what is safe to repair: one value for each kind of trouble, and the step that repairs it.

Every repair checks again in the step that changes something, so it changes nothing if the trouble is over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha1
from typing import Any, Literal, assert_never

from workkit import wire
from workkit.brokers.native.change.pauses import Pauses
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.entry import Entry, item_id, read_entry
from workkit.brokers.native.look.published import Places
from workkit.brokers.native.settle import occurrence, write_grave
from workkit.brokers.redis_server.checks.unread import Garbled
from workkit.brokers.redis_server.control import LAST_MS
from workkit.brokers.redis_server.script import load
from workkit.errors import CorruptRecord
from workkit.jobs.outcome import Failure

Trouble = Literal["unreadable", "absent", "score"]
MOST_MOVED = 500  # records in one step
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Loose:
    """A job, an occurrence or a mark to which nothing refers. `stray` is its map for `repair.lua`. `lost` are unlisted
    listeners that hold records. For `wide` see `Places.repair`.
    """

    stray: Mapping[str, Any]
    wide: bool = False
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A job whose payload cannot be read, the digest of that payload, and its items in `S:next`."""

    id: bytes
    digest: str
    items: tuple[tuple[bytes, float], ...] = ()
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Misplaced:
    """An item of `S:next` that a listener cannot claim as it should. `reason`: why it cannot be read."""

    item: bytes
    score: float
    trouble: Trouble
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlisted:
    """A listener that holds records and is not listed; or, with a `beat`, one that is listed and holds nothing."""

    listener: str
    beat: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parted:
    """A target whose pause has ended, while jobs are still parked under it."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Entries of `S:again` that no listener has admitted, and that have no attempt: no foreign peer sees them there."""

    entries: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A key of results without a time to live."""

    key: bytes


Subject = Loose | Unreadable | Misplaced | Unlisted | Parted | Garbled | Hidden | Endless


def repair(places: Places, subject: Subject) -> bool:
    """Repair one thing. False: the trouble is over, or cannot be repaired."""
    match subject:
        case Loose(stray=stray, wide=wide, lost=lost):
            return replace(places, lost=lost).repair([stray], wide=wide)[0]
        case Unreadable():
            return _bury(places, subject)
        case Misplaced():
            return _replace(places, subject)
        case Unlisted(listener=listener, beat=beat):
            return _take_back(places, listener, beat)
        case Parted(target=target):
            return Pauses(server=places.server, keys=places.keys, codec=places.codec).put_back(target)
        case Garbled(key=key, kind=kind, name=name, value=value):
            return _tidy(places, key, [kind, name, value])
        case Hidden(entries=entries):
            return _restore(places, entries)
        case Endless(key=key):
            return _end(places, key)
    assert_never(subject)


def due_again(codec: Codec, id: bytes, payload: bytes, *, now_ms: int) -> int | None:
    """Find when a job to which nothing refers should run: its next time, or None (at once) if it has none.

    Raises CorruptRecord.
    """
    trigger = codec.decode(id.decode("utf-8", "replace"), payload).trigger
    return None if trigger is None else trigger.next_after_ms(now_ms)


def queue_text(id: bytes) -> bytes:
    """Write the item of a job, also for an id that workkit would not write. Raises UnicodeDecodeError if the id is no
    text.
    """
    return json.dumps({"id": id.decode("utf-8")}, separators=(",", ":")).encode("ascii")


def _bury(places: Places, found: Unreadable) -> bool:
    payload = places.payload(found.id)
    if payload is None:
        return False
    if not found.items and not places.repair([{"id": found.id}], wide=True)[0]:
        return _hurried(places, found.id)
    item, score = found.items[0] if found.items else (b"", 0.0)
    grave = _grave(found.id, payload, Entry(due=_text(score), item=item), found.reason)
    dead_id = occurrence(found.id.decode("utf-8", "replace"), Entry(due=_text(score), item=item))
    return _buried(places, [found.id, found.digest, dead_id, grave, *(member for member, _ in found.items)])


def _hurried(places: Places, id: bytes) -> bool:
    """Make the entries of a job in `S:again` due now: a listener that claims one buries it. False: no entry waits
    there, and a listener holds the job.
    """
    key, any_waits = places.keys.again, False
    for page in places.scored_pages(key):
        for text, score in page:
            entry = read_entry(text)
            if entry is not None and item_id(entry.item) == id and score > places.now_ms:
                any_waits = _tidy(places, key, ["due", text, repr(score)]) or any_waits
    return any_waits


def _replace(places: Places, found: Misplaced) -> bool:
    """Give an item of a job another due time, remove an item without a job, and bury one that cannot be read."""
    id = item_id(found.item)
    if id is None:
        dead_id = sha1(found.item, usedforsecurity=False).hexdigest()
        grave = _grave(b"", None, Entry(due=_text(found.score), item=found.item), found.reason)
        return _buried(places, ["", "", dead_id, grave, found.item])
    if found.trouble == "absent":
        return _reschedule(places, found, id, "-")
    payload = places.payload(id)
    if payload is None:
        return False
    try:
        due = due_again(places.codec, id, payload, now_ms=places.now_ms)
    except CorruptRecord as error:
        if (
            wire.job_of(payload) is not None
        ):  # a foreign peer may run it; only a listener with its function may judge it
            whole = math.floor(found.score) if 0 <= found.score <= LAST_MS else ""
            return _reschedule(places, found, id, whole)
        digest = sha1(payload, usedforsecurity=False).hexdigest()
        unread = Unreadable(id=id, digest=digest, items=((found.item, found.score),), reason=str(error))
        return _bury(places, unread)
    return _reschedule(places, found, id, "" if due is None else due)


def _reschedule(places: Places, found: Misplaced, id: bytes, due: int | str) -> bool:
    script = load("native")["reschedule"]
    args = [found.item, repr(found.score), id, due, "", "", ""]
    return bool(places.server.call(script, script.keys(places.keys), args))


def _buried(places: Places, args: list[Any]) -> bool:
    bury = load("native")["bury"]
    return bool(places.server.call(bury, bury.keys(places.keys), args))


def _tidy(places: Places, key: str, args: list[Any]) -> bool:
    tidy = load("native")["tidy"]
    return bool(places.server.call(tidy, tidy.keys(places.keys, key=key), args))


def _take_back(places: Places, listener: str, beat: float | None) -> bool:
    """Hand the records of a listener back as `reap` does. List an unlisted one first, with a very old heartbeat."""
    k = places.keys
    raw = listener.encode()
    if beat is None:
        beat = 1.0
        with places.server.translated() as client:
            if not client.exists(k.running(listener)):
                return False
            client.zadd(k.listeners, {raw: beat}, nx=True)
    elif _tidy(places, k.listeners, ["due", raw, repr(beat)]):
        beat = 0.0  # it holds nothing, so the age of its heartbeat does not matter
    reap = load("native")["reap"]
    while True:
        reply = places.server.call(reap, reap.keys(k, listener=listener), [raw, repr(beat), 0, MOST_MOVED])
        if reply[0] == b"alive":
            return False
        if not int(reply[1]):
            return True


def _restore(places: Places, entries: tuple[bytes, ...]) -> bool:
    script, moved = load("native")["restore"], 0
    for start in range(0, len(entries), MOST_MOVED):
        moved += int(places.server.call(script, script.keys(places.keys), entries[start : start + MOST_MOVED]))
    return moved > 0


def _end(places: Places, key: bytes) -> bool:
    """Let a key expire a day from now: it is not known for how long it was wanted."""
    with places.server.translated() as client:
        return client.pttl(key) == -1 and bool(client.pexpire(key, DAY_MS))


def _grave(id: bytes, payload: bytes | None, entry: Entry, reason: str) -> bytes:
    """Write the record of the dead set, as `settle` writes it for a job that a listener cannot read."""
    failure = Failure(type="CorruptRecord", message=reason)
    return write_grave(id, payload, entry, failure=failure, reason="corrupt")


def _text(score: float) -> str:
    return f"{score:.0f}" if abs(score) < 1e17 else str(score)
