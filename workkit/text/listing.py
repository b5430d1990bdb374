"""Counts, places and lists as English writes them."""

from __future__ import annotations

from collections.abc import Sequence


def listed(items: Sequence[str], word: str = "and") -> str:
    """Join items as a sentence does: ``a, b and c``; nothing for no items."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {word} {items[-1]}" if items else ""


def plural(count: int, noun: str) -> str:
    """Count things: ``1 job``, ``1,204 jobs``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ordinal(n: int) -> str:
    """Write 1 as ``1st``, 22 as ``22nd``."""
    return f"{n}{'th' if 10 < n % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
