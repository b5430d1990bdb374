"""Whether a call fits, told before it is made."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.servers import Server
from workkit import schedule
from workkit.adding import call
from workkit.errors import InvalidArguments, WorkkitWarning
from workkit.jobs.arguments import check_call
from workkit.jobs.names import clojure


def welcome(email: str) -> None: ...
def range_(start: int, end: int | None = None, *, step: float = 1.0) -> None: ...
def anything(*args: Any, **kwargs: Any) -> None: ...
def listed(rows: list[dict[str, int]], flag: bool = False) -> None: ...
def unknown(x: NoSuchType) -> None: ...  # type: ignore[name-defined] # noqa: F821


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (welcome, ["a@b.c"], {}), (range_, [1], {}), (range_, [1, None], {"step": 2}), (range_, [True, 3], {}),
        (anything, [1, 2, 3], {"x": 1}), (listed, [[{"a": 1}]], {}), (listed, [()], {"flag": True}), (unknown, [1], {}),
        (print, [1], {}),
    ],
)  # fmt: skip
def test_what_fits_passes(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    check_call(fn, args=args, kwargs=kwargs)


@pytest.mark.parametrize(
    ("fn", "args", "kwargs", "message"),
    [
        (welcome, ["a", "b"], {}, "welcome(email) takes 1 argument; args has 2."),
        (welcome, [], {}, "welcome(email) takes 1 argument; args has 0."),
        (range_, [], {}, "range_(start, end, step) takes 1 to 2 arguments; args has 0."),
        (welcome, [5], {}, "welcome(email): email=5 is an int, and email is annotated str."),
        (range_, ["1"], {}, "range_(start, end, step): start='1' is a str, and start is annotated int."),
        (range_, [1, "2"], {},
         "range_(start, end, step): end='2' is a str, and end is annotated int or NoneType."),
        (range_, [1], {"stop": 2},
         "range_(start, end, step) cannot be called so: got an unexpected keyword argument 'stop'."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(fn: Any, args: list[Any], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_call(fn, args=args, kwargs=kwargs)
    assert str(caught.value) == message


@pytest.mark.parametrize("fn", [clojure("(fn [x] x)"), "#'your-app.cache/clear", "(var a.b/c)", "'a.b/c"])
def test_integers_that_not_every_language_reads_are_warned_of_for_clojure(fn: Any) -> None:
    with pytest.warns(WorkkitWarning) as caught:
        call(fn, args=[1, {"ids": [2**53 + 1]}, -(2**64)], kwargs=None)
    assert [str(warning.message) for warning in caught] == [
        f"{place} is an integer beyond 2^53, which not every language reads as it stands: JavaScript rounds it, "
        "and beyond 64 bits Clojure makes a BigInt of it. Pass it as text."
        for place in ('args[1]["ids"][0]', "args[2]")
    ]


@pytest.mark.parametrize("fn", [anything, "app.cache:clear"])
def test_nothing_is_said_of_what_only_python_reads(fn: Any) -> None:
    assert call(fn, args=[2**64], kwargs=None).args == (2**64,)  # warnings are errors here


def test_nothing_is_said_of_what_both_read_the_same() -> None:
    call(clojure("(fn [x] x)"), args=[2**53, -(2**53), 1e300, True, None, "9" * 30, {"a": [0.5]}], kwargs=None)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([float("nan")], "args[0] is nan, which JSON cannot carry."),
        ([[float("-inf")]], "args[0][0] is -inf, which JSON cannot carry."),
        ([{1: 2}], "args[0] has the key 1, and JSON keys are text."),
    ],
)
def test_what_no_language_reads_is_refused(server: Server, name: str, args: list[Any], message: str) -> None:
    s = schedule.create(name, redis=server.url)
    with pytest.raises(InvalidArguments, match=re.escape(message)):
        schedule.add(s, "#'your-app.cache/clear", in_="1 hour", args=args)
    assert list(schedule.jobs(s)) == []


def test_whoever_adds_is_the_one_who_is_warned(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    with pytest.warns(WorkkitWarning) as later:
        schedule.add(s, "#'your-app.cache/clear", in_="1 hour", args=[2**60])
    with pytest.warns(WorkkitWarning) as now:
        schedule.add_now(s, clojure("(fn [x] x)"), args=[2**60])
    assert [warning.filename for warning in (*later, *now)] == [__file__, __file__]
    assert sorted(job.args for job in schedule.jobs(s)) == [(2**60,), (2**60,)]
