"""What tests of the worker look at: which events were seen, and how many calls the test handlers had."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests import handlers
from workkit.events import Event

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def named(seen: list[Event], name: str) -> list[Event]:
    """The events of this name."""
    return [event for event in seen if event.name == name]


def calls(n: int) -> Callable[[], bool]:
    """A condition: the test handlers had at least so many calls."""
    return lambda: len(handlers.calls) >= n
