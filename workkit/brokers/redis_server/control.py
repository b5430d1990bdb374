"""Read values that any program may have written: packed values, scores, `S:control` with its pauses, quiet listeners
and limits, descriptions of listeners, and taken slots. A value that cannot be read has no effect on any listener;
`workkit doctor` names it. The scripts read pauses by the same rules (`lua/parts/pause.lua`).
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import msgpack

from workkit.brokers.redis_server.pages import ms_of, piped
from workkit.brokers.redis_server.server import Server
from workkit.contract.listener import ListenerInfo
from workkit.jobs.admission import HISTORIES, Control, History, Pause
from workkit.jobs.option_readers import LONGEST_MS
from workkit.jobs.options import MOST_AT_ONCE

FURTHEST_MS: Final = 9 * 10**15  # ms; a time further from 1970 reads as this


def read_packed(packed: bytes | None) -> Any:
    """Unpack a value that only Python listeners read; None if it is missing or cannot be read."""
    try:
        return msgpack.unpackb(packed or b"", unicode_errors="surrogatepass", strict_map_key=False)
    except (ValueError, RecursionError, TypeError):  # TypeError: a map with a list as a key
        return None


packer: Final = partial(msgpack.Packer, use_bin_type=False, unicode_errors="surrogatepass")
"""Makes a packer for scripts, which read texts and bytes alike. Half a character is written as it is."""


def pack(value: Any) -> bytes:
    """Pack a value for a script: see `packer`."""
    return bytes(packer().pack(value))


def whole_ms(score: float) -> int:
    """Round a score to whole milliseconds, within the limits of a time. A program may have set any score, also
    infinity.
    """
    return round(max(-FURTHEST_MS, min(FURTHEST_MS, score)))


LAST_MS = 253_402_300_799_999  # the last millisecond of the year 9999: nothing fires later
PAUSED = b"paused:"
QUIET = b"quiet:"
KNOWN_DEAD = b"known_dead"
_LATER = re.compile(rb"[a-z_]{1,40}(?::.*)?", re.DOTALL)  # a field of a later version
_VERSION, _INSTANT = re.compile(rb"\d{1,18}"), re.compile(rb"\d{1,15}")
_LIMIT, _TURN = re.compile(rb"\d{1,9}"), re.compile(rb"\d+\.?\d*(?:e[-+]?\d+)?")
_ARRAYS = range(0x92, 0xA0)  # the first byte of a packed array of 2 to 15


def read_control(pairs: Sequence[bytes]) -> tuple[bytes, Control]:
    """Read the version, pauses and limits from fields and values. Unknown fields belong to later versions."""
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    paused = {
        name.removeprefix(PAUSED).decode("utf-8", "surrogateescape"): pause
        for name, value in fields.items()
        if name.startswith(PAUSED) and (pause := read_pause(value)) is not None
    }
    limit, turn = read_limit(fields.get(b"limit", b"")), read_turn(fields.get(b"turn_ms", b""))
    history = read_history(fields.get(b"history", b""))
    quiet = frozenset(
        name.removeprefix(QUIET).decode("utf-8", "surrogateescape")
        for name, value in fields.items()
        if name.startswith(QUIET) and value == b"1"
    )
    known = fields.get(KNOWN_DEAD, b"")
    known_dead_ms = int(known) if _INSTANT.fullmatch(known) else None
    control = Control(
        paused=paused, limit=limit, turn_ms=turn, history=history, quiet=quiet, known_dead_ms=known_dead_ms
    )
    return fields.get(b"v", b""), control


def read_history(text: bytes) -> History:
    """Read the setting for past runs; all of them are kept if the text is no such word."""
    return next((known for known in HISTORIES if known.encode() == text), "full")


def read_limit(text: bytes) -> int | None:
    """Read the number of runs that the limit allows; None if the text is no such number."""
    limit = int(text) if _LIMIT.fullmatch(text) else 0
    return limit if 1 <= limit <= MOST_AT_ONCE else None


def read_turn(text: bytes) -> float | None:
    """Read the milliseconds between two starts; None if the text is no such number."""
    turn = float(text) if _TURN.fullmatch(text) else 0.0
    return turn if 0 < turn <= LONGEST_MS else None


def read_pause(packed: bytes) -> Pause | None:
    """Read a pause; None if the bytes are no pause."""
    fields = read_packed(packed) if packed[:1] and packed[0] in _ARRAYS else None
    match fields:
        case [str() | None as reason, None, *_]:
            return Pause(reason=reason)
        case [str() | None as reason, int() | float() as until_ms, *_] if _is_time(until_ms):
            return Pause(reason=reason, until_ms=None if until_ms > LAST_MS else math.floor(until_ms))
    return None


def _is_time(ms: float) -> bool:
    return type(ms) is not bool and math.isfinite(ms)


def write_pause(pause: Pause) -> bytes:
    """Write a pause: the inverse of `read_pause`."""
    return bytes(msgpack.packb([pause.reason, pause.until_ms]))


def is_control(name: bytes, value: bytes) -> bool:
    """Say whether a field of the key can be read, or may belong to a later version."""
    if name.startswith(PAUSED):
        return read_pause(value) is not None
    if name.startswith(QUIET):
        return value == b"1"
    match name:
        case b"limit":
            return read_limit(value) is not None
        case b"turn_ms":
            return read_turn(value) is not None
        case b"known_dead":
            return _INSTANT.fullmatch(value) is not None
        case b"v":
            return _VERSION.fullmatch(value) is not None
    return _LATER.fullmatch(name) is not None


def standing_control(server: Server, key: str) -> Control:
    """Read a control key: the pauses that still last, and the schedule's own limits."""
    now, fields = piped(server, lambda pipe: (pipe.time(), pipe.hgetall(key)))
    return standing(fields, now_ms=ms_of(now))[1]


