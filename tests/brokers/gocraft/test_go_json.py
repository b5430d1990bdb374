"""JSON as Go writes it: recorded bytes, and what is refused."""

from __future__ import annotations

import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.go_values import dumps, number, string
from workkit.errors import InvalidArguments

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@pytest.mark.parametrize("case", vectors.load("unique_key_bytes")["cases"], ids=lambda case: case["args"][:30])
def test_the_bytes_are_those_that_go_wrote(case: dict[str, Any]) -> None:
    written = case["unique_key"].removeprefix("gv:unique:clear_cache:")
    args = json.loads(case["args"]) if case["args"] else None
    assert (dumps(args) + "\n" if args is not None else "") == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (100.0, "100"),
        (1e6, "1000000"),
        (123456789.125, "123456789.125"),
        (999999999999999900000.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (-1.25e22, "-1.25e+22"),
        (1e-6, "0.000001"),
        (1.5e-6, "0.0000015"),
        (9.9e-7, "9.9e-7"),
        (1e-7, "1e-7"),
        (1e-10, "1e-10"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_a_float_has_the_shortest_digits_and_an_exponent_only_far_from_one(value: float, written: str) -> None:
    assert number(value) == written


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<b>&'", r'"\u003cb\u003e\u0026' + "'" + '"'),
        ("\u2028\u2029\u2027", r'"\u2028\u2029' + '\u2027"'),
        ("\b\f\v\x00\x1f", r'"\u0008\u000c\u000b\u0000\u001f"'),
        ("\n\r\t", r'"\n\r\t"'),
        ('"\\/', r'"\"\\/"'),
        ("\x7f\x80é日😀\ufffd", '"\x7f\x80é日😀\ufffd"'),
        (b"\xff\xe2\x82".decode("utf-8", "surrogateescape"), r'"\ufffd\ufffd\ufffd"'),
        ("\ud800", r'"\ufffd"'),
    ],
)
def test_a_text_is_escaped_as_go_does(text: str, written: str) -> None:
    assert string(text) == written


@given(st.dictionaries(TEXTS, st.none()))
def test_keys_are_sorted_by_their_utf8_bytes(value: dict[str, None]) -> None:
    written = list(json.loads(dumps(value)))
    assert written == sorted(value, key=lambda key: key.encode())


@given(VALUES)
def test_what_is_written_reads_back_as_json(value: Any) -> None:
    assert json.loads(dumps(value), parse_int=float) == json.loads(json.dumps(value), parse_int=float)


@given(VALUES)
def test_writing_again_changes_nothing(value: Any) -> None:
    written = dumps(value)
    assert dumps(json.loads(written, parse_int=lambda text: -0.0 if text == "-0" else int(text))) == written


def test_integers_of_any_size_keep_their_digits() -> None:
    assert dumps({"a": 9007199254740993, "b": -(2**63), "c": 10**300}) == (
        f'{{"a":9007199254740993,"b":-9223372036854775808,"c":{10**300}}}'
    )


def test_subclasses_and_tuples_travel_as_what_they_extend() -> None:
    class Level(enum.IntEnum):
        HIGH = 3

    class Word(str):
        __slots__ = ()

    assert dumps({Word("k"): (Level.HIGH, Word("<"))}) == r'{"k":[3,"\u003c"]}'


@pytest.mark.parametrize(
    ("args", "where", "trouble"),
    [
        ({"x": float("nan")}, 'args["x"]', "is nan, which JSON cannot carry"),
        ({"a": [1, {"b": float("-inf")}]}, 'args["a"][1]["b"]', "is -inf, which JSON cannot carry"),
        ({"a": {1: 2}}, 'args["a"]', "has the key 1, and JSON keys are text"),
        ({"a": {1, 2}}, 'args["a"]', "is a set, which JSON cannot carry"),
        ({"a": b"x"}, 'args["a"]', "is a bytes, which JSON cannot carry"),
        ({"a": [10**400]}, 'args["a"][0]', "is an integer beyond 1.8e308, which no Go pool can read"),
        ({"a": -(10**5000)}, 'args["a"]', "is an integer beyond 1.8e308, which no Go pool can read"),
    ],
)
def test_what_go_cannot_read_is_refused_by_its_place(args: Any, where: str, trouble: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        dumps(args)
    assert (caught.value.where, caught.value.trouble) == (where, trouble)
    assert str(caught.value).startswith(f"{where} {trouble}.")


def test_arguments_that_hold_themselves_are_refused() -> None:
    args: dict[str, Any] = {}
    args["again"] = [args]
    with pytest.raises(InvalidArguments, match="holds itself, or is nested too deeply"):
        dumps(args)
