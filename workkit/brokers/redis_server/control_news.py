"""What a listener knows of the control key: pauses and limits, from the last answer that told it anything new."""

from __future__ import annotations

from collections.abc import Sequence

from workkit.brokers.redis_server.control import read_control
from workkit.jobs.admission import FREE, Control


class ControlNews:
    """`version` of the key is what a listener sends with its requests, so that the server answers only what is new."""

    def __init__(self) -> None:
        self.control: Control = FREE
        self.version = b""
        self._is_news = False

    def hear(self, pairs: Sequence[bytes]) -> None:
        """Read the fields and values of an answer; none: nothing is new."""
        if pairs:
            (self.version, self.control), self._is_news = read_control(pairs), True

    def take(self) -> Control | None:
        """Return what is new since the last call; None: nothing."""
        is_news, self._is_news = self._is_news, False
        return self.control if is_news else None
