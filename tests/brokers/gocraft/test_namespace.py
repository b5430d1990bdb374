"""The comparer of gocraft namespaces names what differs, and leaves alone what is volatile."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.brokers.gocraft import vectors
from tests.brokers.gocraft.namespace import Side, differences, dump

AT = 1795219153.0


def running() -> dict[str, Any]:
    """A recorded namespace in which two workers run a job each."""
    (step,) = (one for one in vectors.steps("in_progress") if one["step"].startswith("two running"))
    return copy.deepcopy(step["dump"])


def later(recorded: dict[str, Any], seconds: int) -> dict[str, Any]:
    """The same namespace with all other ids, in another process, some time later."""
    text = json.dumps(recorded).replace("host-a", "elsewhere").replace("28815", "1")
    text = re.sub(r"\b17952191\d\d\b", lambda match: str(int(match[0]) + seconds), text)
    text = re.sub(r"\b[0-9a-f]{24}\b", lambda match: hashlib.sha1(match[0].encode()).hexdigest()[:24], text)
    found: dict[str, Any] = json.loads(text)
    return found


def compared(recorded: dict[str, Any], actual: dict[str, Any], *, seconds: int = 0) -> list[str]:
    return differences(Side(dump=recorded, at=AT), Side(dump=actual, at=AT + seconds))


def test_other_ids_and_another_time_are_no_difference() -> None:
    actual = later(running(), 5000)
    assert actual != running()
    assert compared(running(), actual, seconds=5000) == []


def test_a_dump_of_another_time_differs_in_its_times() -> None:
    found = compared(running(), later(running(), 5000), seconds=4000)
    assert found
    assert all("times, in seconds from now" in each for each in found)


LIST = "gv:jobs:export"
RUNNING = "gv:jobs:export:069559feac5d4deff06deaab:inprogress"


def _set(*place: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        *way, last, value = place
        for each in way:
            found = found[each]
        found[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda found: found.pop(LIST), "'gv:jobs:export': recorded 1 times, found 0 times"),
        (_set("gv:new", {"type": "string", "ttl": None, "value": "1"}), "'gv:new': recorded 0 times, found 1 times"),
        (_set("gv:jobs:export:lock", "value", "2"), "'gv:jobs:export:lock':"),
        (_set("gv:jobs:export:lock", "ttl", 5), "time to live: recorded None, found 5"),
        (_set("gv:jobs:export:lock", "type", "set"), "'gv:jobs:export:lock':"),
        (lambda found: found[LIST]["value"].pop(), "'gv:jobs:export':"),
        (_set(RUNNING, "value", 0, '{"name": "export"}'), "inprogress'"),
        (_set("gv:known_jobs", "value", ["export"]), "'gv:known_jobs':"),
        (_set("gv:worker:8e08d08fd4733f14b659d97f", "value", "job_id", "0" * 24), "not in the same places"),
        (
            lambda found: found["gv:worker_pools:069559feac5d4deff06deaab"]["value"].update(worker_ids="0" * 24),
            "'gv:worker_pools:<ID>':",
        ),
    ],
)
def test_a_difference_is_named(change: Callable[[dict[str, Any]], Any], named: str) -> None:
    changed = running()
    change(changed)
    found = compared(running(), later(changed, 60), seconds=60)
    assert named in "\n".join(found), found


def test_the_order_of_known_jobs_is_compared() -> None:
    """Nothing tells two jobs apart that differ by their ids alone, so whoever knows which is which says it."""
    recorded, actual = running(), later(running(), 0)
    names = [
        {json.loads(text)["id"]: f"job {number}" for number, text in enumerate(found[LIST]["value"])}
        for found in (recorded, actual)
    ]
    sides = [Side(dump=found, at=AT, ids=ids) for found, ids in zip((recorded, actual), names, strict=True)]
    assert differences(*sides) == []
    actual[LIST]["value"].reverse()
    assert compared(recorded, actual) == []
    assert differences(*sides)
    assert differences(*sides, unordered=[LIST]) == []


def test_a_dump_leaves_out_our_own_keys_and_other_namespaces(server: Any) -> None:
    client = server.client()
    client.set("g*:last_periodic_enqueue", "5")
    client.set("g*:workkit:held", "1")
    client.set("gv:jobs:other", "1")
    client.zadd("g*:retry", {"text": 1795219153})
    client.hset("g*:worker:1", mapping={"args": ""})
    client.expire("g*:worker:1", 60)
    assert dump(client, "g*") == {
        "g*:last_periodic_enqueue": {"type": "string", "ttl": None, "value": "5"},
        "g*:retry": {"type": "zset", "ttl": None, "value": [["text", "1795219153"]]},
        "g*:worker:1": {"type": "hash", "ttl": 60, "value": {"args": ""}},
    }
