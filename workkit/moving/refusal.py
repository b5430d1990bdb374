"""Why an entry cannot be carried over, raised by whoever finds out."""

from __future__ import annotations


class NotCarried(ValueError):
    """An entry that no plan says exactly: the text is the reason, a sentence; `instead` is what to write."""

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead


def not_carried(_spec: object, _item: str, trouble: str, *, hint: str, **_others: object) -> NotCarried:
    """Make the error about an item of a cron field, whose sentence names the item (`triggers/crons/grammars.py`)."""
    return NotCarried(f"{trouble}.", hint)
