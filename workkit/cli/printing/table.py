"""Rows in columns, fitted to a terminal: long cells are cut, then the least important columns go; nothing wraps.

Every command that prints rows prints them here. In a pipe every cell has its full width.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from workkit.cli.printing import terminal
from workkit.text import wording
from workkit.text.cells import cells, padded, shorten

GAP = 2
SHORTEST = 8  # of a cell that is cut
LONGEST = 400  # of a cell in a pipe; --json has all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its title and its least width.

    `cut_to`: its cells may be cut to so many columns (0: never). `rank`: the column with the highest rank is
    left out first; one with rank 0 is never left out.
    """

    title: str
    least: int = 0
    cut_to: int = 0
    rank: int = 0


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
    "stuck": "red",
    "dead": "red",
}


def show_table(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Print a table on stdout."""
    for line in table_lines(columns, list(rows), width=terminal.table_width(sys.stdout)):
        terminal.data(line)


def table_lines(columns: Sequence[Column], rows: Sequence[Row], *, width: int | None) -> Iterator[str]:
    """Write the lines of a table, in colour where stdout has colour: dim titles, and the words of the STATE column."""
    lines = fitted(columns, rows, width=width)
    titles = next(lines)
    yield terminal.paint(_line(titles), "dim", sys.stdout)
    state = next((place for place, title in enumerate(titles) if title.rstrip() == "STATE"), None)
    for row in lines:
        yield _line(row if state is None else _coloured(row, state))


def fitted(columns: Sequence[Column], rows: Sequence[Row], *, width: int | None) -> Iterator[list[str]]:
    """Pad every cell, the titles' line first, so that lines fit `width` columns (None: whatever they need)."""
    texts = [[shorten(wording.printable(cell), LONGEST) for cell in row] for row in rows]
    widths = _natural(columns, texts)
    left = _left(columns, widths, width)
    sizes = _narrowed([columns[n] for n in left], [widths[n] for n in left], width)
    for row in ([column.title for column in columns], *texts):
        yield [padded(shorten(row[n], size), size) for n, size in zip(left, sizes, strict=True)]


def aligned(rows: Sequence[Row], *, gap: int = GAP, most: int | None = None) -> Iterator[str]:
    """Write rows without titles: every column as wide as its cells, `most` at most, and none that is empty.

    A cell that is wider than its column moves what comes after it.
    """
    texts = [[wording.printable(cell) for cell in row] for row in rows]
    widths = [max(map(cells, column)) for column in zip(*texts, strict=True)]
    sizes = [width if most is None else min(width, most) for width in widths]
    for row in texts:
        yield (" " * gap).join(padded(cell, size) for cell, size in zip(row, sizes, strict=True) if size).rstrip()


def _natural(columns: Sequence[Column], texts: Sequence[Row]) -> list[int]:
    """Tell how wide each column is where there is room for all."""
    return [
        max([column.least, cells(column.title), *(cells(row[n]) for row in texts)]) for n, column in enumerate(columns)
    ]


def _left(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """Leave out columns by their rank until the rest fits, with its cells cut as far as they may be."""
    left = list(range(len(columns)))
    while width is not None and len(left) > 1 and _total(_floor(columns[n], widths[n]) for n in left) > width:
        last = max(left, key=lambda n: (columns[n].rank, n))
        if columns[last].rank == 0 and _total([1] * len(left)) <= width:
            break
        left.remove(last)
    return left


def _floor(column: Column, size: int) -> int:
    return min(size, column.cut_to) if column.cut_to else size


def _narrowed(columns: Sequence[Column], widths: Sequence[int], width: int | None) -> list[int]:
    """Cut cells until the lines fit: always in the widest column that may be cut further; at the end in any."""
    sizes = list(widths)
    while width is not None and _total(sizes) > width:
        able = [n for n, column in enumerate(columns) if sizes[n] > _floor(column, widths[n])]
        able = able or [n for n, column in enumerate(columns) if column.cut_to and sizes[n] > 1]
        sizes[max(able or range(len(sizes)), key=lambda n: sizes[n])] -= 1
    return sizes


def _total(sizes: Iterable[int]) -> int:
    found = list(sizes)
    return sum(found) + GAP * (len(found) - 1)


def _line(row: Row) -> str:
    return (" " * GAP).join(row).rstrip()


def _coloured(row: Row, place: int) -> list[str]:
    word = row[place].strip()
    colour = terminal.paint(word, STATE_COLOURS.get(word), sys.stdout)
    return [*row[:place], colour + " " * (len(row[place]) - len(word)), *row[place + 1 :]]
