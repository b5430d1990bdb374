"""Draw the pictures of the terminal: what real commands print, with its colours, as SVG.

`python -m tests.docs.make_pictures` writes `docs/pictures/terminal/NAME.svg`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from tests.processes import ROOT
from tests.terminals import Terminal

PICTURES: Final = ROOT / "docs" / "pictures" / "terminal"
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {"demo": ("demo",), "next": ("next", "every weekday at 9am")}
COLUMNS, LINES = 132, 40
CHARACTER, LINE, MARGIN = 7.8, 18, 14  # pixels, at a font of 13
COLOURS: Final[Mapping[str, str]] = {
    "31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea",
    "90": "#8b949e", "2": "#8b949e",
}  # fmt: skip
PLAIN, GROUND = "#e6edf3", "#0d1117"
CODE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def pieces(line: str) -> Iterator[tuple[str, str]]:
    """Split a line at its escape codes: each text with the colour it has."""
    colour, end = PLAIN, 0
    for code in CODE.finditer(line):
        if text := line[end : code.start()]:
            yield text, colour
        if code[2] == "m":
            found = [COLOURS[number] for number in code[1].split(";") if number in COLOURS]
            colour = found[0] if found else PLAIN
        end = code.end()
    if text := line[end:]:
        yield text, colour


def drawn(text: str) -> str:
    """Draw what a terminal shows."""
    lines = text.rstrip("\n").splitlines()
    width = max(len(CODE.sub("", line)) for line in lines) * CHARACTER + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines, 1):
        spans = "".join(f'<tspan fill="{colour}">{escape(text)}</tspan>' for text, colour in pieces(line))
        rows.append(f'<text x="{MARGIN}" y="{MARGIN + number * LINE - 5}" xml:space="preserve">{spans}</text>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
        'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13">',
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>', *rows, "</svg>", "",
    ])  # fmt: skip


def printed(words: Sequence[str]) -> str:
    """Run a command on a terminal of its own, in an empty folder, and return what it prints below its prompt."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("workkit")), *words]
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        run = Terminal(command, columns=COLUMNS, lines=LINES, cwd=Path(folder), env={"PATH": path})
        with closing(run):
            assert run.wait() == 0, run.text
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        return f"\x1b[90m$\x1b[0m workkit {shown}\n{run.text}"


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    for name, words in COMMANDS.items():
        (PICTURES / f"{name}.svg").write_text(drawn(printed(words)), encoding="utf-8")
        print(PICTURES / f"{name}.svg")
