"""The doctor of the Redis beside an exchange, and of its keys there: remains of dead listeners, and unreadable values.

Every repair checks again in the step that changes something, so it changes nothing if the fault is over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, Literal

from workkit.brokers.doctor import UNCHECKED, kinds_of
from workkit.brokers.hutch.beside.keys import UNIQUE_MS
from workkit.brokers.hutch.beside.place import Beside, is_record
from workkit.brokers.hutch.topology import LONGEST_MS as LONGEST_DELAY_MS
from workkit.brokers.redis_server import our_keys
from workkit.brokers.redis_server.control import is_control, is_info, read_said
from workkit.brokers.redis_server.doctor import clock, host, scripts, tried, wrong_types
from workkit.brokers.redis_server.our_keys import (
    STALE_MS,
    Endless,
    Garbled,
    Peer,
    UnreadKeys,
    judge_peers,
    read_peer,
    too_many_keys,
)
from workkit.brokers.redis_server.pages import (
    PAGE,
    hash_pages,
    is_text,
    names_behind,
    piped,
    scored_pages,
    server_ms,
)
from workkit.brokers.redis_server.script import load
from workkit.contract.doctor import Finding, Kind
from workkit.errors import ServerUnreachable
from workkit.jobs.option_readers import LONGEST_MS
from workkit.text.cells import brief_bytes, bytes_text

WRONG_TYPE = "The server refuses every request that needs this key, so listeners take no messages."
SETS = ("listeners", "slots", "rates", "unique_until")  # sorted sets
HASHES = ("control", "begun", "counted", "crashes", "unique", "doubted")


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideDoctor:
    """Checks the keys of one exchange. Reads in pages of 500."""

    beside: Beside
    exchange: str

    def findings(self) -> Iterator[Finding]:
        """Yield the faults. A Redis that does not answer is a finding, not an error."""
        try:
            yield from self._looked()
        except ServerUnreachable as error:
            yield UNCHECKED.found(
                f"the Redis beside it could not be checked: {str(error).rstrip('.')}",
                "start it again, or correct its address",
                why="Without it listeners take no messages, and nobody can add jobs with a unique key.",
                about=("redis",),
            )

    def repair(self, subject: Silent | Left | Endless | Garbled) -> bool:
        """Repair one fault. Returns False if the fault is over. Raises ServerUnreachable, ServerRefused."""
        if isinstance(subject, Garbled):
            return bool(self.beside.call("tidy", [subject.kind, subject.name, subject.value], key=subject.key))
        return subject.repair(self.beside)

    def _looked(self) -> Iterator[Finding]:
        server, beside = self.beside.server, self.beside
        yield from self._tried("the clock of the Redis beside", lambda: clock(server))
        yield from self._tried("the state of the Redis beside", self._host)
        yield from self._tried("whether scripts may run there", lambda: scripts(server, load("hutch")["declare"]))
        wrong: list[Finding] = []
        yield from self._tried("the types of its keys", lambda: self._types(wrong))
        if wrong:
            return  # all further checks need most of these commands
        now_ms = server_ms(server)
        yield from self._tried("the listeners there", lambda: listeners(beside, now_ms))
        yield from self._tried("what runs have left", lambda: runs(beside))
        yield from self._tried("whether crashes expire", lambda: expiries(beside))
        yield from self._tried("whether everything there can be read", lambda: unread(beside, now_ms))

    def _host(self) -> Iterator[Finding]:
        found = host(self.beside.server, self.exchange).findings()
        return (finding for finding in found if finding.kind != "cluster-tag")  # the keys share a hash tag of their own

    def _types(self, wrong: list[Finding]) -> Iterator[Finding]:
        k = self.beside.keys
        expected = {getattr(k, name): "zset" for name in SETS} | {getattr(k, name): "hash" for name in HASHES}
        with self.beside.server.translated() as client:
            is_set = client.type(k.listeners) == b"zset"
        listed = _listed(self.beside) if is_set else []
        expected |= {key(name): "hash" for key in (k.running, k.progress) for name in listed}
        wrong += wrong_types(self.beside.server, expected, why=WRONG_TYPE)
        yield from wrong

    def _tried(self, what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
        yield from tried(self.beside.server, what, look)


def _listed(beside: Beside) -> dict[str, float]:
    with beside.server.translated() as client:
        found = client.zrange(beside.keys.listeners, 0, -1, withscores=True)
    return {name.decode(): float(beat) for name, beat in found if is_text(name)}


# Listeners.

STALE = Kind(
    "stale", "orphan", "A listener has sent no heartbeat for 5 s, and its process is gone.",
    "Its process or machine is gone. RabbitMQ delivers its messages again. Its slots are free once another listener "
    "runs.",
    "frees what it held",
)  # fmt: skip
HALF_LISTED = Kind(
    "half-listed", "orphan", "A listener is in the list, and its records are gone.",
    "Its records are lost. If it lives, it registers again under another name. A person removed the key.",
    "removes it from the list, once its heartbeat is 5 s old",
)  # fmt: skip
UNLISTED = Kind(
    "unlisted", "orphan", "A listener has records, and is not in the list.",
    "No other listener frees its slots. A person removed it from the list.", "frees what it held",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A listener that no longer sends heartbeats, and its last heartbeat. None: it is not listed, and has records."""

    listener: str
    beat: float | None

    def repair(self, beside: Beside) -> bool:
        """Take back the messages that it holds, as other listeners do. List an unlisted one first, with a very old
        heartbeat.
        """
        k, beat = beside.keys, self.beat
        if beat is None:
            beat = 1.0
            with beside.server.translated() as client:
                if not client.exists(k.running(self.listener), k.progress(self.listener)):
                    return False
                client.zadd(k.listeners, {self.listener: beat}, nx=True)
        return int(beside.call("reap", [self.listener, repr(beat), STALE_MS], listener=self.listener)) >= 0


