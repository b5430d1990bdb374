"""The one reader of cron fields: every row reads a field or refuses it with a sentence of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.triggers.crons.field import DAY, FieldPlace, Spec
from workkit.triggers.crons.grammars import CRONTAB, GO, PUBLISHED, SYSTEMD, VIXIE
from workkit.triggers.crons.reader import Grammar, read_field

ROWS = {"published": PUBLISHED, "crontab": CRONTAB, "go": GO, "vixie": VIXIE, "systemd": SYSTEMD}
_PARTS = """0 1 2 3 4 5 6 7 8 9 12 31 59 60 007 2027 99999999999999999999 0000000000000000000000005 ٣ ² mon SUN friday
Jan mayy ſun L l W H # * ? - .. / , ~ .5 .0 +"""
_TEXTS = st.lists(st.sampled_from(_PARTS.split()), max_size=8).map("".join)


class Refused(Exception):
    pass


def refused(_spec: object, _item: str, trouble: str, **_parts: Any) -> Refused:
    return Refused(trouble)


@pytest.mark.parametrize("name", ROWS)
@settings(deadline=None, max_examples=300)
@given(_TEXTS, st.integers(0, 4))
@example("5-1", 1)
@example("*/0", 1)
def test_every_row_reads_a_field_or_refuses_it_with_a_sentence(name: str, text: str, place: int) -> None:
    row = ROWS[name]
    spec = row.specs[place]
    found = _read(text, row, spec)
    if isinstance(found, str):
        assert re.match(r'(is|has|runs|names|mixes|may|can\'t) |"', found)
        assert not re.search(r"\{|\}|None", found.replace(text, ""))
    else:
        assert all(spec.low <= value <= spec.high for value in found)


@every_row(
    ("text", "published", "crontab", "go", "vixie"),
    [
        ("*", None, None, None, None),
        ("*/10", [1, 11, 21, 31], [1, 11, 21, 31], [1, 11, 21, 31], [1, 11, 21, 31]),
        ("28/2", [], [28, 30], [28, 30], "a step after one value"),
        ("3,,5", "an empty item", "an empty item", [3, 5], "is not understood"),
        ("30-2", "runs backwards", "runs backwards", "runs backwards", "runs backwards"),
        ("L", [], [], "know no L", "L is none of 1-31"),
        ("30-L", [30, 31], "is not understood", "know no L", "L is none of 1-31"),
        ("007", "is out of range", "is out of range", [7], [7]),
        ("5-5/2", [5], [5], [5], "a range of one value"),
        ("?", None, None, None, "is not understood"),
    ],
)
def test_the_rows_differ_where_the_dialects_do(text: str, published: Any, crontab: Any, go: Any, vixie: Any) -> None:
    whole = list(range(1, 32))
    for row, expected in ((PUBLISHED, published), (CRONTAB, crontab), (GO, go), (VIXIE, vixie)):
        found = _read(text, row, _day(row))
        if isinstance(expected, str):
            assert expected in found
        else:
            assert found == (whole if expected is None else expected)


def _day(row: Grammar) -> Spec:
    return next(spec for spec in row.specs if spec.name == DAY.name)


def _read(text: str, row: Grammar, spec: Spec) -> list[int] | str:
    try:
        return read_field(text, spec, row, refuse=refused).values
    except Refused as refusal:
        return str(refusal)


@every_row(
    ("text", "published", "crontab", "go", "vixie"),
    [
        ("*", False, False, False, False),
        ("?", False, False, False, None),
        ("*/2", True, True, True, False),
        ("*/1", True, True, False, False),
        ("5,*", True, True, False, True),
        ("1-31", True, True, True, True),
    ],
)
def test_each_row_tells_which_day_field_leaves_the_day_to_the_other_one(
    text: str, published: bool, crontab: bool, go: bool, vixie: bool | None
) -> None:
    for row, is_set in ((PUBLISHED, published), (CRONTAB, crontab), (GO, go), (VIXIE, vixie)):
        if is_set is not None:
            assert read_field(text, _day(row), row, refuse=refused).restricted is is_set


def test_a_place_by_field_keeps_the_position_of_the_field() -> None:
    by_item, by_field = (FieldPlace(given="1 3,x", offset=2, by_field=value) for value in (False, True))
    assert by_item.error(DAY, "x", "is odd", at=2, better="4").position == 4
    error = by_field.error(DAY, "x", "is odd", at=2, better="4")
    assert (error.position, error.suggestion) == (2, "1 3,4")
