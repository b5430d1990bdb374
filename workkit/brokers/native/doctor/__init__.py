"""The doctor of a native schedule: the list of its checks, in order, and the checks of its listeners.

`jobs.py` checks the two published keys with the faults of `judge.py` and `clojure.py`. `our_keys.py` checks all other
keys.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from workkit import wire
from workkit.brokers.doctor import WAIT, dead, kinds_of, limited, tally
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.doctor import clojure, groups, jobs, judge, our_keys, tags
from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.published import Places
from workkit.brokers.native.record import read_late
from workkit.brokers.redis_server import our_keys as peers
from workkit.brokers.redis_server.control import standing_control
from workkit.brokers.redis_server.doctor import clock, host, scripts, tried, unchecked, wrong_types
from workkit.brokers.redis_server.our_keys import Garbled, Peer, judge_peers, read_peer
from workkit.brokers.redis_server.pages import PAGE, piped, server_ms
from workkit.brokers.redis_server.refusal import types_of
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import CommandLine, Finding, Kind
from workkit.contract.record import deadlines_texts
from workkit.errors import CorruptRecord, ServerRefused
from workkit.jobs.names import shown
from workkit.text.cells import brief_bytes, bytes_text, id_word

NOT_CHECKED = "The server refuses every request that needs this key, so nothing runs. The doctor checked no other key."


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeDoctor:
    """Checks one schedule. Reads in pages of 500."""

    server: Server
    keys: Keys
    codec: Codec

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """See `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts the rest.

        If this user may not read something, that is a finding too. A wrong or missing password raises. A finding about
        the server names no schedule.
        """
        yield from limited(self._looked(patience_ms), schedule=self.keys.schedule)

    def repair(self, finding: Finding) -> bool:
        """See `Doctor.repair`."""
        if not finding.repairs:
            return False
        subject, places = finding.subject, self._places()
        if isinstance(subject, Garbled):
            return jobs.tidy(places, subject.key, [subject.kind, subject.name, subject.value])
        return bool(subject.repair(places))

    def _looked(self, patience_ms: int) -> Iterator[Finding]:
        yield from tried(
            self.server,
            ("the server's clock", lambda: clock(self.server)),
            ("the server's state", lambda: host(self.server, self.keys.schedule).findings()),
            ("whether scripts may run", lambda: scripts(self.server, load("native")["reschedule"])),
        )
        found = list(tried(self.server, ("the types of the keys", self._types)))
        yield from found
        if not any(finding.kind == "wrong-type" for finding in found):  # all further checks need most of them
            yield from tried(self.server, ("the schedule", lambda: self._schedule(patience_ms)))

    def _schedule(self, patience_ms: int) -> Iterator[Finding]:
        places = self._places()
        unlisted: list[str] | None = []
        try:
            unlisted = places.unlisted()
        except ServerRefused as error:
            yield unchecked(self.server, "whether listeners are missing from the list", error)
        places = replace(places, lost=tuple(unlisted or ()))
        read: list[Fleet] = []
        yield from tried(self.server, ("the listeners", lambda: self._fleet(places, read)))
        skipped = read[0].skipped if read else frozenset()
        inventory = jobs.Inventory(places=places, patience_ms=patience_ms, skipped=skipped)
        yield from tried(
            self.server,
            ("the index of tags", lambda: tags.tags(places)),
            ("the groups", lambda: groups.groups(places)),
            ("the jobs", inventory.findings),
            ("what is kept beside the jobs", lambda: self._beside(places, unlisted)),
            ("kept results", lambda: our_keys.results(places)),
            ("whether everything can be read", lambda: our_keys.unread(places)),
            ("the dead set", self._dead),
            ("deadlines", self._late),
        )

    def _beside(self, places: Places, unlisted: list[str] | None) -> Iterator[Finding]:
        yield from our_keys.listeners(places, unlisted)  # first, because their records refer to the rest
        for check in (our_keys.slots, our_keys.errors, our_keys.ended, our_keys.parked, our_keys.hidden):
            yield from check(places)

    def _fleet(self, places: Places, read: list[Fleet]) -> Iterator[Finding]:
        read.append(fleet(places))
        yield from read[0].findings()

    def _dead(self) -> Iterator[Finding]:
        known = standing_control(self.server, self.keys.control).known_dead_ms
        with self.server.translated() as client:
            count = client.zcount(self.keys.dead, "-inf" if known is None else f"({known}", "+inf")
        kept = "They are kept for 90 days, at most 10,000 of them."
        yield from dead(count, schedule=self.keys.schedule, kept=kept)

    def _late(self) -> Iterator[Finding]:
        with self.server.translated() as client:
            if not client.zcount(self.keys.deadlines, "-inf", server_ms(self.server)):
                return
        late = read_late(self.server.run(self.keys, "late", ["look"]), self.codec)
        for text in deadlines_texts(late):
            about = tuple(one.job.id for one in late)
            yield PAST_DEADLINE.found(text, CommandLine(verb="stats", schedule=self.keys.schedule), about=about)

    def _types(self) -> Iterator[Finding]:
        k = self.keys
        with self.server.translated() as client:
            names = list(self._places().listed()) if client.type(k.listeners) == b"zset" else []
            own = [key(name) for key in (k.running, k.skip, k.progress) for name in names]
            expected = types_of(k.schedule, own)
        yield from wrong_types(self.server, expected, why=NOT_CHECKED)

    def _places(self) -> Places:
        return Places(server=self.server, keys=self.keys, codec=self.codec, now_ms=server_ms(self.server))


# Listeners: heartbeats, versions, whether there is any listener, and jobs that none can run.

STALE = Kind(
    "stale", "orphan", "A listener has sent no heartbeat for a while, and its process is gone.",
    "Its process or machine is gone.",
)  # fmt: skip
NO_LISTENER = Kind(
    "no-listener", "orphan", "Nobody listens, and jobs wait.", "No job runs until a listener starts."
)  # fmt: skip
PAST_DEADLINE = Kind(
    "past-deadline", "hazard", "Jobs are past their deadline, or cannot meet it.",
    "Each of them has done_by= or within=, and has not ended.",
)  # fmt: skip
NOBODY_RUNS = Kind(
    "nobody-runs", "orphan", "No listener can run a function, and jobs of it wait.",
    "It waits for a listener that has this function and may run it. Their logs say why they cannot run it.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The listeners of one schedule, read by `fleet`. `skipped`: jobs that no live listener can run."""

    places: Places
    peers: tuple[Peer, ...]
    skipped: frozenset[bytes]

    def findings(self) -> Iterator[Finding]:
        """Name silent listeners, mixed versions, a schedule without a listener, and jobs that no listener can run."""
        yield from judge_peers(self.peers, stale=self._stale)
        yield from self._nobody()
        yield from self._unrun()

    @property
    def _listen(self) -> CommandLine:
        return CommandLine(verb="listen", schedule=self.places.keys.schedule)

    def _stale(self, peer: Peer, since: str) -> Finding:
        others = any(other.is_live for other in self.peers)
        fate = "Others take its jobs over within seconds." if others else "No listener is there to take its jobs over."
        held = fate if peer.held else "The next listener removes its name from the list."
        return STALE.found(since, self._listen, why=f"{STALE.why} {held}", about=(peer.info.listener,))

    def _nobody(self) -> Iterator[Finding]:
        if any(peer.is_live for peer in self.peers):
            return
        k, now = self.places.keys, self.places.now_ms
        queued, again, due, due_again = piped(
            self.places.server,
            lambda p: (
                p.zcard(k.next),
                p.zcard(k.again),
                p.zcount(k.next, "-inf", now),
                p.zcount(k.again, "-inf", now),
            ),
        )
        if queued + again:
            waiting = tally(queued + again, "job", *WAIT)
            now_due = f"{due + due_again:,}" if due + due_again else "none"
            what = f"nobody listens to {k.schedule}, and {waiting}, {now_due} of them due"
            yield NO_LISTENER.found(what, self._listen)

    def _unrun(self) -> Iterator[Finding]:
        """Report jobs that every listener has given back, by function."""
        live = sum(peer.is_live for peer in self.peers)
        by_name: dict[str, list[bytes]] = {}
        ids = sorted(self.skipped)
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            with self.places.server.translated() as client:
                payloads = client.hmget(self.places.keys.jobs, page)
            for id, payload in zip(page, payloads, strict=True):
                if payload is not None and (name := self._name(id, payload)) is not None:
                    by_name.setdefault(name, []).append(id)
        for name, found in sorted(by_name.items()):
            yield self._not_run(name, found, live)

    def _name(self, id: bytes, payload: bytes) -> str | None:
        try:
            return self.places.codec.decode(id.decode("utf-8", "replace"), payload).fn
        except CorruptRecord:
            return wire.job_of(payload)

    def _not_run(self, name: str, ids: list[bytes], live: int) -> Finding:
        none = "the listener cannot run it" if live == 1 else f"none of the {live} listeners can run it"
        which = ", ".join(map(brief_bytes, ids[:3])) + (f" and {len(ids) - 3:,} more" if len(ids) > 3 else "")
        count = tally(len(ids), "job")
        fn = shown(name)
        return NOBODY_RUNS.found(
            f"{fn if len(fn) <= 80 else fn[:77] + '...'}: {none} ({count}: {which})",
            self._listen,
            " on a machine with the code, or ",
            CommandLine(verb="cancel", schedule=self.places.keys.schedule, which=(id_word(ids[0]),)),
            about=tuple(bytes_text(id) for id in ids),
            fn=name,
        )


def fleet(places: Places) -> Fleet:
    """Read the listeners, and the jobs that no live listener can run."""
    k, listed = places.keys, places.listed()
    names = list(listed)
    known = piped(
        places.server, lambda pipe: [(pipe.hget(k.running(n), "info"), pipe.hkeys(k.running(n))) for n in names]
    )
    found = []
    for name, packed, fields in zip(names, known[::2], known[1::2], strict=True):
        held, beat = sum(b"." in field for field in fields), listed[name]
        found.append(read_peer(name, packed, beat=beat, now_ms=places.now_ms, held=held, is_whole=bool(fields)))
    live = [k.skip(peer.info.listener) for peer in found if peer.is_live]
    if not live:
        return Fleet(places=places, peers=tuple(found), skipped=frozenset())
    with places.server.translated() as client:
        skipped = frozenset(client.sinter(live))
    return Fleet(places=places, peers=tuple(found), skipped=skipped)


KINDS: Final = kinds_of(sys.modules[__name__], peers, jobs, judge, clojure, our_keys, tags, groups)
"""Every kind of finding that `doctor` or `wire verify` has for a native schedule, beside those of each server."""
