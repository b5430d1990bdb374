"""AMQP URLs: what they say, and which are refused. No password is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workkit import schedule
from workkit.brokers.hutch.address import Address, read_address
from workkit.errors import InvalidSchedule


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("amqp://h", {"nodes": (("h", 5672),), "user": "guest", "password": "guest", "vhost": "/"}),
        ("amqp://h/", {"vhost": "/"}),
        ("amqp://h/%2F", {"vhost": "/"}),
        ("amqp://h/shop", {"vhost": "shop"}),
        ("amqp://h/a%2Fb", {"vhost": "a/b"}),
        ("amqp://u:p%40w%2F@h:1/", {"nodes": (("h", 1),), "user": "u", "password": "p@w/"}),
        ("amqp://u:p@a:1,b,[::1]:3/v", {"nodes": (("a", 1), ("b", 5672), ("::1", 3))}),
        ("amqps://h", {"nodes": (("h", 5671),), "is_tls": True}),
        ("AMQP://h?heartbeat=7", {"heartbeat": 7}),
        ("amqp://", {"nodes": (("127.0.0.1", 5672),)}),
        ("amqps://h?cacertfile=/ca.pem", {"tls": (("cacertfile", "/ca.pem"),)}),
    ],
)
def test_a_url_is_read(url: str, expected: dict[str, Any]) -> None:
    address = read_address(url)
    assert {name: getattr(address, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis://h", "is not an AMQP URL. Write amqp://"),
        ("h:5672", "is not an AMQP URL"),
        ("amqp://h:0", "names a host that is none"),
        ("amqp://h:x", "names a host that is none"),
        ("amqp://u:secret/x@h", "has a login with /, ? or # in it"),
        ("amqp://h/a/b", "has two parts after its host. Write a / in the virtual host as %2F"),
        ("amqp://h?hartbeat=1", "Did you mean heartbeat?"),
        ("amqp://h?heartbeat=soon", "has heartbeat=soon. Write whole seconds"),
        ("amqp://h?cacertfile=x", "has the option cacertfile, which only TLS knows. Write amqps://"),
        ("amqps://h?verify=no", "has verify=no. Accepted: verify_peer, verify_none"),
        (5, "amqp=5 is not a URL"),
    ],
)
def test_what_is_no_amqp_url_is_refused(url: Any, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=re.escape(says)) as refused:
        read_address(url)
    assert "secret" not in str(refused.value)


def test_no_password_is_shown() -> None:
    s = schedule.create("hutch", layout="hutch", amqp="amqp://u:secret@h/v", redis="redis://:secret@h")
    assert "secret" not in f"{s!r} {read_address('amqp://u:secret@h/v')!r}"
    assert isinstance(read_address("amqp://u:secret@h/v"), Address)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"layout": "hutch", "redis": "http://h"}, "redis='http://h' is not a URL"),
        ({"amqp": "amqp://h"}, "Write layout='hutch' or layout='event'"),
        ({"namespace": "x"}, "namespace='x' with layout='native'"),
        ({"layout": "event", "shards": 2}, "an exchange has no such thing"),
        ({"layout": "event", "redis": "redis://h", "shards": 2}, "an exchange has no such thing"),
        ({"layout": "hutch", "limit": 2}, "RabbitMQ alone keeps no limits over all listeners. Name a Redis beside it"),
        ({"layout": "hutch", "rate": "2/second"}, "RabbitMQ alone keeps no limits"),
        ({"layout": "hutch", "namespace": "!"}, 'namespace="!" holds no character that queue names may have'),
    ],
)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidSchedule, match=re.escape(says)):
        schedule.create("hutch", **given)


def test_the_environment_names_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_LAYOUT", "event")
    assert schedule.create("hutch").amqp == "amqp://guest:guest@127.0.0.1:5672/"
    monkeypatch.setenv("WORKKIT_AMQP_URL", "amqp://elsewhere")
    monkeypatch.setenv("WORKKIT_NAMESPACE", "billing")
    s = schedule.create("hutch")
    assert (s.amqp, s.namespace, s.redis) == ("amqp://elsewhere", "billing", None)


@pytest.mark.parametrize("variable", ["WORKKIT_REDIS_URL", "REDIS_URL"])
def test_only_a_redis_that_is_given_is_beside(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "redis://elsewhere")
    assert schedule.create("hutch", layout="hutch").redis is None
    s = schedule.create("hutch", layout="event", redis="redis://here", limit=3, rate="2/second")
    assert (s.redis, s.limit, s.turn_ms) == ("redis://here", 3, 500)
