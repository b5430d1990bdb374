"""A message of the dead queue, as far as the doctor reads it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.brokers.hutch.look.dead_message import DeadMessage
from workkit.brokers.hutch.message import Message


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
    """Read a message of the dead queue. Never raises. Where its real routing key is not known, its own one counts."""
    one = DeadMessage(message)
    return Letter(
        key=one.key or message.routing_key,
        failed_ms=one.failed_ms,
        is_ours=one.is_ours,
        returns="CC" in message.headers and not one.is_ours,
        was_delayed="x-death" in message.headers,
    )
