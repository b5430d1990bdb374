"""The layouts by their names: how a schedule may be stored."""

from __future__ import annotations

from typing import Final

AMQP_LAYOUTS: Final = ("hutch", "event")
"""Layouts on RabbitMQ; all others are on Redis."""

LAYOUTS: Final = ("native", "gocraft", *AMQP_LAYOUTS)

PLAIN_LAYOUTS: Final = ("gocraft", *AMQP_LAYOUTS)
"""Layouts in which functions have plain names."""
