"""The delays of both libraries: 21 queues, and how each rounds seconds to one of them. Pure.

Normative: spec/layouts/hutch.md, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from workkit.brokers.hutch.names import Dialect

LEVELS: Final = (
    5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 2400, 3000, 3600, 7200, 10800,
)  # fmt: skip
_OF_EVENT: Final = tuple(level for level in LEVELS if level not in (480, 3000))  # it never uses these two


def level_of(seconds: float, dialect: Dialect) -> int:
    """Round a delay to the level that the library chooses: the next one up, at most the last.

    Below 0 hutch-schedule chooses the last level; event does so below 1.
    """
    if seconds < (1 if dialect == "event" else 0):
        return LEVELS[-1]
    levels: Sequence[int] = _OF_EVENT if dialect == "event" else LEVELS
    return next((level for level in levels if seconds <= level), LEVELS[-1])
