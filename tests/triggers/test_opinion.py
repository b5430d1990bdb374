"""The date suggested beside a refusal: a guess, shown in full, and never scheduled."""

from __future__ import annotations

import random
import subprocess
import sys
from datetime import UTC, datetime
from time import process_time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.benchmarks.fuzz import cron_text
from tests.triggers.test_phrase_fuzz import TEXTS, ZONES, bent
from workkit.errors import PhraseError
from workkit.triggers import Trigger, parse
from workkit.triggers.between import between
from workkit.triggers.english.opinion import Opinion, opinion
from workkit.triggers.when import When, read_when

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)  # a Wednesday

GUESSED = """
next tuesdayish 5        | 2026-11-24 17:00 | Perhaps: Tue 24 Nov 2026 17:00? Write at="2026-11-24 17:00".
tuesday-ish at 5         | 2026-11-24 17:00 | Perhaps: Tue 24 Nov 2026 17:00? Write at="2026-11-24 17:00".
tomorrow around 8        | 2026-11-19 08:00 | Perhaps: Thu 19 Nov 2026 8:00? Write at="2026-11-19 08:00".
next tuesdayish          | 2026-11-24       | Perhaps: Tue 24 Nov 2026? Write at="2026-11-24" for 0:00, or add an hour.
"""

NOT_GUESSED = """
foo bar | the file is broken at 9 | every tuesdayish 5 | tuesdayish until 5 | weekdayish at 9 | last mondayish at 9
monday after next at 9 | next march 3 at 9 | two days ago-ish | yesterdayish 9am | 7pmish europe/paris | \x00 | -
5 5 5 | half tuesdayish 5 to 6 | tuesdayish wednesday 5 | in 99999999999999999999 hoursish | 31 febish 2027 9am
xqzv abcd 9am | wensday arvo 5 | tomorrow at breakfast | 9amish | after tomorrow-ish at 9 | two tuesdayish 5
"""


def refusal(text: str, **given: Any) -> PhraseError:
    with pytest.raises(PhraseError) as caught:
        parse(text, now=NOW, **given)
    return caught.value


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


@pytest.mark.parametrize(("text", "suggestion", "remedy"), cells(GUESSED))
def test_a_refusal_suggests_the_full_date_that_the_words_perhaps_mean(text: str, suggestion: str, remedy: str) -> None:
    error = refusal(text)
    assert str(error).endswith(remedy)
    assert (error.suggestion, error.remedy) == (suggestion, remedy)
    found = parse(suggestion, now=NOW).next_after(NOW)
    assert found == datetime.fromisoformat(suggestion).replace(tzinfo=UTC)


@pytest.mark.parametrize("text", [t.strip() for line in NOT_GUESSED.strip().splitlines() for t in line.split(" | ")])
def test_no_date_is_suggested_where_words_are_left_over_or_contradict_it(text: str) -> None:
    assert "Perhaps" not in str(refusal(text))


def test_a_near_phrase_is_a_better_suggestion_than_a_date() -> None:
    error = refusal("7pm tomorow")
    assert error.suggestion == "7pm tomorrow"
    assert "Perhaps" not in str(error)


def test_the_date_is_of_the_zone_of_the_phrase() -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)  # the 19th in Tokyo
    found = opinion("tomorrow around 5", now=late.astimezone(ZoneInfo("Asia/Tokyo")).replace(tzinfo=None))
    assert found == Opinion(at=datetime(2026, 11, 20, 17), timed=True)
    with pytest.raises(PhraseError) as caught:
        parse("tomorrow around 5", now=late, tz="Asia/Tokyo")
    assert caught.value.suggestion == "2026-11-20 17:00"


def test_no_time_is_suggested_that_the_clock_skips() -> None:
    now = datetime(2027, 3, 27, 12, tzinfo=UTC)
    assert opinion("tomorrow around 2:30am", now=now.replace(tzinfo=None)) is not None
    with pytest.raises(PhraseError) as caught:
        parse("tomorrow around 2:30am", now=now, tz="Europe/Paris")
    assert caught.value.suggestion is None or "2:30" not in caught.value.suggestion


