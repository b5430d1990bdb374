"""What a test changes on a broker through its management API, as an operator does."""

from __future__ import annotations

import json
from base64 import b64encode
from http.client import HTTPConnection
from typing import Any, TypeVar

from workkit.brokers.hutch.broker_facts import ChannelFact, ExchangeFact, NodeFact, QueueFact
from workkit.brokers.hutch.management_api import Management

N = TypeVar("N", ChannelFact, ExchangeFact, NodeFact, QueueFact)


def put(asks: Management, path: str, what: dict[str, Any]) -> None:
    _ask(asks, "PUT", path, json.dumps(what))


def remove(asks: Management, path: str) -> None:
    _ask(asks, "DELETE", path, None)


def _ask(asks: Management, method: str, path: str, body: str | None) -> None:
    host, port = asks.site.nodes[0]
    line = HTTPConnection(host, port, timeout=10)
    login = b64encode(f"{asks.site.user}:{asks.site.password}".encode()).decode()
    try:
        line.request(
            method, f"/api{path}", body, {"Authorization": f"Basic {login}", "Content-Type": "application/json"}
        )
        answer = line.getresponse()
        assert answer.status < 300, (answer.status, answer.read())
    finally:
        line.close()


def told(answer: list[N]) -> dict[str, N]:
    """What the API answered, by name."""
    return {one.name: one for one in answer}
