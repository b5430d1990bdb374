"""A broker: the producer and the consumer of one schedule."""

from __future__ import annotations

from typing import Protocol

from workkit.contract.consumer import Consumer
from workkit.contract.producer import Producer


class Broker(Producer, Consumer, Protocol):
    """Moves the jobs of one schedule. Each method says what is atomic."""
