"""What a listener tells of itself, in bytes: its name, its description, and the progress of its runs."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import replace

import msgpack

from workkit.brokers.redis_server.control import read_packed
from workkit.contract.listener import ListenerInfo
from workkit.jobs.admission import Control

PADDED = 65  # bytes; with shorter fields the server keeps the hash packed, which is slower
PADDING = "." * PADDED
QUIET = "quiet"  # the state of one that takes nothing new
UNKNOWN = "?"  # the version of a listener whose description cannot be read


def read_said(kept: bytes | None) -> tuple[int, int] | str | None:
    """Read the latest progress of a run, as `tell` stores it; None if it is no progress."""
    try:
        said = json.loads(kept or b"null")
    except (ValueError, RecursionError):
        return None
    if isinstance(said, list) and len(said) == 2 and all(type(n) in (int, float) and abs(n) <= 2**53 for n in said):
        return said[0], said[1]
    return said if isinstance(said, str) else None


def write_info(info: ListenerInfo, *, began_ms: int) -> bytes:
    """Write the description of a listener for its hash of records. Instead of `up_ms` it has the time at which the
    listener began, by the server's clock.
    """
    fields = [info.host, info.pid, info.version, info.schedules, info.threads, info.state, began_ms, info.trouble]
    packed = bytes(msgpack.packb(fields))
    return packed if len(packed) >= PADDED else bytes(msgpack.packb([*fields, PADDING]))


def quieted(info: ListenerInfo, control: Control) -> ListenerInfo:
    """Say of a listener that it is quiet, if somebody has told it so."""
    return replace(info, state=QUIET) if info.listener in control.quiet else info


def is_info(packed: bytes) -> bool:
    """Say whether the description of a listener can be read."""
    return bool(read_info(packed, listener="", now_ms=0).threads)


def read_info(packed: bytes | None, *, listener: str, now_ms: int) -> ListenerInfo:
    """Read the description of a listener. If there is none, or it cannot be read, return what the name contains."""
    match read_packed(packed):
        case [str(host), int(pid), str(version), dict(names), int(threads), str(state), int(began), *more]:
            return ListenerInfo(
                listener=listener,
                host=host,
                pid=pid,
                version=version,
                schedules={str(name): weight for name, weight in names.items() if type(weight) is int},
                threads=threads,
                state=state,
                up_ms=max(0, now_ms - began),
                trouble=more[0] if more and isinstance(more[0], str) and more[0] != PADDING else None,
            )
    return ListenerInfo(
        listener=listener, host=listener.partition(":")[0], pid=0, version=UNKNOWN, schedules={}, threads=0
    )


def new_name(called: str = "") -> str:
    """Make a name that no listener has used before: as it is called, else by its host; its process; a random part."""
    return f"{called or socket.gethostname()}:{os.getpid()}:{secrets.token_hex(6)}"


class Description:
    """The description of one listener, which began at `began_ms` by the server's clock. For one thread."""

    def __init__(self, info: ListenerInfo, *, began_ms: int) -> None:
        self.info, self._began_ms, self._usual = info, began_ms, info.state
        self.packed = write_info(info, began_ms=began_ms)

    def of(self, trouble: str | None, state: str | None = None) -> bytes:
        """Write it, with what makes no progress in the listener, and what it does now (None: as it registered)."""
        state = state or self._usual
        if (trouble, state) != (self.info.trouble, self.info.state):
            self.info = replace(self.info, trouble=trouble, state=state)
            self.packed = write_info(self.info, began_ms=self._began_ms)
        return self.packed
