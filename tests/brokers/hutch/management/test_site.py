"""The URL of the management API: what it says, what it takes from the AMQP URL, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from workkit import schedule
from workkit.brokers.hutch.address import Site, read_address, read_site
from workkit.errors import InvalidSchedule


@pytest.mark.parametrize(
    ("url", "amqp", "expected"),
    [
        ("", "amqp://u:p@h:1/v", {"nodes": (("h", 15672),), "user": "u", "password": "p", "shown": "http://h:15672"}),
        ("", "amqps://a,[::1]:7?verify=verify_none", {
            "nodes": (("a", 15671), ("::1", 15671)), "is_tls": True, "tls": (("verify", "verify_none"),),
            "shown": "https://a:15671,[::1]:15671",
        }),
        ("http://h", "amqp://u:p@x", {"nodes": (("h", 15672),), "user": "u", "password": "p", "is_tls": False}),
        ("http://m:q%40@h:81/mq/", "amqp://u:p@x", {
            "nodes": (("h", 81),), "user": "m", "password": "q@", "path": "/mq", "shown": "http://m:***@h:81/mq/",
        }),
        ("https://h?cacertfile=/ca", "amqp://x", {"nodes": (("h", 15671),), "tls": (("cacertfile", "/ca"),)}),
        ("https://h", "amqps://x?cacertfile=/ca", {"is_tls": True, "tls": (("cacertfile", "/ca"),)}),
        ("http://h", "amqps://x?cacertfile=/ca", {"is_tls": False, "tls": ()}),
    ],
)  # fmt: skip
def test_a_management_url_is_read_and_completed(url: str, amqp: str, expected: dict[str, Any]) -> None:
    site = read_site(url, read_address(amqp))
    assert {name: getattr(site, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("url", "says"),
    [
        (
            "amqp://h",
            'management="amqp://h" is not the URL of a management API. Write http:// or https:// and the host',
        ),
        ("h:15672", "is not the URL of a management API"),
        ("http://u:secret@h:0", 'management="http://u:***@h:0" names a host that is none'),
        ("http://h?cacertfile=x", "has the option cacertfile, which only TLS knows. Write https://"),
        ("https://h?heartbeat=5", "has the option heartbeat, which only AMQP knows"),
        (7, "management=7 is not a URL"),
    ],
)
def test_what_is_no_management_url_is_refused(url: Any, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=re.escape(says)) as refused:
        schedule.create("hutch", layout="hutch", management=url)
    assert "secret" not in str(refused.value)


def test_the_environment_names_the_management_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKKIT_LAYOUT", "hutch")
    assert schedule.create("hutch").management == ""
    monkeypatch.setenv("WORKKIT_AMQP_MANAGEMENT_URL", "http://u:secret@h")
    s = schedule.create("hutch")
    assert s.management == "http://u:secret@h"
    assert "secret" not in repr(s)
    assert "secret" not in repr(read_site(s.management, read_address("amqp://h")))
    assert isinstance(read_site("", read_address("amqp://h")), Site)


def test_another_layout_has_no_management_api() -> None:
    with pytest.raises(InvalidSchedule, match=re.escape("management='http://h' with layout='native'")):
        schedule.create("app-tasks", management="http://h")
