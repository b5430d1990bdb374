"""The jobs that `workkit demo` adds and runs: two ordinary functions."""

from __future__ import annotations

from itertools import count

_ticks = count(1)


def hello(to: str = "world") -> None:
    """Print a greeting."""
    print(f"hello, {to}")


def tick() -> None:
    """Print a count."""
    print(f"tick {next(_ticks)}")
