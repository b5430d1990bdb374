"""Keywords of other schedulers are answered with their counterpart here."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from workkit import job
from workkit.errors import InvalidFunction, InvalidOptions
from workkit.jobs.elsewhere import CALLS, WORDS
from workkit.jobs.options import BY_NAME
from workkit.triggers import KEYWORDS as TIMES
from workkit.verbs.new_job import read_add_options

PAGES = Path(__file__).parents[2] / "docs/moving"
ANSWERS: list[tuple[str, Any, str, str | None]] = [
    ("countdown", 5, 'Write in_="5 seconds".', 'in_="5 seconds"'),
    ("countdown", timedelta(minutes=2), 'Write in_="120 seconds".', 'in_="120 seconds"'),
    ("countdown", "soon", 'Write in_="5 seconds".', None),
    ("eta", "2026-11-05", "Write at='2026-11-05'.", "at='2026-11-05'"),
    ("rate_limit", "10/m", 'Write rate="10/minute" in @job.', 'rate="10/minute"'),
    ("rate_limit", 3, 'Write rate="3/second" in @job.', 'rate="3/second"'),
    ("retry", True, "Write retries=3: how many attempts follow the first.", None),
    ("max_retries", 7, "Write retries=7.", "retries=7"),
    ("bind", True, "Leave it out: current_job() tells of the run.", None),
    ("acks_late", True, "Leave it out: a listener always reports a run after it.", None),
    ("queue", "critical", "Each queue is a schedule of its own", None),
    ("depends_on", "x", "Add the next job at the end of the function", None),
]


@pytest.mark.parametrize(("name", "value", "said", "suggestion"), ANSWERS)
def test_a_keyword_of_others_is_answered_with_its_counterpart(
    name: str, value: Any, said: str, suggestion: str | None
) -> None:
    for refuse in (lambda: read_add_options({name: value}), lambda: job(**{name: value})):
        with pytest.raises(InvalidOptions) as caught:
            refuse()
        assert said in str(caught.value)
        assert f"See docs/moving/{WORDS[name].page}.md." in str(caught.value)
        assert caught.value.suggestion == suggestion


def test_a_method_of_others_is_answered_with_its_counterpart() -> None:
    @job
    def welcome() -> None: ...

    with pytest.raises(InvalidFunction, match=r"welcome\.delay does not exist: .*Write schedule\.add_now\(s, welcome,"):
        welcome.delay(1)  # type: ignore[attr-defined]


def test_the_page_of_a_word_explains_it() -> None:
    for name, word in {**WORDS, **CALLS}.items():
        words = (PAGES / f"{word.page}.md").read_text().partition("\n## Words\n")[2].partition("\n## ")[0]
        theirs = [line.split(" | ")[0] for line in words.splitlines() if line.startswith("| ")]
        assert any(re.search(rf"\b{name}\b", cell, re.IGNORECASE) for cell in theirs), f"{word.page}.md: {name}"


def test_no_word_of_others_is_one_of_ours() -> None:
    assert not WORDS.keys() & {*BY_NAME, *TIMES}


def test_every_keyword_that_is_written_exists() -> None:
    written = {code for word in WORDS.values() for value in (5, "10/m") if (code := word.written(value))}
    assert len(written) > len(WORDS) / 3
    assert {code.partition("=")[0] for code in written} <= {*BY_NAME, *TIMES}
