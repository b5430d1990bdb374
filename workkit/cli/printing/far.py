"""How far a long command is: a line on stderr every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from workkit.cli.printing import terminal

REPORT_SECONDS = 10.0


class Far:
    """Call it with each count that is reached. `words` writes the line. A command that ends soon prints none."""

    def __init__(self, words: Callable[[int], str]) -> None:
        self._words = words
        self._last = time.monotonic()

    def __call__(self, count: int) -> None:
        """Print the line, if the last one is old."""
        if time.monotonic() - self._last >= REPORT_SECONDS:
            self._last = time.monotonic()
            terminal.talk(self._words(count))
