"""Lengths of time in words."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.errors import PhraseError, TriggerError
from workkit.triggers.english.numbers import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("0s", 0),
        ("5 minutes", 300),
        ("in 5 minutes", 300),
        ("1h30m", 5400),
        ("1h 30m 10s", 5410),
        ("1.5 hours", 5400),
        ("0.25s", 0.25),
        ("an hour and a half", 5400),
        ("half an hour", 1800),
        ("a quarter of an hour", 900),
        ("two and a half minutes", 150),
        ("2 days", 172_800),
        ("1w 2d", 777_600),
        ("a fortnight", 1_209_600),
        ("PT5M", 300),
        ("  IN  90\tSECS ", 90),
    ],
)
def test_duration_reads_words(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (30, 'timeout=30 has no unit. Write "30s" or timedelta(seconds=30).'),
        (1.5, 'timeout=1.5 has no unit. Write "1.5s" or timedelta(seconds=1.5).'),
        ("30", 'timeout="30" has no unit. Write "30s" or "30 minutes".'),
        ("5 mintues", 'timeout="5 mintues": "mintues" (column 3) is not understood. Did you mean "5 minutes"?'),
        ("2 months", 'timeout="2 months" has no fixed length. Say it in days or hours.'),
        ("", 'timeout="" says nothing. Say for example "30s", "1h30m" or "5 minutes".'),
    ],
)
def test_duration_refuses_with_the_name_of_the_option(value: Any, message: str) -> None:
    with pytest.raises(TriggerError) as refusal:
        duration(value, name="timeout")
    assert str(refusal.value) == message
    assert refusal.value.accepted


@pytest.mark.parametrize("value", [None, True, [], timedelta(seconds=-1), b"5s"])
def test_duration_refuses_values_that_are_no_duration(value: Any) -> None:
    with pytest.raises(TriggerError, match=r"^duration="):
        duration(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "tomorrow",
            "5 minutes ago",
            "5 minutes from now",
            "-5s",
            "1e9s",
            "5s 5s",
            "30s 5m",
            "a year",
            "P1M",
            "minutes",
        ),
        *("in", "every 5 minutes", "1.5 days", "999999999999d", "9" * 150 + "s", "5 minutes at noon", "\u0665s"),
    ],
)
def test_duration_refuses_other_words(text: str) -> None:
    with pytest.raises(PhraseError, match=r'^duration="'):
        duration(text)


@given(st.timedeltas(min_value=timedelta()))
def test_a_timedelta_stays_as_it_is(value: timedelta) -> None:
    assert duration(value) == value


@given(st.text(max_size=220))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(PhraseError):
        assert duration(text) >= timedelta()
