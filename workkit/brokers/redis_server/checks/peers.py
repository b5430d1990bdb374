"""Judge listeners by their heartbeats and by what they tell of themselves: the same for all layouts. Knows no key."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from workkit.brokers.redis_server.control import LAST_MS
from workkit.brokers.redis_server.listener_info import UNKNOWN, read_info
from workkit.contract.doctor import Finding
from workkit.contract.listener import ListenerInfo
from workkit.text.duration import age_text

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
    """Name silent listeners, those without progress, and mixed versions.

    `stale` makes the finding about one whose process is gone, from a sentence that says since when. `held`: what a
    listener holds.
    """
    for peer in peers:
        if peer.is_whole and not peer.is_live:
            since = (
                f"listener {peer.info.listener} has sent no heartbeat for {age_text(peer.info.beat_ms or 0)} and holds "
            )
            since += "nothing" if not peer.held else f"1 {held}" if peer.held == 1 else f"{peer.held:,} {held}s"
            yield _stuck(peer.info, since) if _is_here(peer.info) else stale(peer, since)
        elif peer.info.trouble:
            yield _stalled(peer.info)
    yield from _versions(peers)


def _is_here(info: ListenerInfo) -> bool:
    return info.host == socket.gethostname() and _runs(info.pid)


def _stuck(info: ListenerInfo, since: str) -> Finding:
    return Finding(
        kind="stuck",
        what=f"{since}, but its process {info.pid} exists",
        why="Its loop does not move: a handler holds the interpreter, or the process was stopped (Ctrl-Z).",
        remedy=f"kill -CONT {info.pid} continues a stopped process; kill -9 {info.pid} ends one that does not move, "
        "and other listeners take over what it held",
        about=(info.listener,),
    )


def _stalled(info: ListenerInfo) -> Finding:
    return Finding(
        kind="stalled",
        what=f"listener {info.listener} sends heartbeats but makes no progress: {info.trouble}",
        why="Its jobs wait until that is over. Its /readyz fails meanwhile.",
        remedy=f"kill -USR2 {info.pid} on {info.host} shows what its threads do; restart it if this does not end",
        about=(info.listener,),
    )


def _versions(peers: Sequence[Peer]) -> Iterator[Finding]:
    found: dict[str, list[str]] = {}
    for peer in peers:
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
