"""The .lua files of a layout as scripts with their digests. One file per transition; no script text anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib import resources


@dataclass(frozen=True, slots=True)
class Script:
    """One script: its verb, its text, and the digest under which the server keeps it."""

    name: str
    text: str
    digest: str


@cache
def load(layout: str) -> dict[str, Script]:
    """The scripts of a layout by verb."""
    folder = resources.files("workkit.brokers").joinpath(layout, "lua")
    scripts = {}
    for file in folder.iterdir():
        if file.name.endswith(".lua"):
            text = file.read_text(encoding="utf-8")
            verb = file.name.removesuffix(".lua")
            scripts[verb] = Script(verb, text, sha1(text.encode(), usedforsecurity=False).hexdigest())
    return scripts
