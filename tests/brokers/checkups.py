"""What the tests of checkups and repairs share: payloads by hand, listeners that are there, what stands where."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.servers import PAST, Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.broker import Doctor
from workkit.contract.doctor import Finding
from workkit.contract.listener import ListenerInfo

DAY = 86_400_000
HOST = {"no-append-file"}  # the shared servers keep nothing on disk


def registered(server: Server, name: str, *, version: str = "0.1.0") -> NativeBroker:
    broker = open_broker(name, redis=server.url)
    assert isinstance(broker, NativeBroker)
    info = ListenerInfo(
        listener="", host=socket.gethostname(), pid=os.getpid(), version=version, schedules={name: 1}, threads=10
    )
    broker.register(info)
    return broker


def found(doctor: Doctor, *, patience_ms: int = DAY) -> list[Finding]:
    return [f for f in doctor.checkup(patience_ms=patience_ms) if f.kind not in HOST]


def only(doctor: Doctor, kind: str, *, patience_ms: int = DAY) -> Finding:
    """The one finding there is; it must be of this kind and say all its parts."""
    findings = found(doctor, patience_ms=patience_ms)
    assert [f.kind for f in findings] == [kind], findings
    assert all((findings[0].what, findings[0].why, findings[0].remedy))
    return findings[0]


def repaired(doctor: Doctor, finding: Finding) -> None:
    """Repair works once, and leaves nothing to find."""
    assert finding.repairs
    assert doctor.repair(finding)
    assert not doctor.repair(finding)


def payload(cron: str = "* * * * * * 0", fn: str = "#'tests.handlers/note", **more: Any) -> tuple[str, bytes]:
    data = wire.payload(cron=cron, job=fn, args=[], extra=more)
    return wire.job_id(data), data


def fixed(offset: timedelta) -> tuple[str, int]:
    at = (datetime.now(UTC) + offset).replace(microsecond=0)
    return f"{at.year} {at.month} {at.day} * {at.hour} {at.minute} {at.second}", round(at.timestamp() * 1000)


def keys(client: Any, name: str) -> dict[str, Any]:
    """Every key of the schedule, with what is in it, except those that each look or listener touches."""
    out = {}
    for key in client.scan_iter(f"{name}:*"):
        short = key.decode().removeprefix(f"{name}:")
        if not short.startswith(("producer", "running", "listeners", "wake", "watch", "stats", *PAST)):
            kind = client.type(key)
            out[short] = (
                client.hgetall(key)
                if kind == b"hash"
                else dict(client.zrange(key, 0, -1, withscores=True))
                if kind == b"zset"
                else set(client.smembers(key))
            )
    return out


def ran(s: schedule.Schedule) -> int:
    return schedule.drain(s, imports=["tests.handlers"], folder=None).ran
