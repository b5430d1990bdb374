"""The kinds of findings: each stands once in the list of its layout, has a row in docs/reference/doctor.md, is made by
a check, and is expected by a test of its room.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest

from docs.building.tables import FINDINGS, findings
from tests.processes import ROOT
from workkit.contract.doctor import SEVERITIES, Kind

PACKAGE, TESTS = ROOT / "workkit", ROOT / "tests"
SECTIONS: Final = tuple(FINDINGS)
ROOMS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("brokers/test_*.py", "brokers/*/doctor/test_*.py", "brokers/hutch/beside/doctor/*.py"),
    "listeners": ("brokers/test_*.py", "brokers/hutch/beside/doctor/*.py", "worker/test_*.py"),
    "native": ("brokers/test_*.py", "test_conformity.py", "cli/test_faults.py", "cli/test_doctor.py"),
    "gocraft": ("brokers/gocraft/doctor/test_*.py", "brokers/gocraft/test_*.py"),
    "hutch": ("brokers/hutch/doctor/test_*.py",),
    "beside": ("brokers/hutch/beside/doctor/*.py",),
}
"""Where the tests of each section are."""


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def sources() -> Iterator[tuple[Path, ast.Module]]:
    """The modules that may make a kind or a finding."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"\b(Kind|Finding)\(", file.read_text(encoding="utf-8")):
            yield file, parsed(file)


def calls(tree: ast.Module, name: str) -> list[ast.Call]:
    return [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func).split(".")[-1] == name]


def made(file: Path) -> list[Kind]:
    """The kinds that a module makes."""
    names = [
        target.id
        for one in parsed(file).body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    ]
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return [kind for name in names if isinstance(kind := getattr(module, name), Kind)]


def of_doctors() -> list[Path]:
    return [file for file, tree in sources() if calls(tree, "Kind")]


def test_every_kind_stands_in_one_section() -> None:
    listed = [id(kind) for section in SECTIONS for kind in findings(section)]
    found = [id(kind) for file in of_doctors() for kind in made(file)]
    assert len(found) > 90
    assert sorted(found) == sorted(listed)


def test_a_kind_is_made_at_the_top_of_its_module_and_a_finding_from_a_kind() -> None:
    for file, tree in sources():
        tops = {id(call) for one in tree.body for call in calls(ast.Module([one], []), "Kind")}
        assert {id(call) for call in calls(tree, "Kind")} <= tops, file
        if file.relative_to(PACKAGE).as_posix() not in ("contract/doctor.py", "brokers/doctor.py"):
            assert not calls(tree, "Finding"), file


@pytest.mark.parametrize("section", SECTIONS)
def test_each_kind_has_its_row_and_no_other_has_one(section: str) -> None:
    page = (ROOT / "docs" / "reference" / "doctor.md").read_text(encoding="utf-8")
    (table,) = re.findall(rf"<!-- made: finding-table {section} -->\n(.*?)<!-- made: end -->", page, re.DOTALL)
    rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    kinds = findings(section)
    assert [row[:2] for row in rows] == [(kind.name, kind.severity) for kind in kinds]
    assert [(row[4] != "-") for row in rows] == [bool(kind.repair) for kind in kinds]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_name_stands_for_one_kind_of_a_section(section: str) -> None:
    """What `wire verify` alone names, and what the doctor names, are two lists."""
    counts = Counter((kind.name, kind.of_wire) for kind in findings(section))
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("section", SECTIONS)
def test_a_kind_says_what_is_wrong_and_why_in_sentences(section: str) -> None:
    for kind in findings(section):
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", kind.name)
        assert kind.severity in SEVERITIES
        assert kind.means.endswith("."), kind
        assert kind.why.endswith((".", "?")), kind
        assert not kind.repair.endswith("."), kind


def test_each_kind_is_found_by_a_check() -> None:
    uses = Counter(
        name
        for file in of_doctors()
        for one in ast.walk(parsed(file))
        if isinstance(one, ast.Name | ast.Attribute)
        and isinstance(one.ctx, ast.Load)
        and (name := one.id if isinstance(one, ast.Name) else one.attr)
    )
    for file in of_doctors():
        module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        names = {id(value): name for name, value in vars(module).items() if isinstance(value, Kind)}
        assert [kind.name for kind in made(file) if not uses[names[id(kind)]]] == [], file


def test_a_finding_is_repaired_where_its_kind_says_so() -> None:
    for file in of_doctors():
        module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
        repaired = {
            call.func.value.id: any(keyword.arg == "subject" for keyword in call.keywords)
            for call in calls(parsed(file), "found")
            if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
        }
        for name, is_repaired in repaired.items():
            if isinstance(kind := getattr(module, name, None), Kind) and is_repaired:
                assert kind.repair, kind


@pytest.mark.parametrize("section", SECTIONS)
def test_each_kind_is_expected_by_a_test_of_its_room(section: str) -> None:
    files = [file for pattern in ROOMS[section] for file in TESTS.glob(pattern)]
    texts = {text for file in files for text in re.findall(r'"([a-z-]+)"', file.read_text(encoding="utf-8"))}
    assert files
    assert [kind.name for kind in findings(section) if kind.name not in texts] == []
