"""Check the listeners of a schedule: heartbeats, versions, whether there is one, and jobs that none can run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workkit import wire
from workkit.brokers.native.look.published import Places
from workkit.brokers.redis_server.checks.peers import Peer, judge_peers, read_peer
from workkit.brokers.redis_server.pages import PAGE
from workkit.contract.doctor import Finding
from workkit.errors import CorruptRecord
from workkit.jobs.names import shown
from workkit.text.raw import brief_bytes, bytes_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The listeners of one schedule, as `fleet` read them. `skipped`: jobs that no live listener can run."""

    places: Places
    peers: tuple[Peer, ...]
    skipped: frozenset[bytes]

    def findings(self) -> Iterator[Finding]:
        """Name silent listeners, mixed versions, a schedule without a listener, and jobs that no listener can run."""
        yield from judge_peers(self.peers, stale=self._stale)
        yield from self._nobody()
        yield from self._unrun()

    @property
    def _listen(self) -> str:
        return f"workkit listen {self.places.keys.schedule}"

    def _stale(self, peer: Peer, since: str) -> Finding:
        others = any(other.is_live for other in self.peers)
        fate = "Others take its jobs over within seconds." if others else "No listener is there to take its jobs over."
        held = fate if peer.held else "The next listener removes its name from the list."
        return Finding(
            kind="stale",
            what=since,
            why=f"Its process or machine is gone. {held}",
            remedy=self._listen,
            about=(peer.info.listener,),
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
            fn=name,
        )


def fleet(places: Places) -> Fleet:
    """Read the listeners, and the jobs that no live listener can run."""
    k, listed = places.keys, places.listed()
    names = list(listed)
    known = places.piped(lambda pipe: [(pipe.hget(k.running(n), "info"), pipe.hkeys(k.running(n))) for n in names])
    peers = []
    for place, name in enumerate(names):
        packed, fields = known[2 * place], known[2 * place + 1]
        held = sum(b"." in field for field in fields)
        beat = listed[name]
        peers.append(read_peer(name, packed, beat=beat, now_ms=places.now_ms, held=held, is_whole=bool(fields)))
    live = [k.skip(peer.info.listener) for peer in peers if peer.is_live]
    if not live:
        return Fleet(places=places, peers=tuple(peers), skipped=frozenset())
    with places.server.translated() as client:
        skipped = frozenset(client.sinter(live))
    return Fleet(places=places, peers=tuple(peers), skipped=skipped)
