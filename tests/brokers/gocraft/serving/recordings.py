"""Recordings of the real library, done by our side: the same keys hold the same bytes, volatile fields aside.

Ids, times and pool ids are volatile, and so is the order of a hash. Keys of our own, and Go's clock of periodic jobs,
are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.brokers.gocraft.serving.fleet import Namespace

_VOLATILE = re.compile(r'"id":"[0-9a-f]{24}"|"(?:t|failed_at)":\d+')
_POOL = re.compile(r"\b[0-9a-f]{24}\b")


def plain(text: str) -> str:
    return _VOLATILE.sub(lambda found: found[0].split(":")[0], text)


def recorded(dump: Mapping[str, Any]) -> dict[str, Any]:
    """What a recorded dump says, without what is volatile."""
    found: dict[str, Any] = {}
    for key, entry in dump.items():
        name, value = key.removeprefix("gv:"), entry["value"]
        if name == "last_periodic_enqueue" or name.startswith("worker"):
            continue
        if entry["type"] == "zset":
            value = sorted(plain(text) for text, _ in value)
        elif entry["type"] == "list":
            value = [plain(text) for text in value]
        elif entry["type"] == "set":
            value = sorted(value)
        elif entry["type"] == "hash":
            value = sorted(value.values())
        else:
            value = plain(value).replace("gv:", "")
        found[_POOL.sub("POOL", name)] = json.loads(json.dumps(value).replace("gv:", ""))
    return found


def dumped(ns: Namespace) -> dict[str, Any]:
    """What our namespace holds, in the same form."""
    found: dict[str, Any] = {}
    prefix = ns.keys.prefix
    for raw in ns.raw.scan_iter(match=f"{prefix}*"):
        name = raw.decode().removeprefix(prefix)
        if name.startswith(("workkit:", "worker")):
            continue
        value: Any
        match ns.raw.type(raw):
            case b"zset":
                value = sorted(plain(text.decode()) for text in ns.raw.zrange(raw, 0, -1))
            case b"list":
                value = [plain(text.decode()) for text in ns.raw.lrange(raw, 0, -1)]
            case b"set":
                value = sorted(member.decode() for member in ns.raw.smembers(raw))
            case b"hash":
                value = sorted(member.decode() for member in ns.raw.hvals(raw))
            case _:
                value = plain(ns.raw.get(raw).decode())
        found[_POOL.sub("POOL", name)] = json.loads(json.dumps(value).replace(prefix, ""))
    return found


def enqueue(ns: Namespace, call: Mapping[str, Any]) -> str:
    args = json.loads(call["args"]) if call.get("args") else None
    due = None if "in" not in call else (ns.producer.now_ms() // 1000 + call["in"]) * 1000
    return ns.add(call["name"], args, key=call.get("key"), once=call.get("unique", False), due_ms=due)


def replay(ns: Namespace, recording: Mapping[str, Any], *, until: str = "make a worker pool") -> int:
    """Replay additions up to a step, and compare at every dump. Returns the number of dumps."""
    dumps = 0
    for step in recording["steps"]:
        if step.get("step") == until:
            break
        if "redis" in step:
            ns.raw.execute_command(*(str(part).replace("gv:", ns.keys.prefix) for part in step["redis"]))
        elif "call" in step and step["call"]["op"] == "enqueue":
            enqueue(ns, step["call"])
        if "dump" in step:
            assert dumped(ns) == recorded(step["dump"]), step["step"]
            dumps += 1
    return dumps


def dump_of(recording: Mapping[str, Any], step: str) -> dict[str, Any]:
    return recorded(next(found["dump"] for found in recording["steps"] if found.get("step") == step))


def without_limits(dump: Mapping[str, Any]) -> dict[str, Any]:
    """Go writes a limit of 0 for every name that has none, and so takes away the limit that another pool has set."""
    return {key: value for key, value in dump.items() if not (key.endswith(":max_concurrency") and value == "0")}
