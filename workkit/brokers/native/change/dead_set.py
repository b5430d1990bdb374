"""Change the dead set of a native schedule: put jobs back to run again, or remove them."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit import wire
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.entry import Entry, read_entry
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.dead_set import NAME_TEXT, read_grave
from workkit.brokers.native.settle import log_name, occurrence
from workkit.brokers.redis_server.pages import server_ms
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.admin import Arguments, Revival
from workkit.contract.producer import NewJob
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadSetChange:
    """Changes the dead set of one schedule."""

    server: Server
    keys: Keys
    codec: Codec

    def retry(
        self, dead: Sequence[Job], *, args: Arguments | None, delays_ms: Sequence[int], change: bytes
    ) -> list[Revival]:
        """See `Admin.retry`. `change`: who does so, for the script."""
        names = [(job.dead_id or "").encode(*NAME_TEXT) for job in dead]
        if not names:
            return []
        with self.server.translated() as client:
            pipe = client.pipeline(transaction=False)
            pipe.zmscore(self.keys.dead, names)
            pipe.hmget(self.keys.graves, names)
            stands, graves = pipe.execute()
        answers: list[Revival] = ["gone"] * len(names)
        asked: dict[int, dict[str, Any]] = {}
        over: list[str] = []  # ids of one-shots that run again: what is kept of them is no result any more
        for place, name in enumerate(names):
            if stands[place] is None:
                continue
            revived = self._revived(read_grave(graves[place]), args)
            if revived is None:
                answers[place] = "unreadable"
            else:
                asked[place] = {"dead": name, "delay": delays_ms[place] if delays_ms else 0, **revived}
                if args is None and "item" in revived:
                    asked[place]["result"] = len(over)
                    over.append(revived["id"])
        if asked:
            packed = msgpack.packb([*asked.values()], use_bin_type=False, unicode_errors="surrogatepass")
            revive = load("native")["revive"]
            states = self.server.call(revive, revive.keys(self.keys, revived=tuple(over)), [packed, change])
            for place, state in zip(asked, states, strict=True):
                answers[place] = state.decode()
        return answers

    def discard(self, dead: Sequence[Job], *, change: bytes) -> int:
        """See `Admin.discard`. `change`: as in `retry`."""
        known = [(job.dead_id, job.attempt) for job in dead if job.dead_id]
        if not known:
            return 0
        names = [dead_id.encode(*NAME_TEXT) for dead_id, _ in known]
        logs = [log_name(dead_id, attempt).encode(*NAME_TEXT) for dead_id, attempt in known]
        discard = load("native")["discard"]
        return int(self.server.call(discard, discard.keys(self.keys), [change, len(names), *names, *logs]))

    def _revived(self, grave: Mapping[str, Any], args: Arguments | None) -> dict[str, Any] | None:
        """Make the map of one grave for `revive.lua`; None if it holds no job that can run."""
        id, payload = (grave.get("id") or b"").decode("utf-8", "replace"), grave.get("payload")
        if grave.get("reason") == "corrupt" or not payload or not id:
            return None
        if args is not None:
            return self._anew(id, payload, args)
        due, item = str(grave.get("due", 0)), grave.get("member") or wire.item(id)
        entry = Entry(kind=grave.get("kind", "r"), due=due, flags=grave.get("flags", "-"), item=item)
        entry = replace(entry, flags=entry.with_flags())  # other occurrences may have its slots now
        if read_entry(entry.encode()) is None:
            return None
        if entry.kind == "r":
            return {"id": id, "payload": payload, "item": entry.item}
        return {"id": id, "payload": payload, "entry": entry.encode(), "occurrence": occurrence(id, entry)}

    def _anew(self, id: str, payload: bytes, args: Arguments) -> dict[str, Any] | None:
        """Make a new job with other arguments, due now. Raises InvalidArguments."""
        try:
            old = self.codec.decode(id, payload)
        except CorruptRecord:
            return None
        is_named = isinstance(args, Mapping)
        new = NewJob(
            fn=old.fn,
            args=old.args if is_named else tuple(args),
            kwargs=dict(args) if isinstance(args, Mapping) else old.kwargs,
            trigger=None,
            due_ms=None,
            queued=True,
            options=old.options,
            meta=old.meta,
        )
        stored = self.codec.encode(new, now_ms=server_ms(self.server), nonce=secrets.token_hex(8))
        return {"id": stored.second_id, "payload": stored.second, "item": wire.item(stored.second_id)}
