"""Rows in columns, fitted to a terminal. Long cells are cut, then the least important columns go; lines never wrap.

Every command that prints rows uses this module. In a pipe every cell has its full width. With `--json` the records are
one array (`show_json`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from workkit.cli import terminal
from workkit.contract.record import Record, compact
from workkit.text import wording
from workkit.text.cells import cells, padded, shorten

GAP = 2
SHORTEST = 8  # the fewest columns of a cell that is cut
NOTHING = ("-", "")  # the texts of an empty cell
LONGEST = 400  # the most characters of a cell in a pipe; --json has all of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its title, and its least width if there is room.

    `cut_to`: the least width to which its cells may be cut (0: never). `rank`: the column with the highest rank is left
    out first; one with rank 0 is never left out. Empty columns go before all others. `is_call`: it holds calls of
    functions, and cutting keeps the name of the function.
    """

    title: str
    least: int = 0
    cut_to: int = 0
    rank: int = 0
    is_call: bool = False


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
    """Write the lines of a table. If stdout has colour, titles are dim and the STATE column is coloured."""
    lines = fitted(columns, rows, width=width)
    titles = next(lines)
    yield terminal.paint(_line(titles), "dim", sys.stdout)
    state = next((place for place, title in enumerate(titles) if title.rstrip() == "STATE"), None)
    for row in lines:
        yield _line(row if state is None else _coloured(row, state))


def fitted(columns: Sequence[Column], rows: Sequence[Row], *, width: int | None) -> Iterator[list[str]]:
    """Pad every cell, the titles' line first, so that lines fit `width` columns (None: no limit)."""
    texts = [[shorten(wording.printable(cell), LONGEST) for cell in row] for row in rows]
    widths = _natural(columns, texts, roomy=True)
    if width is not None and _total(widths) > width:
        widths = _natural(columns, texts, roomy=False)
    empty = {n for n in range(len(columns)) if texts and all(row[n] in NOTHING for row in texts)}
    left = _left(columns, widths, width, empty)
    sizes = _narrowed([columns[n] for n in left], [widths[n] for n in left], width)
    for row in ([column.title for column in columns], *texts):
        yield [padded(_cut(columns[n], row[n], size), size) for n, size in zip(left, sizes, strict=True)]


def _cut(column: Column, text: str, size: int) -> str:
    """Shorten a cell. Of a call, the modules are cut first: ``…send_reminder("tra…``."""
    path, bracket, arguments = text.partition("(")
    if column.is_call and cells(text) > size and cells(path) + 2 > size:
        name = re.split(r"[./]", path)[-1]
        text = f"…{name}{bracket}{arguments}" if name != path else text
    return shorten(text, size)


def aligned(rows: Sequence[Row], *, gap: int = GAP, most: int | None = None) -> Iterator[str]:
    """Write rows without titles: every column as wide as its cells, at most `most`. Empty columns are left out.

    A cell that is wider than its column shifts the rest of its row.
    """
    texts = [[wording.printable(cell) for cell in row] for row in rows]
    widths = [max(map(cells, column)) for column in zip(*texts, strict=True)]
    sizes = [width if most is None else min(width, most) for width in widths]
    for row in texts:
        yield (" " * gap).join(padded(cell, size) for cell, size in zip(row, sizes, strict=True) if size).rstrip()


def _natural(columns: Sequence[Column], texts: Sequence[Row], *, roomy: bool) -> list[int]:
    """Return the uncut width of each column. `roomy`: at least its desired width."""
    return [
        max([column.least if roomy else 0, cells(column.title), *(cells(row[n]) for row in texts)])
        for n, column in enumerate(columns)
    ]


def _left(columns: Sequence[Column], widths: Sequence[int], width: int | None, empty: Set[int]) -> list[int]:
    """Leave out columns by their rank, empty ones first, until the others fit with their cells cut."""
    left = list(range(len(columns)))
    while width is not None and len(left) > 1 and _total(_floor(columns[n], widths[n]) for n in left) > width:
        last = max(left, key=lambda n: (columns[n].rank > 0 and n in empty, columns[n].rank, n))
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


def show_json(records: Iterable[Record]) -> int:
    """Print one array, one object a line, each as soon as it is read. Return the number of objects."""
    count = 0
    for record in records:  # nothing is printed before the first is read: that may fail
        terminal.data((",\n" if count else "[") + compact(record), newline=False)
        count += 1
    terminal.data("]" if count else "[]")
    return count
