"""Read the pauses and limits that stand now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workkit.brokers.redis_server.control_key import read_control
from workkit.brokers.redis_server.server import Server
from workkit.jobs.admission import Control


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
