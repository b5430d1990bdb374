"""The nearest known words; and that each reader and speller of the package has one place."""

from __future__ import annotations

from pathlib import Path

import pytest

import workkit
from workkit.text.nearest import nearest_word, nearest_words

PACKAGE = Path(workkit.__file__).parent
SOURCES = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}


@pytest.mark.parametrize(
    ("word", "known", "found"),
    [
        ("retrys", ["retries", "retry_on", "name"], "retries"),
        ("lst", ["list", "listen"], "list"),
        ("xyz", ["list", "listen"], None),
        ("", ["list"], None),
        ("Europe/Pariss", ["Europe/Paris", "Europe/Prague"], "Europe/Paris"),
        ("a" * 101, ["a" * 100], None),
    ],
)
def test_nearest_word_finds_the_known_word_that_was_mistyped(word: str, known: list[str], found: str | None) -> None:
    assert nearest_word(word, known) == found


def test_nearest_words_come_nearest_first_and_as_alike_as_asked() -> None:
    known = ["monday", "mondays", "sunday", "noon"]
    assert nearest_words("mondya", known, most=2) == ["monday", "mondays"]
    assert nearest_words("mondya", known, most=4, alike=0.8) == ["monday"]


@pytest.mark.parametrize(
    ("mark", "place"),
    [
        ("difflib", "text/nearest.py"),
        ("available_timezones", "triggers/zone.py"),
        ('"February"', "text/wording.py"),
        ('(86_400, "d")', "text/wording.py"),
    ],
)
def test_one_module_holds_what_finds_near_words_zones_and_durations(mark: str, place: str) -> None:
    assert [name for name, source in SOURCES.items() if mark in source] == [place]
