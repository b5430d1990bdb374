"""Undo a change of one job in a native schedule: put back exactly what its step took away."""

from __future__ import annotations

from typing import Any

from workkit.brokers.native.keys import Keys
from workkit.brokers.native.look.listing import standing_items
from workkit.brokers.redis_server.script import load
from workkit.brokers.redis_server.server import Server
from workkit.contract.undo import Undo
from workkit.errors import ChangedMeanwhile
from workkit.jobs.names import shown


def put_back(undo: Undo, *, server: Server, keys: Keys, change: bytes) -> None:
    """Put it back. Raises ChangedMeanwhile. `change`: who does so, for the script."""
    script, until = load("native")["undo"], "" if undo.until_ms is None else undo.until_ms
    reply = server.call(script, script.keys(keys, which=undo.job.id), [undo.kept, until, change])
    if reply != b"done":
        trouble = _trouble(
            undo, reply.decode().rpartition(":")[2], is_waiting=bool(standing_items(server, keys, undo.job.id))
        )
        name = undo.job.name or f"{undo.job.short_id} {shown(undo.job.fn)}"
        raise ChangedMeanwhile.about(name, trouble, given=undo.job.id)


def _trouble(undo: Undo, key: str, *, is_waiting: bool) -> str:
    """Say what stands now, from the key of which something differs."""
    if key == "past":
        return "is past the time that was left out"
    if undo.verb == "cancel":
        taken: dict[str, Any] = {
            "jobs": "was added again meanwhile, and is as it was added",
            "names": "is the name of another job by now",
            "unique": f'is not unique any more: another job has the key "{undo.job.terms.unique_key}" by now',
            "control": "was paused meanwhile",
        }
        return str(taken.get(key, "is another job by now"))
    if undo.verb == "run":
        return "has begun its run, or has ended it"
    return "has another next run by now" if is_waiting else "no longer waits: a listener has its next run"
