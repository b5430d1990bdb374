"""A message of the dead queue, as far as the doctor reads it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.brokers.hutch.message import FAILED_AT, KEY, REASON, Message, instant_ms, text, whole
from workkit.brokers.hutch.names import DEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """`key`: its real routing key. `failed_ms`: when it failed, where that is known. `is_ours`: workkit moved it there.
    `returns`: it still has the routing key of its work queue. `was_delayed`: it has waited in a delay queue before.
    """

    key: str
    failed_ms: int | None = None
    is_ours: bool = False
    returns: bool = False
    was_delayed: bool = False


def read_letter(message: Message) -> Letter:
    """Read a message of the dead queue. Never raises. event publishes it anew, so its timestamp says when it failed."""
    is_ours = bool(text(message.headers.get(REASON)))
    said = whole(message.headers.get(FAILED_AT)) if is_ours else None
    named = text(message.headers.get(KEY)) if is_ours else ""
    return Letter(
        key=named or message.routing_key.removeprefix(DEAD),
        failed_ms=said if said is not None else instant_ms(message.properties.get("timestamp")),
        is_ours=is_ours,
        returns="CC" in message.headers and not is_ours,
        was_delayed="x-death" in message.headers,
    )
