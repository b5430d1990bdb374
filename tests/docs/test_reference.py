"""The pages of the reference that people write: each names all that the code has."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import pytest

from docs.building.tables import PAGES, made
from tests.processes import ROOT
from workkit import schedule
from workkit.cli import failure
from workkit.cli.settings import READERS

FOLDER = ROOT / "docs" / "reference"
INNER = {"WORKKIT_COMPLETE"}  # asked by shells, not by people


def rows(page: str) -> set[str]:
    """List the names in code in the first column of the tables of a page."""
    first = re.findall(r"^\| ([^|]+) \|", (FOLDER / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_made_from_the_code_is_as_the_code_is(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = page.read_text(encoding="utf-8")
    assert made(text) == text, "run: python -m docs.building.tables"


def test_a_table_of_the_reference_reads_well_where_no_directive_is_known() -> None:
    directives = set(
        re.findall(r"^```{([^}]+)}", "".join(page.read_text("utf-8") for page in FOLDER.glob("*.md")), re.MULTILINE)
    )
    assert directives <= {"eval-rst", "toctree"}  # the docstrings of Python, and the order of pages
    assert {"WORKKIT_THREADS", "WORKKIT_TZ", "WORKKIT_LAYOUT"} <= rows("settings.md")


def test_the_keywords_of_create_are_those_of_its_signature() -> None:
    text = (FOLDER / "keywords.md").read_text(encoding="utf-8")
    section = text.partition("## create\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert named == set(inspect.signature(schedule.create).parameters) - {"name"}


def test_every_environment_variable_is_an_option_or_in_the_table() -> None:
    source = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "workkit").rglob("*.py"))
    read = set(re.findall(r"\"(WORKKIT_[A-Z_]*[A-Z])\"", source)) - INNER - {"WORKKIT_APP"}  # of Flask's configuration
    options = set(re.findall(r"envvar=\"(WORKKIT_\w+)\"", source))
    assert len(read) > 15
    assert read - options <= rows("settings.md")


@pytest.mark.parametrize(
    "status", [failure.USAGE, failure.MISSING, failure.REFUSED, failure.SERVER, failure.BUG, failure.RETRYING]
)
def test_every_exit_code_has_a_row(status: int) -> None:
    assert f"\n| {status} | " in (FOLDER / "exit-codes.md").read_text(encoding="utf-8")


def test_every_setting_of_pyproject_is_named() -> None:
    text = (FOLDER / "settings.md").read_text(encoding="utf-8").partition("## pyproject.toml")[2]
    assert [name for name in READERS if not re.search(rf"(?m)^{name} = |`{name}`", text)] == []


def test_every_extra_for_users_is_on_the_page_about_installing() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "docs" / "guide" / "installing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert named == project["optional-dependencies"].keys() - {"docs", "test"}
