"""The pages for people: every path that they name exists, and the architecture answers a stranger's questions. The
lists of the tiers name tests that exist.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import tiers

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("docs/**/*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))],
)
NAMED = re.compile(r"(?<![\w./-])((?:workkit|tests|spec|docs|interop|examples|\.ci)/[\w./*-]*[\w*/])")
DIRECTIVE = re.compile(r"^```\{(?!include).*?^```$", re.MULTILINE | re.DOTALL)  # lists pages of the site, not files
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)(?:#[^)]*)?\)")
NEEDED = (  # what people come to change, and the file that the page must name for it
    ("every fortnight", "workkit/triggers/english/"),
    ("option of `add`", "workkit/jobs/options.py"),
    ("new script", "workkit/brokers/native/lua/"),
    ("column of `list`", "workkit/cli/commands/list.py"),
    ("check of the doctor", "workkit/brokers/native/doctor/"),
    ("error sentence", "workkit/errors.py"),
    ("another layout", "workkit/contract/"),
)


def _named(page: Path) -> set[str]:
    text = DIRECTIVE.sub("", page.read_text(encoding="utf-8"))
    return {*NAMED.findall(text), *((page.parent / link).resolve().relative_to(ROOT) for link in LINK.findall(text))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    missing = sorted(str(path) for path in _named(page) if not list(ROOT.glob(str(path).rstrip("/"))))
    assert not missing, f"{page.name} names what does not exist: {', '.join(missing)}"


@pytest.mark.parametrize(("wanted", "file"), NEEDED)
def test_the_architecture_names_the_file_for_a_change(wanted: str, file: str) -> None:
    rows = [line for line in (ROOT / "docs/architecture.md").read_text(encoding="utf-8").splitlines() if wanted in line]
    assert any(line.startswith("|") and file in line for line in rows), f"no row for {wanted!r} names {file}"


def test_the_glossary_has_each_word_once() -> None:
    text = (ROOT / "docs/reference/glossary.md").read_text(encoding="utf-8")
    words = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")][1:]
    assert len(words) > 40
    assert len(words) == len(set(words))


def test_the_tiers_name_tests_that_exist() -> None:
    wrong = []
    for place in {
        *tiers.SLOW,
        *tiers.NOT_QUICK,
        *tiers.TOGETHER,
        *tiers.OWN_RABBIT,
        *tiers.BROWSER,
        *tiers.HEAVY,
        *tiers.ONE_PRODUCT,
    }:
        path, _, test = place.partition("::")
        file = tiers.TESTS / path
        if not file.exists() or (test and f"def {test}" not in file.read_text(encoding="utf-8")):
            wrong.append(place)
    assert not wrong, f"tests/tiers.py names what does not exist: {', '.join(sorted(wrong))}"
