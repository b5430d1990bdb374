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


def test_a_subscriber_that_takes_only_warnings_is_asked_about_no_other_events() -> None:
    asked = []

    class Strict:
        def __call__(self, event: Event) -> None:
            raise AssertionError("never called")

        def takes(self, level: int) -> bool:
            return level >= events.WARNING

        def wants(self, name: str) -> bool:
            asked.append(name)
            return True

    unsubscribe = events.subscribe(Strict())
    try:
        assert [events.wanted(name) for name in ("started", "done", "late")] == [False, False, True]
        assert asked == ["late"]
    finally:
        unsubscribe()
