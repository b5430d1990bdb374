"""Rows in columns, fitted to a terminal: one column shrinks first, then columns go from the right; nothing wraps."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workkit.cli.printing import terminal, wording

GAP = 2
SHORTEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its title, the least width, and whether it is the one that is shortened first."""

    title: str
    least: int = 0
    shrinks: bool = False


Row = Sequence[str]
STATE_COLOURS = {
    "done": "green",
    "listening": "green",
    "running": "green",
    "due": "yellow",
    "waiting": None,
    "retrying": "yellow",
    "held": "yellow",
    "paused": "yellow",
    "quiet": "yellow",
    "stopping": "yellow",
    "cancelling": "yellow",
    "failed": "red",
    "dead": "red",
}


def show_table(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Print a table on stdout."""
    state = next((place for place, column in enumerate(columns) if column.title == "STATE"), None)
    for number, cells in enumerate(fitted(columns, list(rows), width=terminal.table_width(sys.stdout))):
        if number == 0:
            terminal.data(terminal.paint(_line(cells), "dim", sys.stdout))
        elif state is not None and state < len(cells):
            terminal.data(_line(_painted(cells, state)))
        else:
            terminal.data(_line(cells))


def fitted(columns: Sequence[Column], rows: Sequence[Row], *, width: int | None) -> Iterator[list[str]]:
    """Pad every cell, the titles' line first, so that lines fit `width` columns (None: whatever they need)."""
    table = [[column.title for column in columns], *([wording.printable(cell) for cell in row] for row in rows)]
    widths = [max(column.least, *(wording.cells(row[n]) for row in table)) for n, column in enumerate(columns)]
    if width is not None:
        widths = _narrowed(columns, widths, width)
    for row in table:
        yield [_padded(wording.shorten(cell, size), size) for cell, size in zip(row, widths, strict=False)]


def _narrowed(columns: Sequence[Column], widths: Sequence[int], width: int) -> list[int]:
    """Shorten the column that may shrink; else leave out the last column and try again; cut the first at the end."""
    widths = list(widths)
    shrinking = next((n for n, column in enumerate(columns) if column.shrinks), len(columns))
    while (over := _total(widths) - width) > 0:
        if shrinking < len(widths) and widths[shrinking] - over >= SHORTEST:
            widths[shrinking] -= over
        elif len(widths) > 1:
            widths.pop()
        else:
            widths[0] = max(1, width)
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _padded(cell: str, size: int) -> str:
    return cell + " " * (size - wording.cells(cell))


def _line(cells: Sequence[str]) -> str:
    return (" " * GAP).join(cells).rstrip()


def _painted(cells: Sequence[str], place: int) -> list[str]:
    word = cells[place].strip()
    painted = terminal.paint(word, STATE_COLOURS.get(word), sys.stdout)
    return [*cells[:place], painted + " " * (len(cells[place]) - len(word)), *cells[place + 1 :]]
