"""The digits of a written float, and where its point is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.jobs.json_value import significant_digits


@pytest.mark.parametrize(
    ("text", "digits", "point"),
    [("1500.0", "15", 4), ("-1500.0", "15", 4), ("0.001", "1", -2), ("5e-324", "5", -323), ("1.25e+22", "125", 23)],
)
def test_the_digits_have_no_zeros_at_their_ends(text: str, digits: str, point: int) -> None:
    assert significant_digits(text) == (digits, point)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_digits_and_point_make_the_number_again(value: float) -> None:
    digits, point = significant_digits(repr(value))
    assert float(f"0.{digits}e{point}") == abs(value)
