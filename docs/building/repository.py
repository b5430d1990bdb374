"""Pages and links of the repository, as they are on the site.

A link in a page is a path in the repository, so it works there too. On the site the pages of `spec/` are those of
`docs/spec/`, and SECURITY.md and its neighbours those of `docs/project/`: each of these includes one, and the links in
what it includes are read from where they are written. A link to a file that is no page leads to a copy of the file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS, SPEC = ROOT / "docs", ROOT / "spec"
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")


def shown_at(file: Path) -> Path:
    """Return the page of the site that shows a file; the file itself where none does."""
    if file.parent == ROOT:
        page = DOCS / "index.md" if file.name == "README.md" else DOCS / "project" / file.name.lower()
        return page if page.exists() else file
    if file.suffix != ".md" or not file.is_relative_to(SPEC):
        return file
    page = DOCS / file.relative_to(ROOT)
    return page.with_name("index.md") if page.name == "README.md" else page


def moved(text: str, written: Path, read: Path) -> str:
    """Turn the links of a text that is written in one folder into links for one that is read in another."""

    def link(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(written / found[1]))
        if target.is_dir():
            raise ValueError(f"a link to {found[1]} in {written}: a folder is no page. Name a file in it.")
        return Path(os.path.relpath(shown_at(target), read)).as_posix()

    return LINK.sub(link, text)


def read_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put in what a page includes, and move its links."""
    folder = Path(app.env.doc2path(docname)).parent

    def included(found: re.Match[str]) -> str:
        file = (folder / found[1]).resolve()
        app.env.note_dependency(str(file))
        return moved(file.read_text(encoding="utf-8"), file.parent, folder)

    source[0] = INCLUDE.sub(included, moved(source[0], folder, folder))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it."""
    app.connect("source-read", read_page)
    return {"parallel_read_safe": True}
