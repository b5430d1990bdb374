"""Text that fits a place: columns of a terminal, bytes and shell words in a sentence, the `repr` of our values.

In a terminal a wide character fills two columns, a combining character none. Pure.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from datetime import datetime, timedelta
from reprlib import Repr
from typing import Any

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours, as `terminal.paint` writes them
_NO_WIDTH = ("Mn", "Me", "Cf")


def cells(text: str) -> int:
    """Count the terminal columns of a printable text; its colours take none."""
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
    """Cut a text to `width` columns; a cut text ends in an ellipsis."""
    if len(text) * 2 <= width or cells(text) <= width:
        return text
    return _beginning(text, width - 1) + "…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Fill a text up to `width` columns with blanks."""
    return text + " " * (width - cells(text))


def folded(text: str, width: int, *, indent: int | None = None) -> list[str]:
    """Break a text into lines of `width` columns at its blanks; only a word that fits no line is cut.

    Lines after the first begin with `indent` blanks; by default with as many as the text itself.
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
    """Return as much of the beginning of a text as fits."""
    used = 0
    for place, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[:place]
    return text


LONGEST_ID = 60  # characters of an id of another program in a command; the beginning names the job


def bytes_text(data: bytes) -> str:
    """Write bytes as text so that different bytes stay different; at most 200 bytes."""
    return data[:200].decode("utf-8", "backslashreplace")


def brief_bytes(data: bytes) -> str:
    """Show bytes in a sentence: an id by its beginning, anything else by up to 60 characters."""
    said = bytes_text(data)
    if re.fullmatch(r"[0-9a-f]{40}", said):
        return said[:8]
    return said if len(said) <= 60 else said[:57] + "..."


def id_word(data: bytes) -> str:
    """Write an id as an argument of a command: its beginning names the job. See `shell_word`."""
    text = data.decode("utf-8", "surrogateescape")
    return text[:8] if re.fullmatch(r"[0-9a-f]{40}", text) else text[:LONGEST_ID]


def shell_word(text: str) -> str:
    """Quote a text as one word of a shell. Characters that a terminal does not show, and bytes that are no text
    (surrogates of `surrogateescape`), are escaped as bash, zsh and ksh read them: `$'\\x1b'`.
    """
    if text.isprintable():
        return shlex.quote(text)
    escaped = (
        f"\\{char}" if char in "\\'" else char if char.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
        for char in text
    )  # fmt: skip
    return f"$'{''.join(escaped)}'"


LONGEST = 80  # characters of one text
_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = LONGEST
_short.maxtuple = _short.maxlist = _short.maxdict = 8
_short.maxlevel = 4


def brief_repr(value: Any) -> str:
    """Write a dataclass as a call with the fields that differ from their defaults: ``Job(id='5411...', state='due')``.

    Assign it in the class: ``__repr__ = brief_repr``. A field with ``repr=False`` is left out; a field with
    ``metadata={"inline": True}`` is replaced by the fields of its value.
    """
    return f"{type(value).__name__}({', '.join(_set_fields(value))})"


def _set_fields(value: Any) -> Iterator[str]:
    for field in fields(value):
        if field.repr and not _is_default(field, held := getattr(value, field.name)):
            if field.metadata.get("inline"):
                yield from _set_fields(held)
            else:
                yield f"{field.name}={one_line(held)}"


def one_line(value: object) -> str:
    """Write one value in one line of 160 characters at most."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return str(value)
    text = " ".join(_short.repr(value).split())
    return text if len(text) <= 2 * LONGEST else text[: 2 * LONGEST - 3] + "..."


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default is not MISSING:
        return value is field.default or (type(value) is type(field.default) and value == field.default)
    return field.default_factory is not MISSING and value == field.default_factory()
