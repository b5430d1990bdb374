"""A page as viewers of one kind see it, and the pieces that its stream sends.

A `LiveView` has all inputs of the HTML. Viewers with the same inputs share it, so it holds nothing of one viewer: no
name, no token, no number of a form. The HTML is cut into the elements with an `id` and `data-live`, which may be
nested. A change is sent in whole pieces, the smallest that contain it, so a page needs one template and none for its
changes. The cut is exact because of autoescape: no text and no attribute of ours holds a `<` or a `>`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from workkit.contract.inspector import Pulse
from workkit.errors import ServerUnreachable, WorkkitError
from workkit.web.auth import Role, Who
from workkit.web.page import Frame, Looking
from workkit.web.response import refusal_of, render
from workkit.web.words import url_path

OPENING: Final = re.compile(r'<([a-z][a-z0-9]*)\b(?=[^<>]*? data-live\b)(?=[^<>]*? id="([^"]+)")[^<>]*>')
INSTANT: Final = re.compile(r'(<time\b[^<>]*?) title="[^"]*"')
COUNTDOWN: Final = re.compile(r'(<time class="(?:[^"]* )?cd(?: [^"]*)?"[^<>]*>)[^<]*')


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece: its HTML; the part of it that is compared, without inner pieces and without countdowns of the browser;
    and the piece around it.
    """

    html: str
    compared: str
    outer: str | None


Pieces = Mapping[str, Piece]
"""Pieces by the id of their element. A piece comes after the one that contains it."""


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
    """Return the HTML of the pieces that differ, by id. A piece within another differing piece is left out."""
    found: dict[str, str] = {}
    for name, piece in after.items():
        if _is_within(piece, after, found):
            continue
        old = before.get(name)
        if old is None or old.compared != piece.compared:
            found[name] = piece.html
    return found


def tag_of(pieces: Pieces) -> str:
    """Make an `ETag`: it changes with what is compared."""
    text = "\0".join(f"{name}\0{piece.compared}" for name, piece in pieces.items())
    return f'"{hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]}"'


def _is_within(piece: Piece, pieces: Pieces, found: Mapping[str, str]) -> bool:
    name = piece.outer
    while name is not None:
        if name in found:
            return True
        name = pieces[name].outer
    return False


def _end(page: str, opening: re.Match[str]) -> int:
    """Find the end of an element: where as many elements of its kind have ended as have begun."""
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


Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveView:
    """One page as one kind of viewer sees it."""

    looking: Looking
    frame: Frame

    @property
    def key(self) -> Key:
        """The facts that two viewers must have in common to share the view."""
        frame, look = self.frame, self.looking
        asked = (tuple(sorted(look.names.items())), tuple(sorted(look.params.items())))
        return look.page.name, *asked, frame.role, frame.zone_name, frame.theme, frame.root

    def draw(self, pulse: Pulse) -> Pieces:
        """Make the page and write its pieces. A refusal is a page too. It blocks. Raises ServerUnreachable."""
        look = self.looking
        try:
            asked, view = look.at(pulse)
        except ServerUnreachable:
            raise
        except WorkkitError as error:
            frame = replace(self.frame, title=look.page.title, page=look.page.name)
            return pieces_of(render("error.html", {"frame": frame, "refused": refusal_of(error)}))
        look.keep(asked, view, self.frame)
        return pieces_of(render(look.page.template, {"frame": look.framed(self.frame, asked), "view": view}))


def shared(frame: Frame, role: Role, *, path: str, params: Mapping[str, str]) -> Frame:
    """Make the frame of a live view from that of one viewer."""
    anybody = Who(name="", roles=role, via="local", session="")
    query = f"?{urlencode(params)}" if params else ""
    return replace(
        frame, who=anybody, role=role, token="", feed="", is_shared=True, here=f"{frame.base}{url_path(path)}{query}"
    )  # fmt: skip
