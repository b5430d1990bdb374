"""Phrases bent at random: never another error, never slow, and explained so that they are read back the same.

A few thousand in a test run; WORKKIT_FUZZ=N tries N.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

import pytest

from workkit.errors import PhraseError
from workkit.triggers.english.phrase import parse
from workkit.triggers.english.sentence import explain
from workkit.triggers.english.words import VOCABULARY

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/times.json").read_text())["items"]
TEXTS = [item["text"] for item in VECTORS]
PIECES = (
    *sorted(VOCABULARY),
    *("7pm", "9am", "9", "17:30", "5", "15", "31", "2027", "2026-12-01", "1st", "2nd", "13th", ":15", ",", "-", "and"),
    *("every", "at", "on", "of", "the", "monday", "march", "minutes", "Europe/Paris", "UTC", "0", "1.5", "PT5M"),
)
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca")
NOW = datetime(2026, 11, 18, 10, 15, 30, 250_000, tzinfo=UTC)
COUNT = int(os.environ.get("WORKKIT_FUZZ", "4000"))


def bent(draw: random.Random) -> str:
    """Draw a recorded phrase with words or letters changed, or words in any order."""
    form = draw.random()
    if form < 0.3:
        return " ".join(draw.choice(PIECES) for _ in range(draw.randint(1, 9)))
    text = draw.choice(TEXTS)
    if form < 0.75:
        words = text.split()
        for _ in range(draw.randint(1, 3)):
            at = draw.randint(0, len(words))
            words[at : at + draw.randint(0, 1)] = [draw.choice(PIECES)][: draw.randint(0, 1)]
        return " ".join(words)
    letters = list(text)
    for _ in range(draw.randint(1, 3)):
        at = draw.randint(0, len(letters))
        letters[at : at + 1] = [chr(draw.randint(32, 127))]
    return "".join(letters)


def phrases(seed: int) -> Iterator[tuple[str, str]]:
    draw = random.Random(seed)
    for _ in range(COUNT):
        yield bent(draw), draw.choice(ZONES)


def test_bent_phrases_are_refused_or_read_back_the_same() -> None:
    understood = 0
    for text, tz in phrases(int(os.environ.get("WORKKIT_FUZZ_SEED", "1"))):
        try:
            trigger = parse(text, now=NOW, tz=tz)
        except PhraseError:
            continue
        understood += 1
        words = explain(trigger)
        try:
            again = parse(words, now=NOW)
        except PhraseError:
            continue
        after = NOW - timedelta(seconds=1)
        assert again.upcoming(after, 4) == trigger.upcoming(after, 4), (text, tz, words)
    assert understood > COUNT // 100


HOSTILE = (
    *("xqzv abcd efgh ijkl " * 9, "a b c d e f g h " * 12, "every every " * 16, "5 minutes " * 20, "monday and " * 18),
    *("1st and " * 25, "first and " * 20, "twenty " * 28, "the " * 50, "at 9 and " * 22, "9:00-" * 40, "a/b " * 50),
    *(
        "europe/" * 28,
        "in march of " * 16,
        "1:1" * 66,
        "every monday at 9am and " * 8,
        "evry mondey att nin oclok " * 4,
    ),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_answered_at_once(text: str) -> None:
    def once() -> float:
        start = process_time()
        with pytest.raises(PhraseError):
            parse(text, now=NOW)
        return process_time() - start

    assert min(once() for _ in range(5)) < 0.01
