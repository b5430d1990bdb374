"""The sums of several tables: of listeners side by side, and of processes that run or have ended."""

from __future__ import annotations

import threading

from workkit.worker.monitoring.run_table import MOST_FUNCTIONS, NUMBERS, OTHER, Key, RunTable


class Totals:
    """What all tables count together. A sum never goes down, whichever process ends. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: list[RunTable] = []
        self._ended: dict[Key, list[int]] = {}
        self._labels: dict[Key, Key] = {}

    def add(self, table: RunTable) -> None:
        """Count a table too."""
        with self._lock:
            self._tables.append(table)

    def retire(self, table: RunTable) -> None:
        """Keep the counts of a table whose writer has ended, and give its memory back."""
        with self._lock:
            self._tables.remove(table)
            self._sum(table, self._ended)
            table.close()

    def read(self) -> dict[Key, list[int]]:
        """Sum all tables: schedule and function -> numbers, as `run_table` orders them."""
        with self._lock:
            found = {key: list(numbers) for key, numbers in self._ended.items()}
            for table in self._tables:
                self._sum(table, found)
        return found

    def _sum(self, table: RunTable, into: dict[Key, list[int]]) -> None:
        for key, numbers in table.rows():
            sums = into.setdefault(self._label(key), [0] * NUMBERS)
            for place, number in enumerate(numbers):
                sums[place] += number

    def _label(self, key: Key) -> Key:
        """Bound the functions of all tables together as each table bounds its own; the same key has the same label for
        ever.
        """
        schedule, fn = key
        if fn == OTHER:
            return key
        if key not in self._labels and len(self._labels) < MOST_FUNCTIONS:
            self._labels[key] = key
        return self._labels.get(key, (schedule, OTHER))
