"""The last lines that a run has logged, as they are kept while it runs and after it failed: spec/history.md 7. What
captures the records of `logging` is in `run.py`, which knows the current run.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

MOST_LINES: Final = 200
MOST_BYTES: Final = 16_384  # of all lines
LONGEST_LINE: Final = 1_000  # characters
OWN: Final = "workkit"  # its records are the listener's, not those of a handler
_FORMAT: Final = logging.Formatter()


class RunLog:
    """The last lines of one run. `add` is for the threads of its handler, the rest for the loop's. `told`: how many
    lines the server knows.
    """

    __slots__ = ("_announce", "_lines", "count", "told")

    def __init__(self, announce: Callable[[], None] | None = None) -> None:
        self._announce = announce
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self.count = self.told = 0

    def add(self, lines: Iterable[str]) -> None:
        """Keep some lines, and say that there are news."""
        for line in lines:
            self._lines.append(line)
            self.count += 1
        if self._announce is not None:
            self._announce()

    def text(self) -> str:
        """Write the last lines, as many as fit."""
        kept: list[str] = []
        room = MOST_BYTES
        for line in reversed(list(self._lines)):
            room -= len(line.encode()) + 1
            if room < 0:
                break
            kept.append(line)
        return "\n".join(reversed(kept))

    def news(self) -> list[str]:
        """Take the lines that were added since the last call, as far as they are kept."""
        count = self.count
        new, self.told = min(count - self.told, MOST_LINES), count
        return list(self._lines)[-new:] if new else []


def lines_of(record: logging.LogRecord) -> Iterator[str]:
    """Write a record as lines: when (UTC), its level, its logger, its message; then its traceback, if it has one. The
    arguments of the record are code of somebody else, and may raise anything.
    """
    at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    text = f"{at} {record.levelname} {record.name}: {record.getMessage()}"
    if record.exc_info and record.exc_info[0] is not None:
        text += "\n" + _FORMAT.formatException(record.exc_info)
    for line in text.splitlines()[-MOST_LINES:]:
        cut = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
        yield cut.encode("utf-8", "backslashreplace").decode()  # without lone surrogates
