"""The .lua files of a layout as scripts with their digests. One file per transition; no script text anywhere else.

A line ``-- part: NAME`` stands for what several of them do: the file NAME in the folder `parts`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib import resources
from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class Script:
    """One script: its verb, its text, and the digest under which the server keeps it."""

    name: str
    text: str
    digest: str


_PART = re.compile(r"^-- part: (\w+)$", re.MULTILINE)


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


@cache
def load(layout: str) -> dict[str, Script]:
    """The scripts of a layout by verb."""
    folder = resources.files("workkit.brokers").joinpath(layout, "lua")
    scripts = {}
    for file in folder.iterdir():
        if file.name.endswith(".lua"):
            text = _PART.sub(lambda found: _text(folder / "parts" / f"{found[1]}.lua"), _text(file))
            verb = file.name.removesuffix(".lua")
            scripts[verb] = Script(verb, text, sha1(text.encode(), usedforsecurity=False).hexdigest())
    return scripts
