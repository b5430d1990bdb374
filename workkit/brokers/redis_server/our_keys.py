"""Checks of listeners and of our own keys on Redis, which several doctors share: heartbeats, unreadable values, and
keys that never end.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from workkit.brokers.doctor import UNCHECKED, tally
from workkit.brokers.redis_server.control import LAST_MS, UNKNOWN, read_info
from workkit.brokers.redis_server.pages import MOST_PAGES, STEP, hash_pages, piped, scored_pages
from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Finding, Kind
from workkit.contract.listener import ListenerInfo
from workkit.text.cells import brief_bytes, bytes_text
from workkit.text.wording import age_text

# Listeners: heartbeats and descriptions.

AHEAD_MS = 3_600_000  # ms; a heartbeat from further ahead does not count
STALE_MS = 5_000  # ms; half of the default listener_timeout: from then on other listeners may take its work

STUCK = Kind(
    "stuck", "deviation", "A listener sends no heartbeats, and its process exists on this machine.",
    "Its loop does not move: a handler holds the interpreter, or the process was stopped (Ctrl-Z).",
)  # fmt: skip
STALLED = Kind(
    "stalled", "deviation", "A listener sends heartbeats, and makes no progress.",
    "Its jobs wait until that is over. Its /readyz fails meanwhile.",
)  # fmt: skip
VERSIONS = Kind(
    "versions", "hazard", "Listeners of several versions work together.",
    "An older listener may not understand what a newer one writes.",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One listed listener: its description, how many jobs it holds, and whether its hash of records exists."""

    info: ListenerInfo
    held: int
    is_whole: bool

    @property
    def is_live(self) -> bool:
        """Whether it sends heartbeats."""
        return self.is_whole and (self.info.beat_ms or 0) <= STALE_MS


def read_peer(name: str, packed: bytes | None, *, beat: float, now_ms: int, held: int, is_whole: bool) -> Peer:
    """Make the value of one listed listener. `packed`: its description; `beat`: the time of its last heartbeat, ms."""
    at = int(min(max(beat, 0.0), float(LAST_MS)))
    beat_ms = max(0, now_ms - (at if at <= now_ms + AHEAD_MS else 0))
    info = replace(read_info(packed, listener=name, now_ms=now_ms), beat_ms=beat_ms)
    return Peer(info=info, held=held, is_whole=is_whole)


def judge_peers(
    peers: Sequence[Peer], *, stale: Callable[[Peer, str], Finding], held: str = "job"
) -> Iterator[Finding]:
    """Report silent listeners, listeners without progress, and mixed versions.

    `stale` makes the finding about a listener with a process that is gone, from a sentence about the time since then.
    `held` describes the jobs that a listener holds.
    """
    for peer in peers:
        info = peer.info
        if peer.is_whole and not peer.is_live:
            holds = tally(peer.held, held) if peer.held else "nothing"
            silent = f"listener {info.listener} has sent no heartbeat for {age_text(info.beat_ms or 0)}"
            since = f"{silent} and holds {holds}"
            is_here = info.host == socket.gethostname() and _runs(info.pid)
            yield _stuck(info, since) if is_here else stale(peer, since)
        elif info.trouble:
            yield STALLED.found(
                f"listener {info.listener} sends heartbeats but makes no progress: {info.trouble}",
                f"kill -USR2 {info.pid} on {info.host} shows what its threads do; restart it if this does not end",
                about=(info.listener,),
            )
    found: dict[str, list[str]] = {}
    for peer in peers:
        if peer.is_live and peer.info.version != UNKNOWN:
            found.setdefault(peer.info.version, []).append(peer.info.listener)
    if len(found) > 1:
        counts = ", ".join(f"{version} ({len(names)})" for version, names in sorted(found.items()))
        yield VERSIONS.found(
            f"listeners of several versions work together: {counts}",
            "pip install --upgrade workkit on the machines of the older listeners, and restart them",
            about=tuple(name for names in found.values() for name in names),
        )


def _stuck(info: ListenerInfo, since: str) -> Finding:
    return STUCK.found(
        f"{since}, but its process {info.pid} exists",
        f"kill -CONT {info.pid} continues a stopped process; kill -9 {info.pid} ends one that does not move, and other "
        "listeners take over what it held",
        about=(info.listener,),
    )


