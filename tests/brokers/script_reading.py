"""The text of a script, as tests read it."""

from __future__ import annotations

import re
from pathlib import Path

BROKERS = Path(__file__).parents[2] / "workkit" / "brokers"
FOLDER = BROKERS / "native" / "lua"
SHARED = BROKERS / "redis_server" / "lua"
_COMMENT = re.compile(r"--.*$", re.MULTILINE)


def source(verb: str, *, folder: Path = FOLDER) -> str:
    """A script, or a part, as it is written."""
    own = folder / f"{verb}.lua"
    return (own if own.is_file() else SHARED / f"{verb}.lua").read_text(encoding="utf-8")


def code(text: str) -> str:
    """A text without its comments, and without the locals of keys and arguments."""
    lines = _COMMENT.sub("", text).splitlines()
    return "\n".join(
        line for line in lines if not re.match(r"local .*(?:= (?:\{ (?:\[\d+\] = )?)?(?:KEYS|ARGV)\[)", line)
    )
