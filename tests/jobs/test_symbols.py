"""Names as Clojure's reader takes them: recorded, and asked of the reader itself where it is installed."""

from __future__ import annotations

import json
import os
import random
import shutil
import unicodedata
from pathlib import Path

import pytest

from tests.jobs.clojure_reader import ask, table
from workkit.errors import InvalidFunction
from workkit.jobs.marks import job
from workkit.jobs.names import Name, read_name, stored_name

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "clojure" / "names.json"
CASES: list[tuple[str, bool]] = [(name, taken) for name, taken in json.loads(VECTORS.read_text())["cases"]]
NEEDS_CLOJURE = pytest.mark.skipif(not (os.environ.get("CI") or shutil.which("clojure")), reason="no clojure")
MARKS = "abc.-+*19/'#:%&|$é😀_٣"  # of names at random
DELIMITERS = '~@^;(\\"`, '


def is_accepted(name: str) -> bool:
    try:
        return stored_name(f"#'{name}") == f"#'{name}"
    except InvalidFunction:
        return False


def is_seen(name: str) -> bool:
    return all(unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Zs", "Zl", "Zp") for mark in name)


def test_a_name_can_be_said_exactly_where_clojure_takes_it_and_everybody_sees_it() -> None:
    assert len(CASES) > 300
    assert [name for name, taken in CASES if is_accepted(name) != (taken and is_seen(name))] == []


@NEEDS_CLOJURE
def test_the_recorded_names_are_those_that_clojure_takes() -> None:
    names = table()
    assert list(zip(names, ask(names), strict=True)) == CASES


@NEEDS_CLOJURE
def test_names_at_random_are_taken_as_clojure_takes_them() -> None:
    chance = random.Random(14)
    weights = [4] * len(MARKS) + [0.3] * len(DELIMITERS)
    made = {"".join(chance.choices(MARKS + DELIMITERS, weights, k=chance.randint(1, 8))) for _ in range(5000)}
    names = sorted({f"a/{text}" for text in made} | {f"{text}/a" for text in made} | made)
    taken = ask(names)
    assert sum(taken) > 1000
    assert [name for name, is_taken in zip(names, taken, strict=True) if is_accepted(name) != is_taken] == []


@pytest.mark.parametrize("name", ["a.b/+'", "a.b/x'", "a.b/it's", "a.b/x#", "a.b/c:d", "a'b/c#d", "clojure.core//"])
def test_a_clojure_name_can_be_added_and_is_read_again_in_every_form(name: str) -> None:
    space, _, path = name.partition("/")
    assert stored_name(f"#'{name}") == stored_name(f"(var {name})") == f"#'{name}"
    forms = [
        f"#'{name}", f"'{name}", f"(var {name})", f"(quote {name})", f"(resolve '{name})", f"(resolve (quote {name}))",
        f"(clojure.core/resolve '{name})",
    ]  # fmt: skip
    assert [read_name(form) for form in forms] == [Name(space, path)] * len(forms)


def test_a_colon_alone_is_the_python_form_and_behind_a_slash_part_of_the_name() -> None:
    assert stored_name("a:b") == "#'a/b"
    assert stored_name("#'ns/a:b") == "#'ns/a:b"
    assert read_name("#'ns/a:b") == Name("ns", "a:b")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a.b/1st", "1st begins like a number"), ("a.b/-1x", "-1x begins like a number"),
        ("a.b/:c", ":c begins with :"),
        ("a.b/'c", "'c begins with '"), ("a.b/#c", "#c begins with #"), ("a.b/c:", "c: ends with :"),
        ("a::b/c", "a::b contains ::"), ("a/b/c", "b/c contains a second /"), ("a.b/c\x01", r"it contains '\\x01'"),
        ("a.b/c@d", "no name contains @"),
    ],
)  # fmt: skip
def test_what_clojure_refuses_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(InvalidFunction, match=f"It is not a name: {why}"):
        stored_name(f"#'{name}")
    with pytest.raises(InvalidFunction, match=f"is not a name: {why}"):
        job(f"#'{name}")(test_what_clojure_refuses_is_refused_with_the_reason)


def test_what_others_stored_is_read_all_the_same() -> None:
    assert read_name("#'a.b/1st") == Name("a.b", "1st")
    assert read_name("(var a/-1x)") == Name("a", "-1x")
    assert read_name("#'a/b\x01") == Name("a", "b\x01")
