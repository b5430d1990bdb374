"""A page of the documentation as blocks: what a reader may run, in the order of the page.

A comment in front of a block says what a reader of the page is told in words:

- `<!-- file: app.py -->`: the block is this file, which the reader saves;
- `<!-- not run: REASON -->`: the block cannot run in a test.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.processes import ROOT

README = ROOT / "README.md"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), README])
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>file|not run): (?P<said>[^\n]+?) -->\n+)?"
    r"(?:^```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$|^    (?P<line>\S[^\n]*)$)",
    re.MULTILINE | re.DOTALL,
)


class Part(NamedTuple):
    """A block of a page: its language, or "line" for an indented one; its text, and the line of the page it is on.

    `file`: the name under which the reader saves it. `reason`: why it does not run. Both are empty elsewhere.
    """

    kind: str
    text: str
    line: int
    file: str = ""
    reason: str = ""


def parts_of(page: Path) -> list[Part]:
    """Read the blocks of a page, without the directives of Sphinx."""
    text = page.read_text(encoding="utf-8")
    return [part for found in BLOCK.finditer(text) if not (part := _part(found, text)).kind.startswith("{")]


def _part(found: re.Match[str], text: str) -> Part:
    kind = "line" if found["line"] else found["kind"]
    said = {found["mark"]: found["said"]}
    return Part(
        kind,
        found["line"] or found["text"],
        text.count("\n", 0, found.start("line" if found["line"] else "text")) + 1,
        file=said.get("file", ""),
        reason=said.get("not run", ""),
    )


class Step(NamedTuple):
    """A command of a console block, without its prompt, and the lines that follow it on the page."""

    command: str
    output: list[str]


def steps_of(text: str) -> list[Step]:
    """Read a console block. What stands before its first prompt belongs to a command that runs already: "" stands for
    it.
    """
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:], []))
        else:
            if not steps:
                steps.append(Step("", []))
            steps[-1].output.append(line)
    return steps


def pattern(line: str) -> str:
    """Make the pattern of a line on the page: `...` stands for any text, an address of this machine for any port."""
    parts = (".*".join(map(re.escape, part.split("..."))) for part in re.split(r"127\.0\.0\.1:\d+", line))
    return r"127\.0\.0\.1:\d+".join(parts)


def differs(expected: list[str], printed: list[str]) -> str:
    """Compare what a page shows with what was printed. Return "" if they agree, else the first line that is missing.

    A line `...` alone stands for any number of lines.
    """
    text, any_lines = "", False
    for line in expected:
        if line.strip() == "...":
            any_lines = True
            continue
        text += (r"(?:.*\n)*?" if any_lines else "") + pattern(line) + r"\s*\n"
        any_lines = False
        if not re.match(text, "".join(f"{one}\n" for one in printed)):
            return line
    whole = text + (r"(?:.*\n)*" if any_lines else "")
    return "" if re.fullmatch(whole, "".join(f"{one}\n" for one in printed)) else "(the end)"
