"""The size and shape of the package, and the words of its texts, stay within the figures of the day. Lower a figure
when a change makes it smaller; raise one only with a reason in the change.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.processes import ROOT

PACKAGE = ROOT / "workkit"
MOST = {
    "files": 381,
    "lines of code": 63_750,
    "imports, in a thousand lines": 105,
    "lines of a file": 400,
    "files of a folder": 26,
    "members of the five protocols": 45,
    "public class names with two meanings": 55,
    "words of docs/architecture.md": 1_420,
    "banned words in docstrings and comments": 0,
    "banned words in docs/ and spec/": 0,
}
PROTOCOLS = {"Producer", "Broker", "Inspector", "Admin", "Doctor"}  # Normative: docs/architecture.md
# Words that came to mean too many things, and sentences that begin with "What" but ask nothing.
BANNED = re.compile(
    r"(?<!`)\b(?:said|told|meant|hears?|heard|stands?|whose|so many|so long|nobody's)\b"
    r"|(?:^|(?<=[.:;] ))What (?![^.]*\?)",
    re.IGNORECASE | re.MULTILINE,
)


@cache
def _trees() -> dict[Path, tuple[str, ast.Module]]:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    return {path: (text, ast.parse(text)) for path, text in texts.items()}


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                yield first.value


def _code_lines(text: str, tree: ast.Module) -> tuple[int, int]:
    """Count the lines that are neither blank nor a comment nor a docstring, and the ones of imports among them."""
    texts = {line for one in _docstrings(tree) for line in range(one.lineno, (one.end_lineno or 0) + 1)}
    imports: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    lines = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in texts
    ]
    return len(lines), len(imports.intersection(lines))


def _banned(text: str) -> int:
    return sum(1 for _ in BANNED.finditer(text))


@cache
def _figures() -> dict[str, int]:
    counts = [_code_lines(text, tree) for text, tree in _trees().values()]
    code, imports = sum(count for count, _ in counts), sum(count for _, count in counts)
    folders: dict[Path, int] = defaultdict(int)
    meanings: dict[str, int] = defaultdict(int)
    members = 0
    for path, (_, tree) in _trees().items():
        folders[path.parent] += 1
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                meanings[node.name] += not node.name.startswith("_")
                if path.is_relative_to(PACKAGE / "contract") and node.name in PROTOCOLS:
                    members += sum(isinstance(one, ast.FunctionDef | ast.AnnAssign) for one in node.body)
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "spec").rglob("*.md")]
    own = sum(
        sum(_banned(str(one.value)) for one in _docstrings(tree))
        + sum(_banned(line.partition("# ")[2]) for line in text.splitlines())
        for text, tree in _trees().values()
    )
    return {
        "files": len(counts),
        "lines of code": code,
        "imports, in a thousand lines": round(1000 * imports / code),
        "lines of a file": max(len(text.splitlines()) for text, _ in _trees().values()),
        "files of a folder": max(folders.values()),
        "members of the five protocols": members,
        "public class names with two meanings": sum(count > 1 for count in meanings.values()),
        "words of docs/architecture.md": len((ROOT / "docs/architecture.md").read_text(encoding="utf-8").split()),
        "banned words in docstrings and comments": own,
        "banned words in docs/ and spec/": sum(_banned(page.read_text(encoding="utf-8")) for page in pages),
    }


def test_the_house_does_not_grow() -> None:
    found = _figures()
    assert found.keys() == MOST.keys()
    above = {name: f"{found[name]:,}, not {most:,}" for name, most in MOST.items() if found[name] > most}
    assert not above, f"more than the figures of the day: {above}"


def test_a_figure_is_lowered_when_the_house_gets_smaller() -> None:
    found = _figures()
    below = {name: f"{found[name]:,}, not {most:,}" for name, most in MOST.items() if found[name] < 0.95 * most}
    assert not below, f"lower these figures: {below}"
