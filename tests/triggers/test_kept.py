"""A suggestion keeps every number, every unit and every word that matters; else there is none.

The rule is checked from outside, by word lists of its own: over phrases with a slip, with a word too many, and with
words that no grammar knows. WORKKIT_FUZZ=N tries N of them.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.triggers.test_phrase_fuzz import VECTORS, ZONES
from workkit.errors import PhraseError
from workkit.triggers import parse

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)  # a Wednesday
TEXTS = sorted({item["text"].lower() for item in VECTORS if item["kind"] != "error" and "*" not in item["text"]})
_MATTER = """
    sunday monday tuesday wednesday thursday friday saturday sundays mondays tuesdays wednesdays thursdays fridays
    saturdays weekday weekdays weekend weekends working business today tonight tomorrow yesterday january february
    march april may june july august september october november december second seconds minute minutes hour hours
    day days week weeks month months quarter quarters year years fortnight morning afternoon evening night noon
    midnight am pm every each other after before except not until till between last next first third fourth half
    twice once three four five six seven eight nine ten twelve ago daily hourly
"""
MATTER = set(_MATTER.split())
COUNT = int(os.environ.get("WORKKIT_FUZZ", "2000"))
POLITE = {"please", "thanks", "about", "around", "sharp", "ish"}
EXTRA = (
    *("after", "before", "working", "business", "except", "not", "ago", "odd", "payday", "eastern", "dozen", "leap"),
    *("noonish", "late", "early", "random", "holiday", "xqzv", "please", "around", "sharp", "last", "next", "ish"),
)


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+", text.lower()))


def words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def assert_kept(text: str, error: PhraseError) -> None:
    suggestion = error.suggestion
    if suggestion is None:
        return
    assert not numbers(text) - numbers(suggestion), (text, suggestion)
    said = Counter(word for word in words(text) if word in MATTER)
    assert not said - Counter(words(suggestion)), (text, suggestion)
    assert len(words(suggestion)) >= len([word for word in words(text) if word not in POLITE]), (text, suggestion)


def slip(draw: random.Random, word: str) -> str:
    """Swap, drop, double or change one letter."""
    at = draw.randrange(len(word))
    return draw.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + draw.choice("aeiorstn") + word[at + 1 :],
        )
    )


def mangled(draw: random.Random) -> str:
    parts = draw.choice(TEXTS).split()
    for _ in range(draw.randint(1, 2)):
        if draw.random() < 0.5:
            parts.insert(draw.randint(0, len(parts)), draw.choice(EXTRA))
        else:
            at = draw.choice([k for k, part in enumerate(parts) if part])
            parts[at] = slip(draw, parts[at])
    return " ".join(parts)


def test_whatever_is_suggested_keeps_numbers_units_and_words_that_matter() -> None:
    draw, suggested = random.Random(6), 0
    for _ in range(COUNT):
        text = mangled(draw)
        try:
            parse(text, now=NOW, tz=draw.choice(ZONES))
        except PhraseError as error:
            suggested += error.suggestion is not None
            assert_kept(text, error)
    assert suggested > COUNT // 20


@pytest.mark.parametrize(
    "text",
    [
        "every working day of the fortnight at 9:30", "after tomorrow at 9", "every 2 weeeks", "not tomorrow at 9",
        "weekday at 9am tomorow", "by friday at 9", "half past tomorow at 9", "easter monday", "every payday at 9",
        "every odd day at 9am", "two tuesdayish 5", "in 1:30", "in 1h30", "tomorrow at breakfast 8", "early tomorrow",
        "every xqzv day at 9am", "biyearly at 9", "bidaily", "frice a day",
        "every fwo hours", "midmonday at 9", "7pm tomorrow except friday", "before xmas at 9am", "every dozen days",
    ],
)  # fmt: skip
def test_no_suggestion_leaves_out_what_matters(text: str) -> None:
    with pytest.raises(PhraseError) as caught:
        parse(text, now=NOW)
    assert_kept(text, caught.value)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("7 pm tomorow", "7 pm tomorrow"),
        ("every wokring day at 9:30", "every working day at 9:30"),
        ("every wekday at 9:30", "every weekday at 9:30"),
        ("please every 2 weeks on fridya at 3pm", "every 2 weeks on friday at 3pm"),
        ("evry 15 minuts betwen 9am and 5pm", "every 15 minutes between 9am and 5pm"),
        ("day aftr tomorrow at 9", "day after tomorrow at 9"),
        ("every thre hours", "every three hours"),
        ("in fourty minutes", "in forty minutes"),
        ("biyearly at 9", None),
    ],
)
def test_a_slip_is_still_answered_with_the_whole_phrase(text: str, suggestion: str | None) -> None:
    with pytest.raises(PhraseError) as caught:
        parse(text, now=NOW)
    assert caught.value.suggestion == suggestion
    if suggestion is not None:
        assert parse(suggestion, now=NOW).next_after(NOW - timedelta(seconds=1)) is not None
