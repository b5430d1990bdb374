"""Text measured in the columns of a terminal: a wide character fills two, a combining one none. Pure."""

from __future__ import annotations

import re
import unicodedata

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours, as `terminal.paint` writes them
_NO_WIDTH = ("Mn", "Me", "Cf")


def cells(text: str) -> int:
    """Count the terminal columns of a printable text; its colours have none."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def _cell(char: str) -> int:
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` columns, ending in an ellipsis where something was cut."""
    if len(text) * 2 <= width or cells(text) <= width:
        return text
    return _beginning(text, width - 1) + "…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Fill a text up to `width` columns with blanks."""
    return text + " " * (width - cells(text))


def folded(text: str, width: int, *, indent: int | None = None) -> list[str]:
    """Break a text into lines of `width` columns at its blanks; only a word that no line can hold is cut.

    Lines after the first begin with `indent` blanks; as the text itself does, by default.
    """
    if cells(text) <= width:
        return [text]
    lead = " " * min(len(text) - len(text.lstrip(" ")) if indent is None else indent, width // 2)
    lines, line, gap, used = [], "", "", False
    for piece in re.split(r"( +)", text):
        if not piece or piece.isspace():
            gap += piece
            continue
        if used and cells(line + gap + piece) > width:
            lines.append(line)
            line, gap = lead[: max(0, width - cells(piece))], ""
        line, gap, used = line + gap + piece, "", True
        while cells(line) > width and "\x1b" not in line:
            head = _beginning(line, width)
            lines.append(head)
            line = lead + line[len(head) :]
    return [*lines, line]


def _beginning(text: str, width: int) -> str:
    """Take as much of a text as fits."""
    used = 0
    for place, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:place]
    return text
