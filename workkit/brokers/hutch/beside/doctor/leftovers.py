"""Check what listeners have left beside an exchange: records without a listener, slots and marks without a record, and
counts of crashes that never expire.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from workkit.brokers.hutch.beside.doctor.repair import Endless, Left, Mark, Silent, sweep
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.redis_server.checks.peers import Peer, judge_peers, read_peer
from workkit.brokers.redis_server.pages import (
    MOST_PAGES,
    PAGE,
    STEP,
    hash_pages,
    is_text,
    names_behind,
    piped,
    scored_pages,
)
from workkit.contract.doctor import Finding
from workkit.text.raw import brief_bytes, bytes_text

RUN = re.compile(rb"(.+)/(\d+)", re.DOTALL)  # a listener and the field of its record
PLACE = re.compile(rb"[^\0]*\0.*", re.DOTALL)  # a queue and a message id
_WHATS: dict[Mark, tuple[str, str]] = {
    "slot": (
        "a slot of {name} is taken by a run ({run}) that no listener has",
        "It would never be free again, so fewer runs than the limit allows could start, or none.",
    ),
    "begun": (
        "message {name} is marked as begun by a run ({run}) that no listener has",
        "When the broker delivers this message again, it counts as a crash that it was not. Nothing else removes it.",
    ),
    "counted": (
        "the crash of a run ({run}) is marked as counted, and no listener has this run",
        "Nobody asks for it again, so it only takes memory.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """One check of the keys beside an exchange. `now_ms`: by the server's clock."""

    beside: Beside
    exchange: str
    now_ms: int

    @property
    def _fix(self) -> str:
        return f"workkit doctor {self.exchange} --fix"

    def listeners(self) -> Iterator[Finding]:
        """Name listeners that are silent, and records of listeners that are not listed."""
        beats = self._beats()
        peers = self._peers(beats)
        yield from judge_peers(peers, stale=lambda peer, since: self._stale(peer, since, beats), held="message")
        for peer in peers:
            if not peer.is_whole:
                yield self._half_listed(peer, beats[peer.info.listener])
        yield from self._unlisted(beats)

    def runs(self) -> Iterator[Finding]:
        """Name slots and marks of runs of which no listener has a record."""
        left = self._left()
        while batch := list(islice(left, PAGE)):
            answers = piped(self.beside.server, partial(self._records, batch))
            for one, has_record in zip(batch, answers, strict=True):
                if not has_record and sweep(self.beside, one):
                    yield self._run(one)

    def expiries(self) -> Iterator[Finding]:
        """Name counts of crashes that never expire."""
        k = self.beside.keys
        for key in (k.counted, k.crashes):
            with self.beside.server.translated() as client:
                is_endless = client.ttl(key) == -1
            if is_endless:
                yield Finding(
                    kind="own-expiry",
                    what=f"{key} has no expiry",
                    why="It should end 7 days after the last crash. So it only grows.",
                    remedy=self._fix,
                    repairs=True,
                    subject=Endless(key=key),
                    about=(key,),
                )

    def _beats(self) -> dict[str, float]:
        with self.beside.server.translated() as client:
            found = client.zrange(self.beside.keys.listeners, 0, -1, withscores=True)
        return {name.decode(): float(beat) for name, beat in found if is_text(name)}

    def _peers(self, beats: dict[str, float]) -> list[Peer]:
        k, peers = self.beside.keys, []
        for name, beat in beats.items():
            packed, fields = piped(self.beside.server, partial(_described, k.running(name)), whole=True)
            held = sum(field.isdigit() for field in fields)
            peers.append(read_peer(name, packed, beat=beat, now_ms=self.now_ms, held=held, is_whole=bool(fields)))
        return peers

    def _stale(self, peer: Peer, since: str, beats: dict[str, float]) -> Finding:
        return Finding(
            kind="stale",
            what=since,
            why="Its process or machine is gone. RabbitMQ delivers its messages again. Its slots are free once another "
            "listener runs.",
            remedy=self._fix,
            repairs=True,
            subject=Silent(listener=peer.info.listener, beat=beats[peer.info.listener]),
            about=(peer.info.listener,),
        )

    def _half_listed(self, peer: Peer, beat: float) -> Finding:
        k, name = self.beside.keys, peer.info.listener
        return Finding(
            kind="half-listed",
            what=f"listener {name} is in {k.listeners}, but {k.running(name)} is gone",
            why="Its records are lost. If it lives, it registers again under another name. A person removed the key.",
            remedy=self._fix,
            repairs=True,
            subject=Silent(listener=name, beat=beat),
            about=(name,),
        )

    def _unlisted(self, beats: dict[str, float]) -> Iterator[Finding]:
        k = self.beside.keys
        found = [names_behind(self.beside.server, start) for start in (k.running(""), k.progress(""))]
        if None in found:
            yield Finding(
                kind="unchecked",
                what=f"listeners missing from {k.listeners} were not checked: the database has too many keys",
                why=f"It would have to read the names of all keys. More than {MOST_PAGES * STEP:,} are too many.",
                remedy="use a database of its own for schedules",
            )
            return
        listed = beats.keys() | self._beats().keys()  # some may have come meanwhile
        for name in sorted({name for names in found for name in names or ()} - listed):
            with self.beside.server.translated() as client:
                held = sum(field.isdigit() for field in client.hkeys(k.running(name)))
            yield Finding(
                kind="unlisted",
                what=f"listener {name} has records of {held:,} messages and is not in {k.listeners}",
                why="No other listener frees its slots. A person removed it from the list.",
                remedy=self._fix,
                repairs=True,
                subject=Silent(listener=name, beat=None),
                about=(name,),
            )

    def _left(self) -> Iterator[Left]:
        k, server = self.beside.keys, self.beside.server
        for members in scored_pages(server, k.slots):
            yield from self._of("slot", [(member, member.rpartition(b"\0")[2]) for member, _ in members])
        for page in hash_pages(server, k.begun):
            yield from self._of("begun", list(page.items()))
        for page in hash_pages(server, k.counted):
            yield from self._of("counted", [(run, run) for run in page])

    def _of(self, mark: Mark, pairs: Sequence[tuple[bytes, bytes]]) -> Iterator[Left]:
        """Read the runs; others cannot be read, which is another trouble."""
        for name, run in pairs:
            found = RUN.fullmatch(run)
            if found and is_text(found[1]):
                yield Left(mark=mark, listener=found[1].decode(), field=found[2], name=name)

    def _records(self, batch: Sequence[Left], pipe: Any) -> None:
        for one in batch:
            pipe.hexists(self.beside.keys.running(one.listener), one.field)

    def _run(self, one: Left) -> Finding:
        what, why = _WHATS[one.mark]
        name = one.name.rpartition(b"\0")[0] if one.mark == "slot" else one.name.rpartition(b"\0")[2]
        return Finding(
            kind=one.mark,
            what=what.format(name=brief_bytes(name), run=brief_bytes(one.run)),
            why=why,
            remedy=self._fix,
            repairs=True,
            subject=one,
            about=(bytes_text(one.name),),
        )


def _described(key: str, pipe: Any) -> None:
    pipe.hget(key, "info")
    pipe.hkeys(key)
