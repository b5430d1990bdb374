"""Days and cells as the scripts write them, for tests that need a past: spec/history.md."""

from __future__ import annotations

from datetime import date

import msgpack

from workkit.brokers.native.history import packed_cell
from workkit.contract.history import ENDINGS, Cell, Day


def write_day(day: Day) -> bytes:
    """Write a day: its number since 1970 (2 bytes), then the worst ending (4 bits) and the runs (20 bits)."""
    number = (day.day - date(1970, 1, 1)).days
    return number.to_bytes(2, "big") + (ENDINGS.index(day.worst) + 1 << 20 | day.runs).to_bytes(3, "big")


def write_cell(cell: Cell) -> bytes:
    """Write a cell."""
    return bytes(msgpack.packb(packed_cell(cell)))
