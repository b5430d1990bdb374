"""Check the listeners of a schedule: heartbeats, versions, whether there is one, and jobs that none can run."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace

from workkit import wire
from workkit.brokers.native.entry import due_ms
from workkit.brokers.native.look.location import PAGE, Places
from workkit.brokers.redis_server.listener_info import UNKNOWN, read_info
from workkit.contract.doctor import Finding
from workkit.contract.listener import ListenerInfo
from workkit.errors import CorruptRecord
from workkit.jobs.names import shown
from workkit.text.duration import age_text
from workkit.text.raw import brief_bytes, bytes_text

AHEAD_MS = 3_600_000  # a heartbeat from further ahead does not count
STALE_MS = 5_000  # half of the default listener_timeout: from then on other listeners may take its work


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One listed listener: its description, how many jobs it holds, and whether its hash of records exists."""

    info: ListenerInfo
    held: int
    is_whole: bool

    @property
    def is_live(self) -> bool:
        """Whether it sends heartbeats."""
        return self.is_whole and self.info.beat_ms <= STALE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The listeners of one schedule, as `fleet` read them. `skipped`: jobs that no live listener can run."""

    places: Places
    peers: tuple[Peer, ...]
    skipped: frozenset[bytes]

    def findings(self) -> Iterator[Finding]:
        """Name silent listeners, mixed versions, a schedule without a listener, and jobs that no listener can run."""
        for peer in self.peers:
            if peer.is_whole and not peer.is_live:
                yield self._silent(peer)
            elif peer.info.trouble:
                yield self._troubled(peer.info)
        yield from self._versions()
        yield from self._nobody()
        yield from self._unrun()

    @property
    def _listen(self) -> str:
        return f"workkit listen {self.places.keys.schedule}"

    def _silent(self, peer: Peer) -> Finding:
        info = peer.info
        jobs = "nothing" if not peer.held else "1 job" if peer.held == 1 else f"{peer.held:,} jobs"
        since = f"listener {info.listener} has sent no heartbeat for {age_text(info.beat_ms)} and holds {jobs}"
        if info.host == socket.gethostname() and _runs(info.pid):
            return Finding(
                kind="stuck",
                what=f"{since}, but its process {info.pid} exists",
                why="Its loop does not move: a handler holds the interpreter, or the process was stopped (Ctrl-Z).",
                remedy=f"kill -USR2 {info.pid} shows what its threads do; kill -CONT {info.pid} continues it",
                about=(info.listener,),
            )
        others = any(other.is_live for other in self.peers)
        fate = "Others take its jobs over within seconds." if others else "No listener is there to take its jobs over."
        held = fate if peer.held else "The next listener removes its name from the list."
        return Finding(
            kind="stale",
            what=since,
            why=f"Its process or machine is gone. {held}",
            remedy=self._listen,
            about=(info.listener,),
        )

    def _troubled(self, info: ListenerInfo) -> Finding:
        return Finding(
            kind="stalled",
            what=f"listener {info.listener} sends heartbeats but makes no progress: {info.trouble}",
            why="Its jobs wait until that is over. Its /readyz fails meanwhile.",
            remedy=f"kill -USR2 {info.pid} on {info.host} shows what its threads do; restart it if this does not end",
            about=(info.listener,),
        )

    def _versions(self) -> Iterator[Finding]:
        found: dict[str, list[str]] = {}
        for peer in self.peers:
            if peer.is_live and peer.info.version != UNKNOWN:
                found.setdefault(peer.info.version, []).append(peer.info.listener)
        if len(found) > 1:
            said = ", ".join(f"{version} ({len(names)})" for version, names in sorted(found.items()))
            yield Finding(
                kind="versions",
                what=f"listeners of several versions work together: {said}",
                why="An older listener may not understand what a newer one writes.",
                remedy="pip install --upgrade workkit on the machines of the older listeners, and restart them",
                about=tuple(name for names in found.values() for name in names),
            )

    def _nobody(self) -> Iterator[Finding]:
        if any(peer.is_live for peer in self.peers):
            return
        k, now = self.places.keys, self.places.now_ms
        queued, again, due, due_again = self.places.piped(
            lambda p: (p.zcard(k.next), p.zcard(k.again), p.zcount(k.next, "-inf", now), p.zcount(k.again, "-inf", now))
        )
        if queued + again:
            jobs = "1 job waits" if queued + again == 1 else f"{queued + again:,} jobs wait"
            now_due = f"{due + due_again:,}" if due + due_again else "none"
            yield Finding(
                kind="no-listener",
                what=f"nobody listens to {k.schedule}, and {jobs}, {now_due} of them due",
                why="No job runs until a listener starts.",
                remedy=self._listen,
            )

    def _unrun(self) -> Iterator[Finding]:
        """Name jobs that every listener has given back, by function."""
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
        for name, jobs in sorted(by_name.items()):
            yield self._not_run(name, jobs, live)

    def _name(self, id: bytes, payload: bytes) -> str | None:
        try:
            return self.places.codec.decode(id.decode("utf-8", "replace"), payload).fn
        except CorruptRecord:
            return wire.job_of(payload)

    def _not_run(self, name: str, jobs: list[bytes], live: int) -> Finding:
        none = "the listener cannot run it" if live == 1 else f"none of the {live} listeners can run it"
        which = ", ".join(brief_bytes(id) for id in jobs[:3]) + (
            f" and {len(jobs) - 3:,} more" if len(jobs) > 3 else ""
        )
        count = "1 job" if len(jobs) == 1 else f"{len(jobs):,} jobs"
        fn = shown(name)
        return Finding(
            kind="nobody-runs",
            what=f"{fn if len(fn) <= 80 else fn[:77] + '...'}: {none} ({count}: {which})",
            why="It waits for a listener that has this function and may run it. Their logs say why they cannot run it.",
            remedy=f"{self._listen} on a machine with the code, "
            f"or workkit cancel {self.places.keys.schedule} {brief_bytes(jobs[0])}",
            about=tuple(bytes_text(id) for id in jobs),
        )


def fleet(places: Places) -> Fleet:
    """Read the listeners, and the jobs that no live listener can run."""
    k, listed = places.keys, places.listed()
    names = list(listed)
    known = places.piped(lambda pipe: [(pipe.hget(k.running(n), "info"), pipe.hkeys(k.running(n))) for n in names])
    peers = []
    for place, name in enumerate(names):
        packed, fields = known[2 * place], known[2 * place + 1]
        info = read_info(packed, listener=name, now_ms=places.now_ms)
        beat = due_ms(repr(listed[name]))
        beat_ms = max(0, places.now_ms - (beat if beat <= places.now_ms + AHEAD_MS else 0))
        held = sum(b"." in field for field in fields)
        peers.append(Peer(info=replace(info, beat_ms=beat_ms), held=held, is_whole=bool(fields)))
    live = [k.skip(peer.info.listener) for peer in peers if peer.is_live]
    if not live:
        return Fleet(places=places, peers=tuple(peers), skipped=frozenset())
    with places.server.translated() as client:
        skipped = frozenset(client.sinter(live))
    return Fleet(places=places, peers=tuple(peers), skipped=skipped)


def _runs(pid: int) -> bool:
    """Say whether a process of this machine has that number."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
