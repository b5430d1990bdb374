"""Several questions in one step: answered as one by one, on a full server too."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from tests.servers import Server
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.pages import piped
from workkit.errors import ServerError


def ask(pipe: Any, name: str) -> None:
    """Ask for what is there, and for what is not."""
    for key in (f"{name}:zset", f"{name}:none"):
        pipe.zrange(key, 0, -1, withscores=True)
        pipe.zrange(key, 0, 1, desc=True, withscores=True)
        pipe.zscore(key, b"\xff\x00")
        pipe.zrank(key, "b")
        pipe.zrevrank(key, "nothing")
        pipe.zcount(key, "-inf", "(2.5")
        pipe.zcard(key)
    for key in (f"{name}:hash", f"{name}:none"):
        pipe.hgetall(key)
        pipe.hget(key, "f")
        pipe.hexists(key, "f")
        pipe.hkeys(key)
    for key in (f"{name}:list", f"{name}:none"):
        pipe.lrange(key, -2, -1)
        pipe.llen(key)
        pipe.lpos(key, "b", rank=-1, maxlen=5)
        pipe.lindex(key, -1)
    pipe.smembers(f"{name}:set")
    pipe.exists(f"{name}:none")


def test_a_step_answers_as_the_commands_one_by_one(server: Server, name: str) -> None:
    client = server.client()
    client.zadd(f"{name}:zset", {b"\xff\x00": 1.5, "b": 2.5, "c": float("inf")})
    client.hset(f"{name}:hash", mapping={"f": b"\x80", "g": ""})
    client.rpush(f"{name}:list", "a", "b", "b", "c")
    client.sadd(f"{name}:set", "x", "y")
    with redis.Redis.from_url(server.url, protocol=3) as newer:
        one_by_one = piped(connect(server.url), lambda pipe: ask(pipe, name))
        for of in (connect(server.url), connect(newer)):
            client.script_flush()
            for _ in range(2):
                assert piped(of, lambda pipe: ask(pipe, name), whole=True) == one_by_one
            assert piped(of, lambda pipe: None, whole=True) == []


def test_a_step_is_refused_where_a_key_has_another_type(server: Server, name: str) -> None:
    server.client().set(name, "text")
    with pytest.raises(ServerError, match="another kind of value"):
        piped(connect(server.url), lambda pipe: pipe.hgetall(name), whole=True)


def test_a_full_server_answers_a_step(server: Server, name: str) -> None:
    client = server.client()
    client.zadd(name, {"a": 1})
    before = client.config_get("maxmemory")["maxmemory"]
    client.config_set("maxmemory", 1)
    try:
        assert piped(connect(server.url), lambda pipe: pipe.zrange(name, 0, -1), whole=True) == [[b"a"]]
    finally:
        client.config_set("maxmemory", before)
