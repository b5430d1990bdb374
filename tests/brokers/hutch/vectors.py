"""The recordings of hutch, hutch-schedule and event in spec/vectors/hutch/."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from workkit.brokers.hutch.message import Message

FOLDER = Path(__file__).parents[3] / "spec" / "vectors" / "hutch"


@cache
def load(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def records() -> list[dict[str, Any]]:
    return list(load("messages")["messages"])


def deployments() -> dict[str, Any]:
    return dict(load("topology")["deployments"])


def message(record: dict[str, Any]) -> Message:
    """A recorded message, its headers as the client library reads them."""
    return Message(
        exchange=record["exchange"],
        routing_key=record["routing_key"],
        properties=record["properties"],
        headers={name: untyped(value) for name, value in (record["headers"] or {}).items()},
        body=record["body"].encode(),
    )


def untyped(typed: dict[str, Any]) -> Any:
    value = typed["v"]
    match typed["t"]:
        case "A":
            return [untyped(inner) for inner in value]
        case "F":
            return {name: untyped(inner) for name, inner in value.items()}
        case "T":
            return datetime.fromtimestamp(value, UTC)
    return value
