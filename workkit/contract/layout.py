"""The layouts by their names: how a schedule may be stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

AMQP_LAYOUTS: Final = ("hutch", "event")
"""Layouts on RabbitMQ; all others are on Redis."""

LAYOUTS: Final = ("native", "gocraft", *AMQP_LAYOUTS)

PLAIN_LAYOUTS: Final = ("gocraft", *AMQP_LAYOUTS)
"""Layouts in which functions have job names: plain ones, and in gocraft any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnRabbitmq:
    """Where an exchange is, in place of a Redis: the URL of its RabbitMQ; what its queues are named after, and the URL
    of the management API, each empty where it follows from the others; the Redis beside it (a URL or a client), or
    None.
    """

    amqp: str
    namespace: str = ""
    management: str = ""
    redis: Any = None
