"""Events and their subscribers."""

from __future__ import annotations

from dataclasses import dataclass

from workkit import events
from workkit.events import Event


def test_a_subscriber_that_fails_to_be_asked_hinders_nothing() -> None:
    @dataclass
    class Picky:
        least: int = 0

        def __call__(self, event: Event) -> None:
            raise AssertionError("never called")

        def wants(self, name: str) -> bool:
            raise SystemExit(3)

        def count(self, name: str, number: int, late_ms: int) -> None:
            raise SystemExit(4)

    unsubscribe = events.subscribe(Picky())
    try:
        assert not events.wanted("done")
        events.count("done", 1, 0)
    finally:
        unsubscribe()
