"""Which schedules a server knows: found by their keys, in pages, beside any number of other keys."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase

import pytest

from tests.servers import Server
from workkit import aio, schedule
from workkit.brokers.gocraft.keys import SIGNS as OF_NAMESPACES
from workkit.brokers.gocraft.look import NAMESPACES
from workkit.brokers.native.keys import SIGNS, Keys
from workkit.brokers.native.look.inspector import SCHEDULES, schedule_names
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.key_names import Signs
from workkit.brokers.shards import shard_in, shard_names
from workkit.errors import InvalidSchedule, Unsupported
from workkit.verbs.opening import producer_of


@pytest.mark.parametrize(("signs", "ends"), [(SCHEDULES, [*SIGNS, "past:d:20712"]), (NAMESPACES, [*OF_NAMESPACES])])
def test_every_sign_is_matched_and_read(signs: Signs, ends: list[str]) -> None:
    for name in ("shop", "shop:mails", "{app.0}", "a:jobs"):
        for key in (f"{name}:{end}" for end in ends):
            assert any(fnmatchcase(key, glob) for glob in signs.globs), key
            assert (signs.read(key.encode()) or ("", ""))[0] == name


@pytest.mark.parametrize("key", [b"jobs", b":jobs", b"a b:jobs", b"shop:jobs:1", b"\xff:jobs", b"shop:past:d:x"])
def test_other_keys_tell_of_no_schedule(key: bytes) -> None:
    assert SCHEDULES.read(key) is None


@pytest.mark.parametrize("sign", SIGNS)
def test_each_sign_makes_a_schedule_known(sign: str, server: Server) -> None:
    s, client = schedule.create("shop", redis=server.url), server.client()
    inspector = producer_of(s).inspector
    assert inspector.is_known() is False
    key = f"shop:{sign}"
    match SIGNS[sign]:
        case "hash":
            client.hset(key, "a", 1)
        case "zset":
            client.zadd(key, {"a": 1})
        case _:
            client.xadd(key, {"a": 1})
    assert inspector.is_known() is True
    assert [one.name for one in schedule.schedules(redis=server.url)] == ["shop"]


def test_all_are_found_among_many_other_keys_in_pages_that_take_a_moment(server: Server) -> None:
    client = server.client()
    client.config_set("slowlog-log-slower-than", 20_000)
    client.slowlog_reset()
    pipe = client.pipeline(transaction=False)
    for n in range(60_000):
        pipe.set(f"session:{n}", 1)
        pipe.set(f"app:sessions:{n}:jobs", 1)
    pipe.execute()
    client.zadd(Keys("shop").next, {"a": 1})
    schedule.pause(schedule.create("evening", redis=server.url))
    assert [one.name for one in schedule.schedules(redis=server.url)] == ["evening", "shop"]
    assert client.info("commandstats")["cmdstat_scan"]["calls"] > 100
    assert not [entry for entry in client.slowlog_get() if entry["command"].startswith(b"SCAN")]
    found = schedule_names(connect(server.url), seconds=0.0)
    assert not found.is_whole


def test_a_found_schedule_can_be_used(server: Server) -> None:
    schedule.add_now(schedule.create("shop", redis=server.url), "app:hi")
    spread = schedule.create("spread", redis=server.url, shards=4)
    for n in range(40):
        schedule.add(spread, "app:hi", at="2050-01-01", args=[n])
    found = schedule.schedules(redis=server.url)
    assert [(one.name, one.shards, schedule.counts(one).waiting + schedule.counts(one).due) for one in found] == [
        ("shop", 1, 1),
        ("spread", 4, 40),
    ]
    assert asyncio.run(aio.schedules(redis=server.url)) == found


def test_the_environment_names_the_server(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)
    schedule.add_now(schedule.create("shop"), "app:hi")
    assert [one.name for one in schedule.schedules()] == ["shop"]


def test_a_layout_that_does_not_tell_is_refused() -> None:
    with pytest.raises(Unsupported, match="which does not tell the exchanges of schedules from others"):
        schedule.schedules(layout="event")
    with pytest.raises(InvalidSchedule, match="layout='x' is not known"):
        schedule.schedules(layout="x")


def test_a_shard_is_read_by_its_name() -> None:
    assert [shard_in(name) for name in shard_names("a.b", 11)] == [("a.b", n) for n in range(11)]
    assert [shard_in(name) for name in ("a.0", "{a}", "{a.64}", "{a.00}", "{a.b}", "x{a.0}")] == [None] * 6
