"""Compare what a broker holds, and what passes through it, with the recordings of the real libraries.

Volatile: message ids and consumer tags, of which the pattern counts, and times, which have to be those of now.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pika
from pika.compat import long

LISTED = {
    "exchanges": ("name", "type", "durable", "auto_delete", "internal", "arguments"),
    "queues": ("name", "durable", "auto_delete", "exclusive", "arguments", "type"),
    "bindings": ("source", "destination", "destination_type", "routing_key", "arguments"),
}
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
IDS = {"a UUID": UUID, "24 hexadecimal digits": "[0-9a-f]{24}"}


def listing(definitions: Mapping[str, Any], vhost: str) -> dict[str, list[str]]:
    """What definitions say of a virtual host, as a recorded listing has it, each object as one text."""
    found = {}
    for kind, members in LISTED.items():
        objects = [one for one in definitions[kind] if one["vhost"] == vhost]
        found[kind] = [{name: _member(kind, one, name) for name in members} for one in objects]
    return ordered(found)


def ordered(objects: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, list[str]]:
    """The objects as texts, in one order."""
    return {kind: sorted(json.dumps(one, sort_keys=True) for one in objects[kind]) for kind in LISTED}


def _member(kind: str, one: Mapping[str, Any], name: str) -> Any:
    if name in ("exclusive", "internal"):
        return one.get(name, False)  # definitions hold no exclusive queue, and name what is internal only
    if (kind, name) == ("queues", "type"):
        return one["arguments"].get("x-queue-type", "classic")
    return one[name]


def pattern(message_id: str) -> str:
    """What kind of id it is; one that a caller chose counts as it is."""
    return next((kind for kind, digits in IDS.items() if re.fullmatch(digits, message_id)), message_id)


class Tap:
    """Reads a copy of all that passes through exchanges, from a queue of its own."""

    def __init__(self, url: str, *exchanges: str) -> None:
        self.seen: list[dict[str, Any]] = []
        self._connection = pika.BlockingConnection(pika.URLParameters(url))
        channel = self._connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        for exchange in exchanges:
            channel.exchange_declare(exchange, "topic", durable=True)
            channel.queue_bind(queue, exchange, "#")
        channel.basic_consume(queue, self._take, auto_ack=True)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.join(10)
        self._connection.close()

    def _read(self) -> None:
        while not self._is_over.is_set():
            self._connection.process_data_events(0.05)

    def _take(self, _: Any, method: Any, properties: Any, body: bytes) -> None:
        said = {
            name: value
            for name, value in vars(properties).items()
            if value is not None and name not in ("headers", "timestamp")
        }
        if properties.timestamp is not None:
            said["timestamp"] = int(properties.timestamp)
        headers = None if properties.headers is None else {k: typed(v) for k, v in properties.headers.items()}
        self.seen.append(
            {
                "exchange": method.exchange, "routing_key": method.routing_key, "properties": said, "headers": headers,
                "body": body.decode(), "tapped_at": time.time(),
            }
        )  # fmt: skip


def typed(value: Any) -> dict[str, Any]:
    """A header value with its type on the wire, as the recordings write it."""
    match value:
        case long():
            return {"t": "l", "v": int(value)}
        case datetime():
            return {"t": "T", "v": int(value.replace(tzinfo=UTC).timestamp())}
        case str():
            return {"t": "S", "v": value}
        case list():
            return {"t": "A", "v": [typed(one) for one in value]}
        case dict():
            return {"t": "F", "v": {name: typed(one) for name, one in value.items()}}
    return {"t": type(value).__name__, "v": value}


def steady(message: Mapping[str, Any]) -> str:
    """A message as one text without its volatile parts."""
    properties = {**message["properties"]}
    properties["message_id"] = pattern(properties.get("message_id", "none"))
    properties["timestamp"] = "timestamp" in properties
    kept = {name: message[name] for name in ("exchange", "routing_key", "headers", "body")}
    return json.dumps(_timeless({**kept, "properties": properties}), sort_keys=True, ensure_ascii=False)


def _timeless(value: Any) -> Any:
    match value:
        case {"t": "T", "v": int()}:
            return "a time"
        case dict():
            return {name: _timeless(one) for name, one in value.items()}
        case list():
            return [_timeless(one) for one in value]
    return value


def times(message: Mapping[str, Any]) -> list[int]:
    """The times of a message, in epoch seconds."""
    deaths = (message["headers"] or {}).get("x-death") or {"v": []}
    return [int(message["properties"]["timestamp"]), *(int(death["v"]["time"]["v"]) for death in deaths["v"])]
