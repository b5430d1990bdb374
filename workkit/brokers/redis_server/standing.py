"""Read the pauses and limits that stand now."""

from __future__ import annotations

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
    now = int(seconds) * 1000 + int(micros) // 1000
    _, control = read_control([part for pair in fields.items() for part in pair])
    standing = {t: p for t, p in control.paused.items() if p.until_ms is None or p.until_ms > now}
    return replace(control, paused=standing)