def listeners(beside: Beside, now_ms: int) -> Iterator[Finding]:
    """Yield silent listeners, and records of unlisted listeners."""
    k, beats, peers = beside.keys, _listed(beside), list[Peer]()
    for name, beat in beats.items():
        packed, fields = piped(beside.server, partial(_described, k.running(name)), whole=True)
        held = sum(field.isdigit() for field in fields)
        peers.append(read_peer(name, packed, beat=beat, now_ms=now_ms, held=held, is_whole=bool(fields)))

    def stale(peer: Peer, since: str) -> Finding:
        name = peer.info.listener
        return STALE.found(since, subject=Silent(listener=name, beat=beats[name]), about=(name,))

    yield from judge_peers(peers, stale=stale, held="message")
    for peer in peers:
        if not peer.is_whole:
            name = peer.info.listener
            what = f"listener {name} is in {k.listeners}, but {k.running(name)} is gone"
            yield HALF_LISTED.found(what, subject=Silent(listener=name, beat=beats[name]), about=(name,))
    yield from _unlisted(beside, beats)


def _described(key: str, pipe: Any) -> None:
    pipe.hget(key, "info")
    pipe.hkeys(key)


def _unlisted(beside: Beside, beats: dict[str, float]) -> Iterator[Finding]:
    k = beside.keys
    found = [names_behind(beside.server, start) for start in (k.running(""), k.progress(""))]
    if None in found:
        yield too_many_keys(k.listeners)
        return
    listed = beats.keys() | _listed(beside).keys()  # some may have registered meanwhile
    for name in sorted({name for names in found for name in names or ()} - listed):
        with beside.server.translated() as client:
            held = sum(field.isdigit() for field in client.hkeys(k.running(name)))
        what = f"listener {name} has records of {held:,} messages and is not in {k.listeners}"
        yield UNLISTED.found(what, subject=Silent(listener=name, beat=None), about=(name,))


# Slots and marks of runs without a record at any listener.

Mark = Literal["slot", "begun", "counted"]
RUN = re.compile(rb"(.+)/(\d+)", re.DOTALL)  # a listener and the field of its record
PLACE = re.compile(rb"[^\0]*\0.*", re.DOTALL)  # a queue and a message id

