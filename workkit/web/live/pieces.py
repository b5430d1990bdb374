"""The pieces of a page that go on by themselves, cut out of the page as it was written. Pure.

A template marks them: elements with an `id` and `data-live`. They may stand in one another. What differs between two
writings of a page is told in whole pieces, the smallest that hold it. So there is one template for a page, and none for
its changes. That the cut is exact rests on autoescape: no text and no attribute of ours holds a `<` or a `>`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

OPENING: Final = re.compile(r'<([a-z][a-z0-9]*)\b(?=[^<>]*? data-live\b)(?=[^<>]*? id="([^"]+)")[^<>]*>')
INSTANT: Final = re.compile(r'(<time\b[^<>]*?) title="[^"]*"')
COUNTDOWN: Final = re.compile(r'(<time class="(?:[^"]* )?cd(?: [^"]*)?"[^<>]*>)[^<]*')


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece: its HTML; what of it is compared, without the pieces in it and without what the browser counts down;
    and the piece around it.
    """

    html: str
    compared: str
    outer: str | None


Pieces = Mapping[str, Piece]
"""By the id of the element; a piece stands after the one around it."""


def pieces_of(page: str) -> dict[str, Piece]:
    """Cut the pieces out of a page."""
    spans = [(found[2], found.start(), _end(page, found)) for found in OPENING.finditer(page)]
    around: list[tuple[str, int]] = []
    inner: dict[str, list[tuple[str, int, int]]] = {}
    outer: dict[str, str | None] = {}
    for name, start, end in spans:
        while around and around[-1][1] <= start:
            around.pop()
        outer[name] = around[-1][0] if around else None
        if around:
            inner.setdefault(around[-1][0], []).append((name, start, end))
        around.append((name, end))
    return {
        name: Piece(page[start:end], _compared(page, start, end, inner.get(name, [])), outer[name])
        for name, start, end in spans
    }


def changed(before: Pieces, after: Pieces) -> dict[str, str]:
    """Tell the pieces that differ, by id; one that stands in another that differs is not told by itself."""
    told: dict[str, str] = {}
    for name, piece in after.items():
        if _is_within(piece, after, told):
            continue
        old = before.get(name)
        if old is None or old.compared != piece.compared:
            told[name] = piece.html
    return told


def tag_of(pieces: Pieces) -> str:
    """Make an `ETag`: it changes with what is compared."""
    text = "\0".join(f"{name}\0{piece.compared}" for name, piece in pieces.items())
    return f'"{hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]}"'


def _is_within(piece: Piece, pieces: Pieces, told: Mapping[str, str]) -> bool:
    name = piece.outer
    while name is not None:
        if name in told:
            return True
        name = pieces[name].outer
    return False


def _end(page: str, opening: re.Match[str]) -> int:
    """Find the end of an element: where as many of its kind have ended as have begun."""
    depth = 0
    for tag in re.compile(rf"<(/?){opening[1]}\b[^<>]*>").finditer(page, opening.start()):
        depth += -1 if tag[1] else 1
        if depth == 0:
            return tag.end()
    raise ValueError(f"<{opening[1]} id={opening[2]!r}> is not closed")


def _compared(page: str, start: int, end: int, inner: list[tuple[str, int, int]]) -> str:
    parts, at = [], start
    for name, first, last in inner:
        parts += [page[at:first], f"<{name}>"]
        at = last
    return COUNTDOWN.sub(r"\1", INSTANT.sub(r"\1", "".join([*parts, page[at:end]])))
