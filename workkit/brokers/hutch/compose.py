"""The messages that workkit publishes: a new one, a retry, a dead one. Pure.

Normative: spec/layouts/hutch.md, sections 3, 6 and 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha1
from secrets import token_bytes
from typing import Any, Final
from uuid import UUID

from workkit.brokers.hutch.message import ATTEMPT, DUE, ERROR, FAILED_AT, KEY, OPTIONS, QUEUE, REASON, Message, portable
from workkit.brokers.hutch.names import Dialect, Names, cut
from workkit.brokers.hutch.topology import LONGEST_MS, delay_key, first_step, step_exchange, waiting_key

MOST_ERROR: Final = 2000  # characters of a kept error

_NOT_AGAIN: Final = frozenset({"expiration", "user_id", "delivery_mode"})
"""Properties that a copy must leave out: an expiration would end it in the ladder, and a broker refuses the user id of
another login.
"""

_OF_FAILURES: Final = frozenset({KEY, ATTEMPT, ERROR, REASON, FAILED_AT, QUEUE, "x-delivery-count"})


def new(
    names: Names,
    job: str,
    body: bytes,
    *,
    now_ms: int,
    due_ms: int | None = None,
    content: bytes | None = None,
    priority: int | None = None,
) -> Message:
    """Compose a new message for every queue that is bound to a key, published now, or delayed until it is due.

    `content`: the source of its id, so that equal content has one id; None for a random id.
    """
    due = now_ms if due_ms is None else due_ms
    seed = None if content is None else sha1(content, usedforsecurity=False).digest()
    message = Message(
        exchange=names.exchange,
        routing_key=job,
        properties=_properties(names.dialect, now_ms, seed, priority),
        headers={DUE: due},
        body=body,
    )
    return message if due <= now_ms else _delayed(names, message, job, due - now_ms)


def again(
    names: Names, message: Message, *, queue: str, attempt: int, now_ms: int, delay_ms: int, error: str | None = None
) -> Message:
    """Compose the copy that returns a message to one queue of ours, as attempt number `attempt` (from 0)."""
    private = names.private_key(queue)
    due = now_ms + delay_ms if delay_ms or message.due_ms is None else message.due_ms
    said: dict[str, Any] = {KEY: message.key, ATTEMPT: attempt, DUE: due}
    if error is not None:
        said[ERROR] = error[:MOST_ERROR]
    copy = _copy(names.own_exchange, private, message, said)
    return copy if delay_ms <= 0 else _delayed(names, copy, private, delay_ms)


def delayed_again(names: Names, message: Message, *, now_ms: int) -> Message:
    """Compose the copy of a delayed message that waits for the rest of its delay."""
    left_ms = min(max(1, (message.due_ms or 0) - now_ms), LONGEST_MS)
    copy = _copy("", "", message, {ERROR: error} if (error := message.headers.get(ERROR)) else {})
    headers = {name: value for name, value in copy.headers.items() if name != "x-delivery-count"}
    return _delayed(names, replace(copy, headers=headers), message.first_key, left_ms)


def dead(names: Names, message: Message, *, queue: str, attempts: int, now_ms: int, error: str, reason: str) -> Message:
    """Compose the copy for the dead queue. It leaves out the message's `CC`, which would lead the copy back."""
    said = {
        KEY: message.key, ATTEMPT: attempts, ERROR: error[:MOST_ERROR], REASON: reason, FAILED_AT: now_ms, QUEUE: queue,
    }  # fmt: skip
    return _copy(names.exchange, names.dead_key(message.key), message, said)


def revived(
    names: Names,
    message: Message,
    *,
    key: str,
    queue: str | None,
    now_ms: int,
    delay_ms: int = 0,
    body: bytes | None = None,
) -> Message:
    """Compose the copy of a dead message that runs again as one without failures: in the one queue it came from, or, if
    that is unknown, by its real routing key. `body`: a new body, which makes a message with an id of its own.
    """  # fmt: skip
    exchange, at = (names.exchange, key) if queue is None else (names.own_exchange, names.private_key(queue))
    said: dict[str, Any] = {DUE: now_ms + delay_ms}
    if queue is not None:
        said |= {KEY: key, ATTEMPT: 0}
    if body is None:
        clean = {name: value for name, value in message.headers.items() if name not in _OF_FAILURES}
        copy = _copy(exchange, at, replace(message, headers=clean), said)
    else:
        copy = Message(
            exchange=exchange,
            routing_key=at,
            properties=_properties(names.dialect, now_ms, None, message.properties.get("priority")),
            headers={**said, **{name: value for name, value in message.headers.items() if name in OPTIONS}},
            body=body,
        )
    return copy if delay_ms <= 0 else _delayed(names, copy, at, delay_ms)


def _copy(exchange: str, key: str, message: Message, said: Mapping[str, Any]) -> Message:
    kept = {name: value for name, value in message.properties.items() if name not in _NOT_AGAIN}
    kept.setdefault("message_id", cut(message.id))
    headers = {name: value for name, value in portable(message.headers).items() if name != ERROR}
    return Message(
        exchange=exchange,
        routing_key=key,
        properties={**kept, "delivery_mode": 2},
        headers={**headers, **said},
        body=message.body,
    )


def _delayed(names: Names, message: Message, key: str, delay_ms: int) -> Message:
    return Message(
        exchange=step_exchange(names, first_step(delay_ms)),
        routing_key=delay_key(delay_ms),
        properties=message.properties,
        headers={**message.headers, "CC": [waiting_key(key)]},
        body=message.body,
    )


def _properties(dialect: Dialect, now_ms: int, seed: bytes | None, priority: int | None) -> dict[str, Any]:
    seed = seed or token_bytes(16)
    id = seed[:12].hex() if dialect == "event" else str(UUID(bytes=seed[:16], version=4))
    found = {"content_type": "application/json", "delivery_mode": 2, "timestamp": now_ms // 1000, "message_id": id}
    if priority is None and dialect == "event":
        return found
    return {**found, "priority": priority or 0}
