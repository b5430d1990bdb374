"""The dead set of a native schedule: read, put back to be run anew, forgotten."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit import wire
from workkit.brokers.native.codec import Codec, at
from workkit.brokers.native.entry import Entry, due_ms, read_entry
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.settle import occurrence, read_failure, read_packed
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.broker import NewJob, Revival
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job

PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Graves:
    """The dead set of one schedule."""

    server: Server
    keys: Keys
    codec: Codec

    def jobs(self) -> Iterator[Job]:
        """Page through the dead, latest first."""
        start = 0
        while True:
            with self.server.translated() as client:
                page = client.zrange(self.keys.dead, start, start + PAGE - 1, desc=True, withscores=True)
                graves = client.hmget(self.keys.graves, [name for name, _ in page]) if page else []
            for (name, when), packed in zip(page, graves, strict=True):
                yield self._job(name.decode("utf-8", "replace"), when, _read(packed))
            if len(page) < PAGE:
                return
            start += PAGE

    def retry(self, dead: Sequence[Job], *, args: Sequence[Any] | None, delays_ms: Sequence[int]) -> list[Revival]:
        """See `Inspector.retry`."""
        names = [job.dead_id or "" for job in dead]
        if not names:
            return []
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.zmscore(self.keys.dead, names)
            pipe.hmget(self.keys.graves, names)
            stands, graves = pipe.execute()
        answers: list[Revival] = ["gone"] * len(names)
        asked: dict[int, dict[str, Any]] = {}
        for place, name in enumerate(names):
            if stands[place] is None:
                continue
            revived = self._revived(_read(graves[place]), args)
            if revived is None:
                answers[place] = "unreadable"
            else:
                asked[place] = {"dead": name, "delay": delays_ms[place] if delays_ms else 0, **revived}
        if asked:
            packed = msgpack.packb([*asked.values()], use_bin_type=False, unicode_errors="surrogatepass")
            revive = load("native")["revive"]
            states = self.server.call(revive, revive.keys(self.keys), [packed])
            for place, state in zip(asked, states, strict=True):
                answers[place] = state.decode()
        return answers

    def discard(self, dead: Sequence[Job]) -> int:
        """See `Inspector.discard`."""
        names = [job.dead_id for job in dead if job.dead_id]
        if not names:
            return 0
        discard = load("native")["discard"]
        return int(self.server.call(discard, discard.keys(self.keys), names))

    def _revived(self, grave: Mapping[str, Any], args: Sequence[Any] | None) -> dict[str, Any] | None:
        """What `revive.lua` is told of one grave; None where it holds nothing that can be run."""
        id, payload = (grave.get("id") or b"").decode("utf-8", "replace"), grave.get("payload")
        if grave.get("reason") == "corrupt" or not payload or not id:
            return None
        if args is not None:
            return self._anew(id, payload, args)
        due, item = str(grave.get("due", 0)), grave.get("member") or wire.item(id)
        entry = Entry(kind=grave.get("kind", "r"), due=due, flags=grave.get("flags", "-"), item=item)
        entry = replace(entry, flags=entry.with_flags())  # whatever slots it had are others' by now
        if read_entry(entry.encode()) is None:
            return None
        if entry.kind == "r":
            return {"id": id, "payload": payload, "item": entry.item}
        return {"id": id, "payload": payload, "entry": entry.encode(), "occurrence": occurrence(id, entry)}

    def _anew(self, id: str, payload: bytes, args: Sequence[Any]) -> dict[str, Any] | None:
        """The same call with other arguments, as a new job of its own, due now. Raises InvalidArguments."""
        try:
            old = self.codec.decode(id, payload)
        except CorruptRecord:
            return None
        with self.server.translated() as client:
            now_ms = int(client.time()[0]) * 1000
        new = NewJob(
            fn=old.fn,
            args=tuple(args),
            kwargs=old.kwargs,
            trigger=None,
            due_ms=None,
            queued=True,
            options=old.options,
        )
        stored = self.codec.encode(new, now_ms=now_ms, nonce=secrets.token_hex(8))
        return {"id": stored.second_id, "payload": stored.second, "item": wire.item(stored.second_id)}

    def _job(self, name: str, when: float, grave: Mapping[str, Any]) -> Job:
        id = (grave.get("id") or b"").decode("utf-8", "replace") or name
        failure = read_failure(grave.get("error"))
        try:
            job = self.codec.decode(id, grave.get("payload") or b"")
        except CorruptRecord:
            job = Job(id=id, schedule=self.codec.schedule, fn="?")
        job = at(job, due_ms(repr(when)), state="dead", attempt=grave.get("attempt", 0))
        return replace(job, error=failure.line, failure=failure, dead_id=name)


def _read(packed: bytes | None) -> Mapping[str, Any]:
    """A grave; without those of its members that are of another type, so that one record does not hide the others."""
    unpacked = read_packed(packed)
    if not isinstance(unpacked, dict):
        return {}
    return {name: value for name, value in unpacked.items() if name in _KINDS and isinstance(value, _KINDS[name])}


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    "id": bytes, "payload": bytes, "member": bytes, "kind": str, "flags": str, "due": int, "attempt": int,
    "reason": str, "error": list,
}  # fmt: skip
