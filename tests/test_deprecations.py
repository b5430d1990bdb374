"""What is deprecated says what to write instead and when it goes, and has gone by then (docs/versions.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import workkit
from workkit.contract.producer import warn_caller

PACKAGE = Path(workkit.__file__).parent
GOES = re.compile(r"goes in workkit (\d+)\.(\d+)\. (Write|Use|Call|Name) \S")
EXAMPLE = "such as: interval= goes in workkit 0.4. Write every=."


def faults(source: str, *, version: str) -> Iterator[str]:
    """Yield what is wrong with the deprecations in a source, each with its line."""
    now = tuple(int(part) for part in version.split(".")[:2])
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and any(_is_deprecation(given) for given in _given(node))):
            continue
        text = "".join(str(part.value) for part in ast.walk(node) if isinstance(part, ast.Constant))
        if (found := GOES.search(text)) is None:
            yield f"line {node.lineno}: a DeprecationWarning names the version and what replaces it, {EXAMPLE}"
        elif (int(found[1]), int(found[2])) <= now:
            yield f"line {node.lineno}: this goes in workkit {found[1]}.{found[2]}, and this is {version}: remove it"


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_deprecation(node: ast.expr) -> bool:
    node = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, ast.Name) and node.id in (
        "DeprecationWarning",
        "PendingDeprecationWarning",
        "FutureWarning",
    )


@pytest.mark.parametrize(
    ("source", "wrong"),
    [
        ("warn('interval= goes in workkit 0.4. Write every=.', DeprecationWarning)", ""),
        ("warn(f'{name}= goes in workkit 0.4. Write every=.', category=DeprecationWarning, stacklevel=2)", ""),
        ("warn(DeprecationWarning('add_now goes in workkit 1.0. Call add.'))", ""),
        ("warn('the 7pm is read in UTC', UserWarning)", ""),
        ("warn('interval= is deprecated', DeprecationWarning)", "line 1: a DeprecationWarning names the version"),
        ("\nwarn('interval= goes in workkit 0.4.', FutureWarning)", "line 2: a DeprecationWarning names the version"),
        (
            "warn('interval= goes in workkit 0.3. Write every=.', DeprecationWarning)",
            "line 1: this goes in workkit 0.3, and this is 0.3.1: remove it",
        ),
    ],
)
def test_a_deprecation_names_its_version_and_what_replaces_it(source: str, wrong: str) -> None:
    assert "; ".join(faults(source, version="0.3.1")).startswith(wrong)
    assert bool(wrong) == bool(list(faults(source, version="0.3.1")))


def test_every_deprecation_of_workkit_does() -> None:
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 300
    found = {
        str(file.relative_to(PACKAGE)): wrong
        for file in files
        if (wrong := list(faults(file.read_text(encoding="utf-8"), version=workkit.__version__)))
    }
    assert not found


def test_a_deprecation_points_at_the_line_of_the_caller() -> None:
    with pytest.warns(DeprecationWarning, match=r"^interval= goes in workkit 0\.4\. Write every=\.$") as caught:
        warn_caller("interval= goes in workkit 0.4. Write every=.", DeprecationWarning)
    assert caught[0].filename == __file__
