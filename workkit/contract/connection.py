"""What every side of a broker has: one schedule on one server."""

from __future__ import annotations

from typing import Protocol


class Connection(Protocol):
    """One schedule on one server."""

    @property
    def schedule(self) -> str:
        """The schedule's name."""

    @property
    def url(self) -> str:
        """The server's URL, without a password."""

    @property
    def is_on_test_clock(self) -> bool:
        """Whether tests move the server's clock, so that no answer foretells the next one."""

    def now_ms(self) -> int:
        """Estimate the server's clock; only the first call needs a round trip."""

    def ping(self) -> None:
        """Ask the server, which must answer. Raises ServerUnreachable, ServerRefused."""

    def close(self) -> None:
        """Close connections."""