def _runs(pid: int) -> bool:
    """Say whether this machine has a process with that number."""
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def too_many_keys(listeners: str) -> Finding:
    """Report that unlisted listeners were not searched. `listeners`: the key of their list."""
    return UNCHECKED.found(
        f"listeners missing from {listeners} were not checked: the database has too many keys",
        "use a database of its own for schedules",
        why=f"It would have to read the names of all keys. More than {MOST_PAGES * STEP:,} are too many.",
    )


# Our own keys: unreadable values.

Reads = Callable[[bytes, Any], bool]

UNREAD = Kind(
    "unread", "deviation", "A field or member of a key of workkit cannot be read.",
    "Nobody can read it, so it has no effect. A program that does not know this key wrote it.",
    "removes it, if it still is as it was read; a due time that cannot be read becomes 0",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Garbled:
    """An unreadable part of one of our own keys, and the value or score that was read: the arguments of `tidy.lua`."""

    key: str
    kind: str
    name: bytes
    value: bytes | str = ""


@dataclass(frozen=True, slots=True)
class UnreadKeys:
    """Reports unreadable values in the keys of one schedule. `reads` says whether a field or member can be read; `what`
    describes a right one, as the end of a sentence.
    """

    server: Server

    def fields(self, key: str, reads: Reads, what: str) -> Iterator[Finding]:
        """Check each field of a hash."""
        for page in hash_pages(self.server, key):
            for name, value in page.items():
                if not reads(name, value):
                    yield self.found(key, name, what, Garbled(key=key, kind="hash", name=name, value=value))

    def members(self, key: str, reads: Reads, what: str, *, kind: str = "zset") -> Iterator[Finding]:
        """Check each member of a sorted set. A repair with `kind` "due" only sets its score to 0."""
        for page in scored_pages(self.server, key):
            for member, score in page:
                if not reads(member, score):
                    yield self.found(key, member, what, Garbled(key=key, kind=kind, name=member, value=repr(score)))

    def alone(
        self, key: str, index: str, kind: str, what: str, *, of: Callable[[bytes], bytes] = bytes
    ) -> Iterator[Finding]:
        """Report members of one key that are missing in another key. Read each of them again in one step. `of`: what
        the other key has in place of a member.
        """
        for page in hash_pages(self.server, key) if kind == "hash" else map(dict, scored_pages(self.server, key)):
            names = list(page)
            scores = piped(self.server, partial(_scores, index, [*map(of, names)]))
            for name in (name for name, score in zip(names, scores, strict=True) if score is None):
                if (value := self._still(key, index, kind, name, of(name))) is not None:
                    yield self.found(key, name, what, Garbled(key=key, kind=kind, name=name, value=value))

    def found(self, key: str, name: bytes, what: str, subject: object) -> Finding:
        """Make the finding about one value."""
        said = f"{key} holds {brief_bytes(name) or 'an empty name'}, which is not {what}"
        return UNREAD.found(said, subject=subject, about=(bytes_text(name),))

    def _still(self, key: str, index: str, kind: str, name: bytes, other: bytes) -> bytes | str | None:
        value, score = piped(
            self.server,
            lambda pipe: (
                pipe.hget(key, name) if kind == "hash" else pipe.zscore(key, name),
                pipe.zscore(index, other),
            ),
            whole=True,
        )
        if value is None or score is not None:
            return None
        return value if kind == "hash" else repr(value)


def _scores(key: str, names: list[bytes], pipe: Any) -> None:
    for name in names:
        pipe.zscore(key, name)


# Keys without an expiry that should have one.


class OnServer(Protocol):
    """A repairable fault, with the server of its keys."""

    @property
    def server(self) -> Server:
        """The server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endless:
    """A key that should have an expiry and has none, and the seconds that it gets."""

    key: bytes | str
    life_s: int

    def repair(self, of: OnServer) -> bool:
        """Set its expiry."""
        with of.server.translated() as client:
            return bool(client.ttl(self.key) == -1 and client.expire(self.key, self.life_s))
