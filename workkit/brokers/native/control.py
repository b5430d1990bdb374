"""`S:control` read and written: what is paused, and the schedule's own limits. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgpack

from workkit.jobs.admission import Control, Pause

PAUSED = b"paused:"


def read_control(pairs: Sequence[bytes]) -> tuple[bytes, Control]:
    """The version and what it says, from fields and values as they stand; what is not known is for later versions."""
    fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
    paused = {
        name.removeprefix(PAUSED).decode("utf-8", "replace"): read_pause(value)
        for name, value in fields.items()
        if name.startswith(PAUSED)
    }
    limit, turn = fields.get(b"limit"), fields.get(b"turn_ms")
    control = Control(paused=paused, limit=int(limit) if limit else None, turn_ms=float(turn) if turn else None)
    return fields.get(b"v", b""), control


def read_pause(packed: bytes) -> Pause:
    """One pause."""
    reason, until_ms, *_ = msgpack.unpackb(packed)
    return Pause(reason=reason, until_ms=until_ms)


def write_pause(pause: Pause) -> bytes:
    """The inverse."""
    return bytes(msgpack.packb([pause.reason, pause.until_ms]))
