"""What JSON carries of Python's values, and how a refusal names the place."""

from __future__ import annotations

import enum
from collections import OrderedDict, namedtuple
from datetime import date
from typing import Any

import pytest

from workkit.errors import InvalidArguments
from workkit.jobs.json_value import at_key, check_finite, check_key, integer_text, plain_value, shown_value

Pair = namedtuple("Pair", "a b")


class Colour(str, enum.Enum):  # noqa: UP042  as many programs still write it
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "plain"),
    [(Pair(1, 2), [1, 2]), (OrderedDict(a=1), {"a": 1}), (Level.HIGH, 3), (Colour.RED, "red"), ((1,), [1])],
)
def test_a_subclass_travels_as_what_it_extends(value: Any, plain: Any) -> None:
    found = plain_value(value, "args")
    assert found == plain
    assert type(found) is type(plain)


def test_a_type_that_json_lacks_is_refused_with_what_to_pass() -> None:
    with pytest.raises(InvalidArguments) as caught:
        plain_value(date(2026, 1, 1), 'args["day"]')
    assert str(caught.value) == (
        'args["day"] is a date, which JSON cannot carry. Pass .isoformat(), and parse it in the function. '
        "A parameter annotated with date gets it as date."
    )
    assert (caught.value.where, caught.value.given) == ('args["day"]', date(2026, 1, 1))


def test_numbers_and_keys_that_json_lacks_are_refused() -> None:
    with pytest.raises(InvalidArguments, match=r"^args is inf, which JSON cannot carry"):
        check_finite(float("inf"), "args")
    with pytest.raises(InvalidArguments, match=r"^args has the key 1, and JSON keys are text"):
        check_key(1, "args")
    with pytest.raises(InvalidArguments, match=r"^args is an integer of more digits"):
        integer_text(10**5000, "args")


def test_a_place_is_written_as_python_would_index_it() -> None:
    assert at_key(at_key("args[0]", "rows"), "b") == 'args[0]["rows"]["b"]'


def test_a_long_value_is_shown_in_part() -> None:
    assert shown_value("x" * 100) == '"' + "x" * 56 + "..."
