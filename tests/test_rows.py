"""`every_row`: a table is one test, and each row that fails is named."""

from __future__ import annotations

import pytest

from tests.rows import MOST_TRACEBACKS, every_row


def test_every_row_is_checked_and_each_that_fails_is_named() -> None:
    seen: list[int] = []

    @every_row(("number", "word"), [(1, "one"), (2, "no"), (3, "three"), (4, "also no")])
    def table(number: int, word: str) -> None:
        seen.append(number)
        if number == 4:
            with pytest.raises(ValueError, match="no"):
                pass  # what pytest raises itself is no Exception
        assert "no" not in word

    with pytest.raises(BaseExceptionGroup, match=r"^2 of 4 rows fail:") as caught:
        table()
    assert seen == [1, 2, 3, 4]
    assert "in row 1: {'number': 2, 'word': 'no'}" in str(caught.value)
    assert "in row 3: {'number': 4, 'word': 'also no'}" in str(caught.value)
    assert "in row 0" not in str(caught.value)
    assert len(caught.value.exceptions) == 2


def test_all_rows_that_fail_are_named_where_only_some_tracebacks_are_shown() -> None:
    @every_row("number", range(3 * MOST_TRACEBACKS))
    def table(number: int) -> None:
        assert number < 0

    with pytest.raises(ExceptionGroup) as caught:
        table()
    assert len(caught.value.exceptions) == MOST_TRACEBACKS
    assert all(f"{{'number': {number}}}" in str(caught.value) for number in range(3 * MOST_TRACEBACKS))


def test_a_table_that_holds_passes() -> None:
    @every_row("number", [1, 2])
    def table(number: int) -> None:
        assert number > 0

    table()
    assert table.__name__ == "table"


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match="the table of text has no rows"):
        every_row("text", [])
