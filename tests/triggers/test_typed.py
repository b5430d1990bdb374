"""Times as people type them (spec/vectors/typed.txt): what each gives, read on Friday 20 November 2026 at 10:15:30 UTC.

A line is a phrase and its answer: what `explain` says of it, or "refused: " and the hint; then "remark: " and what is
remarked. None may be silently wrong, so a change of any answer is a change of this table.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.rows import every_row
from workkit.errors import PhraseError
from workkit.triggers import explain, parse
from workkit.triggers.english.reader import EXAMPLES

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
LINES = (Path(__file__).parents[2] / "spec/vectors/typed.txt").read_text().splitlines()
TABLE = [tuple(line.split(" | ", 1)) for line in LINES if " | " in line]
MOST_WITHOUT_HINT = 0.05
LEAST_PHRASES = 121
PLACEHOLDERS = ("YYYY", "until 2027-01-31", "...")


def answer(text: str) -> str:
    try:
        trigger = parse(text, now=NOW)
    except PhraseError as error:
        return f"refused: {error.remedy or error}"
    return " | ".join([explain(trigger), *(f"remark: {warning}" for warning in trigger.warnings)])


@every_row(("text", "expected"), TABLE)
def test_a_phrase_as_typed_gives_what_the_table_says(text: str, expected: str) -> None:
    assert answer(text) == expected


def is_understood(text: str) -> bool:
    try:
        parse(text, now=NOW)
    except PhraseError:
        return False
    return True


def test_few_phrases_are_refused_without_a_usable_hint() -> None:
    refused = [(text, expected) for text, expected in TABLE if expected.startswith("refused: ")]
    usable = re.compile(r'"|\d|[A-Z]\w+/\w+|UTC|schedule\.')  # words, numbers that are accepted, a zone, a verb
    without = [text for text, expected in refused if EXAMPLES in expected or not usable.search(expected)]
    assert len(TABLE) >= LEAST_PHRASES
    assert len(without) <= MOST_WITHOUT_HINT * len(TABLE), without


@every_row("text", [text for text, expected in TABLE if expected.startswith("refused: ")])
def test_what_a_hint_offers_is_understood(text: str) -> None:
    with pytest.raises(PhraseError) as caught:
        parse(text, now=NOW)
    for offered in re.findall(r'"([^"]*)"', caught.value.remedy or ""):
        assert is_understood(offered) or any(part in offered for part in PLACEHOLDERS), offered
