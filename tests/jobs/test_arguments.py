"""Whether a call fits, told before it is made."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest

from tests.servers import Server
from workkit import schedule
from workkit.errors import InvalidArguments, WorkkitWarning
from workkit.jobs.arguments import check_call, compiled_check
from workkit.jobs.names import clojure
from workkit.verbs.dead import check_other
from workkit.verbs.new_job import called


def welcome(email: str) -> None: ...
def range_(start: int, end: int | None = None, *, step: float = 1.0) -> None: ...
def anything(*args: Any, **kwargs: Any) -> None: ...
def listed(rows: list[dict[str, int]], flag: bool = False) -> None: ...
def unknown(x: NoSuchType) -> None: ...  # type: ignore[name-defined] # noqa: F821


class Color(Enum):
    RED = "red"


def chosen(mode: Literal["fast", "slow", 1]) -> None: ...
def counted(ids: list[int], by: dict[str, float] | None = None) -> None: ...
def either(x: list[int] | list[str] | Literal["all"]) -> None: ...
def painted(color: Color, at: Annotated[int, "ms"], shape: tuple[int, int], of: Literal[Color.RED]) -> None: ...
def optional(x: Optional[int], y: int = None) -> None: ...  # type: ignore[assignment] # noqa: UP045, RUF013
def later(x, /, y: str, *rest: int, z: bool = False, **more: int) -> None: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (welcome, ["a@b.c"], {}), (range_, [1], {}), (range_, [1, None], {"step": 2}), (range_, [True, 3], {}),
        (anything, [1, 2, 3], {"x": 1}), (listed, [[{"a": 1}]], {}), (listed, [()], {"flag": True}), (unknown, [1], {}),
        (print, [1], {}), (chosen, ["fast"], {}), (chosen, [1], {}), (counted, [[]], {}),
        (counted, [[1, True], {"a": 1, "b": 0.5}], {}), (counted, [(1, 2)], {"by": None}), (either, ["all"], {}),
        (either, [[1, 2]], {}), (either, [["a"]], {}), (painted, ["red", 5, [1, 2], "red"], {}),
        (optional, [None, None], {}), (later, [1, "y", "of another type"], {"z": True, "w": "too"}),
    ],
)  # fmt: skip
def test_what_fits_passes(fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    check_call(fn, args=args, kwargs=kwargs)
    if check := compiled_check(fn):
        check(args, kwargs or None)


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
        (chosen, ["fats"], {}, "chosen(mode): mode='fats', and mode is annotated Literal['fast', 'slow', 1]."),
        (chosen, [True], {}, "chosen(mode): mode=True, and mode is annotated Literal['fast', 'slow', 1]."),
        (counted, [[1, "2"]], {}, "counted(ids, by): ids[1]='2' is a str, and ids is annotated list[int]."),
        (counted, [{"a": 1}], {}, "counted(ids, by): ids={'a': 1} is a dict, and ids is annotated list[int]."),
        (counted, [[]], {"by": {"a": 1, "b": "x"}},
         "counted(ids, by): by[\"b\"]='x' is a str, and by is annotated dict[str, float] or NoneType."),
        (either, [["a", 1]], {},
         "either(x): x[1]=1, and x is annotated list[int] or list[str] or Literal['all']."),
        (painted, ["red", "5", [1], "red"], {},
         "painted(color, at, shape, of): at='5' is a str, and at is annotated int."),
        (later, [1, 2], {}, "later(x, y, *rest, z, **more): y=2 is an int, and y is annotated str."),
        (later, [1, "y"], {"z": 1}, "later(x, y, *rest, z, **more): z=1 is an int, and z is annotated bool."),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(fn: Any, args: list[Any], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check_call(fn, args=args, kwargs=kwargs)
    assert str(caught.value) == message
    if " takes " in message or " called so" in message:
        return  # a matter of number, which a call finds out by itself
    check = compiled_check(fn)
    assert check is not None
    with pytest.raises(InvalidArguments, match=re.escape(message)):
        check(args, kwargs or None)


@pytest.mark.parametrize("fn", [anything, unknown, print, Color])
def test_nothing_is_compiled_where_nothing_can_be_told(fn: Any) -> None:
    assert compiled_check(fn) is None


@pytest.mark.parametrize("fn", [clojure("(fn [x] x)"), "#'your-app.cache/clear", "(var a.b/c)", "'a.b/c"])
def test_integers_that_not_every_language_reads_are_warned_of_for_clojure(fn: Any) -> None:
    with pytest.warns(WorkkitWarning) as caught:
        called(fn, args=[1, {"ids": [2**53 + 1]}, -(2**64)], kwargs=None)
    assert [str(warning.message) for warning in caught] == [
        f"{place} is an integer beyond 2^53, which not every language reads as it stands: JavaScript rounds it, "
        "and beyond 64 bits Clojure makes a BigInt of it. Pass it as text."
        for place in ('args[1]["ids"][0]', "args[2]")
    ]


@pytest.mark.parametrize("fn", [anything, "app.cache:clear"])
def test_nothing_is_said_of_what_only_python_reads(fn: Any) -> None:
    assert called(fn, args=[2**64], kwargs=None).args == (2**64,)  # warnings are errors here


def test_nothing_is_said_of_what_both_read_the_same() -> None:
    called(clojure("(fn [x] x)"), args=[2**53, -(2**53), 1e300, True, None, "9" * 30, {"a": [0.5]}], kwargs=None)


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


def double(n: int) -> None:
    raise AssertionError("never run")


def test_a_run_that_does_not_fit_is_dead_at_once(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, f"{__name__}:double", args=["2"], retries=5)
    schedule.add_now(s, f"{__name__}:double", args=[1, 2], retries=5)
    assert schedule.drain(s, imports=[__name__], folder=None, raise_errors=False).failed == 2
    assert {job.error for job in schedule.dead(s)} == {
        "InvalidArguments: double(n): n='2' is a str, and n is annotated int.",
        "InvalidArguments: double(n) takes 1 argument; args has 2.",
    }


def test_whoever_adds_is_the_one_who_is_warned(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    with pytest.warns(WorkkitWarning) as later:
        schedule.add(s, "#'your-app.cache/clear", in_="1 hour", args=[2**60])
    with pytest.warns(WorkkitWarning) as now:
        schedule.add_now(s, clojure("(fn [x] x)"), args=[2**60])
    assert [warning.filename for warning in (*later, *now)] == [__file__, __file__]
    assert sorted(job.args for job in schedule.jobs(s)) == [(2**60,), (2**60,)]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("a@b.c", 'args="a@b.c" is one text, not a list. Write args=["a@b.c"].'),
        (b"x", "args=b'x' is one text, not a list. Write args=[b'x']."),
        (5, "args=5 is an int, not a list. Write args=[5]."),
    ],
)
def test_add_and_retry_refuse_arguments_that_are_no_list_with_the_same_sentence(args: Any, message: str) -> None:
    for check in (lambda: called("app:f", args=args, kwargs=None), lambda: check_other(args, None)):
        with pytest.raises(InvalidArguments) as caught:
            check()
        assert str(caught.value) == message
        assert (caught.value.where, caught.value.given) == ("args", args)


def test_add_takes_named_arguments_as_kwargs_only_and_retry_takes_an_object() -> None:
    with pytest.raises(InvalidArguments, match=r"args=\{'a': 1\} is a dict, not a list\."):
        called("app:f", args={"a": 1}, kwargs=None)
    check_other({"a": 1}, None)
    with pytest.raises(InvalidArguments, match=r"args: 1 is not a text"):
        check_other({1: "a"}, None)
