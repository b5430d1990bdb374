"""Thousands of phrases, held against an evaluator that shares no line with workkit."""

from __future__ import annotations

import ast
import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.rows import every_row
from tests.triggers.oracle.evaluator import RUNS, Reading
from tests.triggers.oracle.judged import FAMILIES, judged, phrases, right, written

VECTORS = json.loads((Path(__file__).parents[3] / "spec/vectors/times.json").read_text())["items"]
SHOWN = 40


@pytest.mark.parametrize("family", FAMILIES)
def test_no_phrase_is_read_wrongly_and_nine_of_ten_are_read(family: str) -> None:
    found = judged(family)
    assert not found.wrong, "\n".join([f"{len(found.wrong)} are wrong:", *found.wrong[:SHOWN]])
    readable = found.read + len(found.refused)
    assert found.read >= 0.9 * readable, "\n".join([f"{found.read} of {readable} are read:", *found.refused[:SHOWN]])


def recorded() -> list[tuple[dict[str, str], Reading | None]]:
    known = {phrase.text: phrase.reading for family in FAMILIES for phrase in phrases(family)}
    texts = [(item, " ".join(item["text"].lower().split())) for item in VECTORS if item["text"].isascii()]
    return [(item, known[text]) for item, text in texts if text in known]


@every_row(("item", "reading"), recorded())
def test_the_oracle_answers_as_recorded(item: dict[str, str], reading: Reading | None) -> None:
    expected = item.get("fires") or ([item["at"]] if "at" in item else [])
    found = reading.instants(datetime.fromisoformat(item["now"]), ZoneInfo(item["tz"])) if reading else []
    assert found == [datetime.fromisoformat(text) for text in expected[:RUNS]]


def test_the_oracle_knows_a_third_of_what_is_recorded() -> None:
    assert len(recorded()) > len(VECTORS) / 3


def test_a_phrase_has_one_answer_in_all_families() -> None:
    answers: dict[str, list[datetime] | None] = {}
    for family in FAMILIES:
        for phrase in written(family):
            answer = right(phrase)
            assert answers.setdefault(phrase.text, answer) == answer, phrase.text
    assert len(answers) > 10_000


def test_the_oracle_shares_no_line_with_workkit() -> None:
    for module in ("evaluator", "phrases", "hours", "days", "spans", "mixed"):
        tree = ast.parse((Path(__file__).parent / f"{module}.py").read_text())
        named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        named += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not [name for name in named if name.startswith("workkit")]