def standing(fields: Mapping[bytes, bytes], *, now_ms: int) -> tuple[bytes, Control]:
    """Read a control key: its version, the pauses that still last, and the schedule's own limits. An instant up to
    which deaths are acknowledged is ignored if it is in the future.
    """
    version, control = read_control([part for pair in fields.items() for part in pair])
    lasting = {t: p for t, p in control.paused.items() if p.until_ms is None or p.until_ms > now_ms}
    known = control.known_dead_ms
    return version, replace(control, paused=lasting, known_dead_ms=None if known is None or known > now_ms else known)


PADDED = 65  # bytes; with shorter fields the server keeps the hash packed, which is slower
PADDING = "." * PADDED
QUIET_STATE = "quiet"  # the state of a listener that takes no new jobs
UNKNOWN = "?"  # the version of a listener with an unreadable description


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
    fields += [info.coroutines, info.awaited] if info.coroutines else []
    packed = bytes(msgpack.packb(fields))
    return packed if len(packed) >= PADDED else bytes(msgpack.packb([*fields, PADDING]))


def quieted(info: ListenerInfo, control: Control) -> ListenerInfo:
    """Set the state of a listener to quiet, if the schedule orders it to be quiet."""
    return replace(info, state=QUIET_STATE) if info.listener in control.quiet else info


def is_info(packed: bytes) -> bool:
    """Say whether the description of a listener can be read."""
    return bool(read_info(packed, listener="", now_ms=0).threads)


def read_info(packed: bytes | None, *, listener: str, now_ms: int) -> ListenerInfo:
    """Read the description of a listener. If it is missing or unreadable, return the facts in the name."""
    match read_packed(packed):
        case [str(host), int(pid), str(version), dict(names), int(threads), str(state), int(began), *more]:
            rooms = [count if type(count) is int and count > 0 else 0 for count in (*more, 0, 0, 0)[1:3]]
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
                coroutines=rooms[0],
                awaited=rooms[1],
            )
    return ListenerInfo(
        listener=listener, host=listener.partition(":")[0], pid=0, version=UNKNOWN, schedules={}, threads=0
    )


def new_name(called: str = "") -> str:
    """Make a name that no listener has used before: its label, or else its host; its process; a random part."""
    return f"{called or socket.gethostname()}:{os.getpid()}:{secrets.token_hex(6)}"


class Description:
    """The description of one listener, which began at `began_ms` by the server's clock. For one thread."""

    def __init__(self, info: ListenerInfo, *, began_ms: int) -> None:
        self.info, self._began_ms, self._usual = info, began_ms, info.state
        self.packed = write_info(info, began_ms=began_ms)

    def of(self, trouble: str | None, state: str | None = None, awaited: int = 0) -> bytes:
        """Write the description, with the runs that make no progress, the current activity (None: as registered), and
        the number of coroutines.
        """
        state = state or self._usual
        if (trouble, state, awaited) != (self.info.trouble, self.info.state, self.info.awaited):
            self.info = replace(self.info, trouble=trouble, state=state, awaited=awaited)
            self.packed = write_info(self.info, began_ms=self._began_ms)
        return self.packed


MOST_SLOTS: Final = 5_000  # slots that are read; of a key with more, the server counts them

# Open runs of recurring jobs are in the same key, under run:<id>. They are no slots.
_RANGES: Final = ((b"-", b"(run:"), (b"[run;", b"+"))


def ask_slots(pipe: Any, key: str) -> None:
    """Ask for the taken slots, in two answers."""
    for low, high in _RANGES:
        pipe.zrangebylex(key, low, high, start=0, num=MOST_SLOTS)


def grouped(pages: Iterable[Iterable[bytes]]) -> dict[bytes, list[bytes]]:
    """Group slots by key: the names of the runs that have them."""
    found: dict[bytes, list[bytes]] = {}
    for page in pages:
        for member in page:
            key, zero, run = member.partition(b"\0")
            if zero and key:
                found.setdefault(key, []).append(run)
    return found


def bounds(key: bytes) -> tuple[bytes, bytes]:
    """Return the lexical bounds of the members of a key."""
    return b"[" + key + b"\0", b"(" + key + b"\1"
