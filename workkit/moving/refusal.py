"""Why an entry cannot be carried over, raised by whoever finds out."""

from __future__ import annotations


class NotCarried(ValueError):
    """An entry that no plan says exactly: the text is the reason, a sentence; `instead` is what to write."""

    def __init__(self, reason: str, instead: str = "") -> None:
        super().__init__(reason)
        self.instead = instead
