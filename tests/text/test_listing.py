"""Lists, counts and places in English."""

from __future__ import annotations

import pytest

from workkit.text.wording import listed, ordinal


@pytest.mark.parametrize(
    ("n", "text"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd"), (111, "111th")],
)
def test_ordinal(n: int, text: str) -> None:
    assert ordinal(n) == text


@pytest.mark.parametrize(
    ("items", "text"), [((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")]
)
def test_listed(items: tuple[str, ...], text: str) -> None:
    assert listed(items) == text