@pytest.mark.parametrize("keyword", ["when", "at", "start", "end"])
def test_the_suggestion_names_the_keyword_that_was_used(keyword: str) -> None:
    def read(text: str) -> Trigger:
        if keyword in ("start", "end"):
            bounds = {"start": None, "end": None} | {keyword: text}
            return between(parse("every day", now=NOW), **bounds, now=NOW, tz="UTC")
        return read_when(When(**{keyword: text}), now=NOW)

    with pytest.raises(PhraseError) as caught:
        read("next tuesdayish 5")
    assert str(caught.value).endswith(f'Write {keyword}="2026-11-24 17:00".')


@pytest.mark.parametrize("when", [When(every="tuesdayish 5"), When(in_="2 hoursish or so")])
def test_recurring_words_and_lengths_get_no_date(when: When) -> None:
    with pytest.raises(PhraseError) as caught:
        read_when(when, now=NOW)
    assert "Perhaps" not in str(caught.value)


NEAR = (
    "next tuesdayish {}",
    "fridayish at {}pm",
    "tomorrowish at {}:30",
    "next wednesdayish at {}am",
    "sundayish at noon",
)
ODD = (
    *("eom", "eod", "breakfast", "around", "ish", "tuesdayish", "after", "before", "9999999999", "99", "lunch", "ago"),
    *("0", "13", "25:00", "9:99", "now", "-", "+", "\x00", "feb", "31", "2027", "next", "last", "end", "month", "5pm"),
)


def texts(draw: random.Random) -> str:
    form = draw.random()
    if form < 0.5:
        return bent(draw) if form < 0.4 else cron_text(draw)
    known = draw.choice(TEXTS).split()
    return " ".join(draw.choice((*ODD, *known)) for _ in range(draw.randint(1, 8)))


def test_an_opinion_never_raises_and_always_lies_ahead() -> None:
    draw, now, given = random.Random(15), NOW.replace(tzinfo=None), 0
    for _ in range(2_000):
        text = texts(draw)
        found = opinion(text, now=now)
        given += found is not None
        assert found is None or found.at > now, text
    assert given > 50


def test_a_guess_is_refused_beside_a_date_that_is_understood() -> None:
    draw, guesses = random.Random(16), []
    for n in range(1_000):
        text = draw.choice(NEAR).format(draw.randint(1, 12)) if n % 5 == 0 else texts(draw)
        tz = draw.choice(ZONES)
        try:
            parse(text, now=NOW, tz=tz)
        except PhraseError as error:
            if (error.remedy or "").startswith("Perhaps"):
                guesses.append((error.suggestion or "", tz))
    assert len(guesses) > 5
    for text, tz in guesses:
        found = parse(text, now=NOW, tz=tz)
        assert not found.recurs
        assert found.next_after(NOW) is not None


@pytest.mark.parametrize("text", ["a 9 " * 10_000, "tuesdayish " * 5, "5 days after " * 4 + "x", "1:1" * 19, "9" * 60])
def test_an_opinion_is_quick(text: str) -> None:
    def once() -> float:
        start = process_time()
        opinion(text, now=NOW.replace(tzinfo=None))
        return process_time() - start

    assert min(once() for _ in range(5)) < 0.01


def test_parsedatetime_is_imported_only_for_a_refusal_without_a_near_phrase() -> None:
    lines = (
        "import sys; from datetime import UTC, datetime; from workkit.triggers import parse",
        "def tried(text):",
        "    try: parse(text, now=datetime(2026, 11, 18, tzinfo=UTC))",
        "    except ValueError: pass",
        "    return 'parsedatetime' in sys.modules",
        "print(tried('7pm tomorrow'), tried('7pm tomorow'), tried('next tuesdayish 5'))",
    )
    ran = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False", "True"]