SLOT = Kind(
    "slot", "orphan", "A slot is taken by a run that no listener has.",
    "It would never be free again, so fewer runs than the limit allows could start, or none.", "frees it",
)  # fmt: skip
BEGUN = Kind(
    "begun", "orphan", "A message is marked as begun by a run that no listener has.",
    "When the broker delivers this message again, it counts as a crash that it was not. Nothing else removes it.",
    "removes the mark",
)  # fmt: skip
COUNTED = Kind(
    "counted", "orphan", "The crash of a run that no listener has is marked as counted.",
    "Nobody asks for it again, so it only takes memory.", "removes the mark",
)  # fmt: skip
_WHATS: dict[Mark, tuple[Kind, str]] = {
    "slot": (SLOT, "a slot of {name} is taken by a run ({run}) that no listener has"),
    "begun": (BEGUN, "message {name} is marked as begun by a run ({run}) that no listener has"),
    "counted": (COUNTED, "the crash of a run ({run}) is marked as counted, and no listener has this run"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The remains of a run: a slot, or a mark that it has begun or was counted as a crash. `name`: see `sweep.lua`."""

    mark: Mark
    listener: str
    field: bytes
    name: bytes

    @property
    def run(self) -> bytes:
        """The run, as slots and marks name it."""
        return self.listener.encode() + b"/" + self.field

    def repair(self, beside: Beside) -> bool:
        """Remove the remains."""
        return self.sweep(beside, remove=True)

    def sweep(self, beside: Beside, *, remove: bool = False) -> bool:
        """Return whether the listener has no record of this run, but the run has left something. One atomic step, which
        with `remove` also removes it.
        """
        args = ["remove" if remove else "look", self.mark, self.field, self.name, self.run]
        return bool(beside.call("sweep", args, listener=self.listener))


def runs(beside: Beside) -> Iterator[Finding]:
    """Yield slots and marks of runs without a record at any listener."""
    left = _left(beside)
    while batch := list(islice(left, PAGE)):
        answers = piped(beside.server, partial(_records, beside, batch))
        for one, has_record in zip(batch, answers, strict=True):
            if not has_record and one.sweep(beside):
                kind, what = _WHATS[one.mark]
                name = brief_bytes(one.name.rpartition(b"\0")[0 if one.mark == "slot" else 2])
                said = what.format(name=name, run=brief_bytes(one.run))
                yield kind.found(said, subject=one, about=(bytes_text(one.name),))


def _left(beside: Beside) -> Iterator[Left]:
    k, server = beside.keys, beside.server
    for members in scored_pages(server, k.slots):
        yield from _of("slot", [(member, member.rpartition(b"\0")[2]) for member, _ in members])
    for page in hash_pages(server, k.begun):
        yield from _of("begun", list(page.items()))
    for page in hash_pages(server, k.counted):
        yield from _of("counted", [(run, run) for run in page])


def _of(mark: Mark, pairs: Sequence[tuple[bytes, bytes]]) -> Iterator[Left]:
    """Read the runs; leave out unreadable ones, which are another fault."""
    for name, run in pairs:
        found = RUN.fullmatch(run)
        if found and is_text(found[1]):
            yield Left(mark=mark, listener=found[1].decode(), field=found[2], name=name)


def _records(beside: Beside, batch: Sequence[Left], pipe: Any) -> None:
    for one in batch:
        pipe.hexists(beside.keys.running(one.listener), one.field)


# Counts of crashes that never expire.

KEPT_S = 604_800  # seconds that crashes are kept after the last one
OWN_EXPIRY = Kind(
    "own-expiry", "deviation", "A key of crashes has no expiry.",
    "It should end 7 days after the last crash. So it only grows.", "lets it expire in 7 days",
)  # fmt: skip


def expiries(beside: Beside) -> Iterator[Finding]:
    """Yield counts of crashes that never expire."""
    for key in (beside.keys.counted, beside.keys.crashes):
        with beside.server.translated() as client:
            is_endless = client.ttl(key) == -1
        if is_endless:
            yield OWN_EXPIRY.found(f"{key} has no expiry", subject=Endless(key=key, life_s=KEPT_S), about=(key,))


# Unreadable values, and times too far ahead. Listeners and scripts ignore such values, or would wait for ever.

_COUNT = re.compile(rb"[1-9]\d{0,17}")
_NUMBER = re.compile(rb"\d+")
_SLOT = re.compile(rb".*\0" + RUN.pattern, re.DOTALL)


def unread(beside: Beside, now_ms: int) -> Iterator[Finding]:
    """Yield each field, member and score that cannot be read. `now_ms`: by the server's clock."""
    k, of = beside.keys, UnreadKeys(beside.server)
    yield from of.fields(k.control, is_control, "what a pause or a limit looks like")
    for name in _listed(beside):
        yield from of.fields(k.running(name), _is_record, "a record of a listener")
        yield from of.fields(k.progress(name), lambda _, value: read_said(value) is not None, "progress")
    yield from of.members(k.slots, lambda member, _: _SLOT.fullmatch(member) is not None, "a slot")
    yield from of.members(k.slots, lambda _, score: score == 0, "at the score 0", kind="due")
    furthest = now_ms + LONGEST_MS
    yield from of.members(k.rates, lambda _, at: at <= furthest, "at a time less than 400 days ahead")
    yield from of.fields(k.begun, _is_begun, "a message with the run that has it")
    yield from of.fields(k.counted, lambda run, _: RUN.fullmatch(run) is not None, "a run")
    yield from of.fields(k.crashes, lambda _, value: _COUNT.fullmatch(value) is not None, "a count")
    latest = now_ms + LONGEST_DELAY_MS + UNIQUE_MS
    what = "at a time when a message under it may still wait"
    yield from of.members(k.unique_until, lambda _, at: at <= latest, what)
    yield from of.alone(k.unique, k.unique_until, "hash", "a unique key with a time at which it is free")


def _is_begun(place: bytes, run: bytes) -> bool:
    return PLACE.fullmatch(place) is not None and RUN.fullmatch(run) is not None


def _is_record(name: bytes, value: bytes) -> bool:
    match name:
        case b"@":
            return _NUMBER.fullmatch(value) is not None
        case b"info":
            return is_info(value)
    return name.isdigit() and is_record(value)


KINDS: Final = kinds_of(sys.modules[__name__], our_keys)
"""Every kind of finding about these keys, in addition to the kinds of each server."""
