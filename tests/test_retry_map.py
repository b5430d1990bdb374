"""`retry(map=function)`: dead jobs run again with arguments that a function makes of theirs."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgpack
import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.servers import Server
from workkit import aio, job, schedule
from workkit.errors import CorruptRecord, InvalidArguments, InvalidOptions

HERE: dict[str, Any] = {"imports": [__name__], "folder": None}
RAN: list[Any] = []
MAPPED: list[Any] = []
FAILS = [True]


@job("mapped.export")
def export(user: int, day: str = "?") -> None:
    RAN.append((user, day))
    if FAILS[0]:
        raise OSError("disk full")


@job("mapped.open")
def anything(*args: Any, **kwargs: Any) -> None:
    raise OSError(f"{args} {kwargs}")


@job("mapped.body", retries=0)
def body(*, user: int, day: str = "?") -> None:
    export(user, day)


def to_tuple(user: int, day: str = "?") -> tuple[Any, ...]:
    MAPPED.append(user)
    if user == 13:
        raise LookupError("no user 13")
    return user + 100, "monday"


def to_dict(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"user": kwargs.get("user", args[0] if args else 0), "day": "friday"}


@pytest.fixture(autouse=True)
def fresh() -> None:
    RAN.clear()
    MAPPED.clear()
    FAILS[0] = True


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


def die(s: schedule.Schedule, fn: str = "@mapped.export", *users: int, **options: Any) -> list[str]:
    ids = [schedule.add_now(s, fn, args=[user], **options).id for user in users or (7,)]
    schedule.drain(s, raise_errors=False, **HERE)
    RAN.clear()
    return ids


def run(s: schedule.Schedule) -> list[Any]:
    FAILS[0] = False
    schedule.drain(s, raise_errors=False, **HERE)
    return sorted(RAN)


def test_each_dead_job_runs_with_what_the_function_returns(s: schedule.Schedule) -> None:
    ids = die(s, "@mapped.export", 1, 2, 3)
    assert schedule.retry(s, map=to_tuple) == 3
    assert sorted(MAPPED) == [1, 2, 3]
    assert not set(ids) & {one.id for one in schedule.jobs(s)}
    assert schedule.dead(s) == []
    assert run(s) == [(101, "monday"), (102, "monday"), (103, "monday")]


def test_a_dict_replaces_all_arguments_and_so_does_a_tuple(s: schedule.Schedule) -> None:
    schedule.add_now(s, "@mapped.open", args=[1, 2], kwargs={"user": 3, "other": 4})
    schedule.drain(s, raise_errors=False, **HERE)
    schedule.retry(s, map=to_dict)
    (new,) = schedule.jobs(s)
    assert (new.args, new.kwargs) == ((), {"user": 3, "day": "friday"})
    schedule.drain(s, raise_errors=False, **HERE)
    schedule.retry(s, map=lambda **named: (named["user"],))
    (new,) = schedule.jobs(s)
    assert (new.args, new.kwargs) == ((3,), None)


@pytest.mark.parametrize("how", [{"map": to_tuple}, {"args": [107, "monday"]}], ids=["map", "args"])
def test_what_belongs_to_the_job_stays(s: schedule.Schedule, server: Server, how: Any) -> None:
    (id,) = die(
        s, name="nightly", unique_key="u/7", priority=2, meta={"request": "r1"}, timeout="1m", expires="1h",
        retries=0, keep="1h",
    )  # fmt: skip
    (dead,) = schedule.dead(s)
    assert schedule.retry(s, id, **how) == 1
    (new,) = schedule.jobs(s)
    assert (new.name, new.meta, new.options, new.terms) == (dead.name, dead.meta, dead.options, dead.terms)
    assert new.id != id
    assert run(s) == [(107, "monday")]
    client = server.client()
    assert not client.exists(f"{s.name}:jobs", f"{s.name}:next", f"{s.name}:again", f"{s.name}:dead", f"{s.name}:slots")


def test_a_dead_occurrence_becomes_a_job_of_its_own(s: schedule.Schedule) -> None:
    added = schedule.add(s, "@mapped.export", args=[7], every="hour", name="often", overlap="skip", count=50)
    schedule.drain(s, now=datetime.now(UTC) + timedelta(minutes=61), raise_errors=False, **HERE)
    RAN.clear()
    dead = schedule.dead(s)
    assert dead
    assert schedule.retry(s, added.id, map=to_tuple) == len(dead)
    new = [one for one in schedule.jobs(s) if one.id != added.id]
    assert [(one.args, one.recurs, one.name) for one in new] == [((107, "monday"), False, "often")] * len(dead)
    assert run(s) == [(107, "monday")] * len(dead)
    assert schedule.job(s, "often").id == added.id


def test_one_that_fails_refuses_all_before_the_first_is_changed(s: schedule.Schedule) -> None:
    ids = die(s, "@mapped.export", 12, 13, 14)
    with pytest.raises(InvalidArguments) as refused:
        schedule.retry(s, map=to_tuple)
    assert str(refused.value) == (
        f"{ids[1][:8]} mapped.export(13): to_tuple() raised: LookupError: no user 13. Correct the function."
    )
    assert {dead.id for dead in schedule.dead(s)} == set(ids)
    assert list(schedule.jobs(s, state="due")) == []


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda user, day, more: (1,), "takes 3 arguments; args has 1"),
        (lambda user: ("text",), "is annotated int"),
        (lambda user: (1, "a", "b"), "takes 1 to 2 arguments; args has 3"),
        (lambda user: None, "returned None, which are no arguments. Return a tuple of them"),
        (lambda user: "text", 'returned "text", which are no arguments'),
        (lambda user: {1: 2}, "returned {1: 2}, which are no arguments"),
        (lambda user: (object(),), "has no form in JSON"),
    ],
    ids=["parameters", "type", "too many", "none", "text", "names", "no json"],
)
def test_what_does_not_fit_is_refused(s: schedule.Schedule, function: Any, said: str) -> None:
    die(s)
    with pytest.raises(InvalidArguments, match=r"mapped\.export") as refused:
        schedule.retry(s, map=function)
    if said != "has no form in JSON":
        assert said in str(refused.value)
    assert len(schedule.dead(s)) == 1


async def _coroutine(user: int) -> None: ...


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"map": 5}, "map=5 is no function. Write map=from_v1."),
        ({"map": _coroutine}, "is a coroutine function"),
        ({"map": to_tuple, "args": [1]}, "args= and map= were both given"),
        ({"map": to_tuple, "kwargs": {"user": 1}}, "kwargs= and map= were both given"),
    ],
    ids=["number", "coroutine", "args", "kwargs"],
)
def test_a_map_is_one_plain_function(s: schedule.Schedule, how: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOptions) as refused:
        schedule.retry(s, **how)
    assert said in str(refused.value)


def test_a_coroutine_does_so_too(s: schedule.Schedule) -> None:
    die(s)
    assert asyncio.run(aio.retry(s, map=to_tuple)) == 1
    assert run(s) == [(107, "monday")]


def test_a_gocraft_job_gets_named_ones(server: Server, name: str) -> None:
    s, ns = schedule.create(name, redis=server.url, layout="gocraft"), Namespace(server, name)
    ns.add("mapped.body", {"user": 7})
    schedule.drain(s, raise_errors=False, **HERE)
    assert schedule.retry(s, map=to_dict) == 1
    RAN.clear()
    assert run(s) == [(7, "friday")]


def test_the_payload_keeps_members_that_are_unknown(s: schedule.Schedule, server: Server) -> None:
    die(s)
    client = server.client()
    ((dead_id, packed),) = client.hgetall(f"{s.name}:graves").items()
    grave = msgpack.unpackb(packed)
    payload = json.loads(grave["payload"]) | {"theirs": {"a": 1}, "opts": {"retries": 3, "foreign": "x"}}
    grave["payload"] = json.dumps(payload, sort_keys=True, separators=(",", ":")).encode()
    client.hset(f"{s.name}:graves", dead_id, msgpack.packb(grave))
    schedule.retry(s, map=to_tuple)
    (stored,) = map(json.loads, client.hvals(f"{s.name}:jobs"))
    assert (stored["theirs"], stored["opts"], stored["args"]) == ({"a": 1}, payload["opts"], [107, "monday"])


def test_a_record_that_cannot_be_read_stays_dead_beside_the_others(s: schedule.Schedule, server: Server) -> None:
    client = server.client()
    client.hset(f"{s.name}:jobs", "f" * 40, "no payload")
    client.zadd(f"{s.name}:next", {f'{{"id":"{"f" * 40}"}}': 1})
    die(s, "@mapped.export", 7)
    assert schedule.retry(s, map=to_tuple) == 1
    assert [dead.id for dead in schedule.dead(s)] == ["f" * 40]
    with pytest.raises(CorruptRecord):
        schedule.retry(s, "f" * 40, map=to_tuple)
