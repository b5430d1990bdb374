"""Docstrings as autodoc reads them: an indented block is code, and needs no mark for that."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sphinx.application import Sphinx


def mark_code(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Put `::` before each indented block that follows an empty line."""
    marked = lines[:1]
    in_block = False
    for before, line in pairwise(lines):
        is_indented = line.startswith("    ")
        if is_indented and not before.strip() and not in_block:
            marked += ["::", ""]
        if line.strip():
            in_block = is_indented
        marked.append(line)
    lines[:] = marked


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it."""
    app.connect("autodoc-process-docstring", mark_code)
    return {"parallel_read_safe": True}
