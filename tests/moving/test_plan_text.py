"""A plan in TOML: it reads back as what was found, and nothing that was found can break out of a comment."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workkit.moving.found import Carried, Found, Refused
from workkit.moving.plan_text import plan_text, settled, source_name, value_text

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def carried(name: str = "a", **fields: Any) -> Carried:
    given: dict[str, Any] = {
        "when": "every day at 9am", "function": "app:f", "args": [], "kwargs": {}, "options": {}, "where": "line 1",
        "comments": (), **fields,
    }  # fmt: skip
    return Carried(name=name, **given)


@settings(max_examples=40)
@given(VALUES)
def test_a_value_reads_back(value: Any) -> None:
    assert tomllib.loads(f"x = {value_text(value)}") == {"x": value}


@settings(max_examples=40)
@given(st.text(), st.text(), st.text(), st.lists(VALUES, max_size=3))
def test_an_entry_reads_back_whatever_its_texts_hold(name: str, text: str, comment: str, args: list[Any]) -> None:
    found = settled([Refused(where=text, text=comment, reason=text), carried(name, args=args, comments=(comment,))])
    entry = found[1]
    assert isinstance(entry, Carried)
    read = tomllib.loads(plan_text(found, source=text))
    expected: dict[str, Any] = {"fn": "app:f", "when": "every day at 9am"} | ({"args": args} if args else {})
    assert read == {entry.name: expected}


def test_a_plan_has_comments_and_refusals_in_their_places() -> None:
    found: list[Found] = [
        carried("digest", args=["x"], kwargs={"n": 1}, options={"tz": "UTC"}, comments=("Mind this.",)),
        Refused(where="line 2", text="@reboot b", reason="It is no time.", instead="Start it."),
        carried("a b", when="0 9 * * *", where="line 3"),
    ]
    assert plan_text(settled(found), source="the crontab x") == (
        "# A plan of the crontab x: 2 jobs, 1 refused.\n"
        "# Next: workkit sync app-tasks plan.toml --dry-run\n\n"
        '# line 1\n# Mind this.\n[digest]\nfn = "app:f"\nwhen = "every day at 9am"\nargs = ["x"]\nkwargs = {n = 1}\n'
        'tz = "UTC"\n\n'
        "# REFUSED, line 2: @reboot b\n# It is no time. Start it.\n\n"
        '# line 3\n["a b"]\nfn = "app:f"\ncron = "0 9 * * *"\n'
    )


def test_names_are_those_of_jobs_and_differ() -> None:
    names = ["a", "a", "b", " a ", "a*b\n", "", "x" * 300, "x" * 300, "a-2"]
    found = [entry.name for entry in settled(map(carried, names)) if isinstance(entry, Carried)]
    assert found == ["a", "a-2", "b", "a-3", "a b", "job", "x" * 200, f"{'x' * 198}-2", "a-2-2"]


@pytest.mark.parametrize(("value", "name"), [(None, "null"), ([{"x": None}], "null"), ({1, 2}, "a set")])
def test_what_toml_has_not_is_refused(value: Any, name: str) -> None:
    (found,) = settled([carried(args=[value])])
    assert isinstance(found, Refused)
    assert found.reason == f"An argument holds {name}, which a plan in TOML has not."


def test_a_source_is_named_without_its_folder() -> None:
    assert source_name("crontab", "/etc/cron.d/web") == "the crontab web"
    assert source_name("crontab", "-") == "the crontab on stdin"
