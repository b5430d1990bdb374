"""The frames of a stored traceback, innermost first. Pure; what cannot be read gives no frame."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_FRAME: Final = re.compile(r'  File "([^"\n]{1,1000})", line (\d{1,9})(?:, in ([^\n]{1,300}))?')
_HEAD: Final = "Traceback (most recent call last):"
MOST: Final = 50
PARTS: Final = 3  # names of a path that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFrame:
    """One frame: the end of the file's path, the line, the function, and the line of source, if it was there."""

    file: str
    line: str
    function: str
    source: str


def frames(traceback: str) -> tuple[CodeFrame, ...]:
    """Read the frames of the error itself; those of its causes, which stand before it, are left out."""
    lines = traceback.rpartition(_HEAD)[2].split("\n")
    found: list[CodeFrame] = []
    for number, line in enumerate(lines):
        if (read := _FRAME.fullmatch(line)) is None:
            continue
        behind = lines[number + 1] if number + 1 < len(lines) else ""
        source = behind.strip() if behind.startswith("    ") else ""
        parts = read[1].replace("\\", "/").split("/")
        found.append(CodeFrame(file="/".join(parts[-PARTS:]), line=read[2], function=read[3] or "", source=source))
    return tuple(found[::-1][:MOST])
