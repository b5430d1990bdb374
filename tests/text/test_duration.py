"""Durations and ages as text."""

from __future__ import annotations

import pytest

from workkit.text.wording import age_text, duration_text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5_000, "0 s"),
        (999, "0 s"),
        (40_900, "40 s"),
        (180_000, "3 min"),
        (7_200_000, "2 h"),
        (129_600_000, "36 h"),
        (172_800_000, "2 d"),
        (86_400_000 * 1_234, "1,234 d"),
    ],
)
def test_age_text_writes_one_whole_unit(ms: float, text: str) -> None:
    assert age_text(ms) == text


@pytest.mark.parametrize(("ms", "parts", "text"), [(41, 2, "41 ms"), (2_100, 2, "2.1 s"), (934_000, 3, "15 min 34 s")])
def test_duration_text_writes_at_most_so_many_units(ms: float, parts: int, text: str) -> None:
    assert duration_text(ms, parts) == text
