"""The jobs that `workkit demo` adds and runs: two functions as anybody would write them."""

from __future__ import annotations

from itertools import count

_ticks = count(1)


def hello(to: str = "world") -> None:
    """Greet."""
    print(f"hello, {to}")


def tick() -> None:
    """Count."""
    print(f"tick {next(_ticks)}")
