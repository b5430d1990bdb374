"""Read what any program may have written: packed values, scores, and `S:control` with its pauses, quiet listeners and
limits. A value that cannot be read has no effect on any listener; `workkit doctor` names it. The scripts read pauses by
the same rules (`lua/parts/pause.lua`). All but `standing_control` is pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgpack

from workkit.brokers.redis_server.server import Server
from workkit.jobs.admission import HISTORIES, Control, History, Pause
from workkit.jobs.option_readers import LONGEST_MS
from workkit.jobs.options import MOST_AT_ONCE

FURTHEST_MS: Final = 9 * 10**15  # a time further from 1970 reads as this


def read_packed(packed: bytes | None) -> Any:
    """Unpack a value that only Python listeners read; None if it is missing or cannot be read."""
    try:
        return msgpack.unpackb(packed or b"", unicode_errors="surrogatepass", strict_map_key=False)
    except (ValueError, RecursionError, TypeError):  # TypeError: a map whose key is a list
        return None


def whole_ms(score: float) -> int:
    """Round a score to whole milliseconds, within what a time can be. A program may have set any, also infinity."""
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
    """Read what is kept of past runs; all of it if the text is no such word."""
    return next((known for known in HISTORIES if known.encode() == text), "full")


def read_limit(text: bytes) -> int | None:
    """Read how many runs the limit allows; None if the text is no such number."""
    limit = int(text) if _LIMIT.fullmatch(text) else 0
    return limit if 1 <= limit <= MOST_AT_ONCE else None


def read_turn(text: bytes) -> float | None:
    """Read the milliseconds between two starts; None if the text is no such number."""
    turn = float(text) if _TURN.fullmatch(text) else 0.0
    return turn if 0 < turn <= LONGEST_MS else None


def read_pause(packed: bytes) -> Pause | None:
    """Read a pause; None if the bytes are none."""
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
    """Read the pauses of a control key whose time has not passed, and the schedule's own limits."""
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        pipe.time()
        pipe.hgetall(key)
        (seconds, micros), fields = pipe.execute()
    _, control = standing(fields, now_ms=int(seconds) * 1000 + int(micros) // 1000)
    return control


def standing(fields: Mapping[bytes, bytes], *, now_ms: int) -> tuple[bytes, Control]:
    """Read a control key: its version, the pauses whose time has not passed, and the schedule's own limits. An
    instant up to which deaths are known is none if it is still to come.
    """
    version, control = read_control([part for pair in fields.items() for part in pair])
    lasting = {t: p for t, p in control.paused.items() if p.until_ms is None or p.until_ms > now_ms}
    known = control.known_dead_ms
    return version, replace(control, paused=lasting, known_dead_ms=None if known is None or known > now_ms else known)
