"""A function is read once for its additions. What is refused of a new one is refused of a known one, and of one that
was reloaded meanwhile.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests import handlers, test_adding, test_schedule
from tests.jobs import test_arguments
from tests.jobs.structured import test_annotated, test_rules
from workkit import call, schedule
from workkit.brokers.native.codec import Codec
from workkit.errors import AddedAtImport, Invalid, InvalidArguments, InvalidFunction
from workkit.jobs.importing import import_module
from workkit.jobs.middleware import ENTERING
from workkit.verbs.addition import addition
from workkit.verbs.new_job import Prepared, _prepared, called

NOW = test_adding.NOW
NOWHERE = schedule.create("nowhere", redis="redis://127.0.0.1:1/", max_payload="2kB")
Refusal = tuple[type, str, Any]


def two(a: int, b: str = "x", *, c: bool = False) -> None: ...
def needs(a: int, *, c: int) -> None: ...
def free(*args: Any, **kwargs: Any) -> None: ...


def rows_of(test: Any) -> list[Any]:
    """The table of a parametrized test of another file."""
    (mark,) = (mark for mark in test.pytestmark if mark.name == "parametrize")
    return list(mark.args[1])


def refusals() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give functions with keywords of `add` that are refused: those of the tests beside this one, and more."""
    for said, _ in test_adding.REFUSED:
        yield handlers.note, said
    for said in rows_of(test_adding.test_late_is_refused_where_no_instant_of_the_last_day_is_named):
        yield handlers.note, {**said, "late": "run"}
    for said, *_ in rows_of(test_schedule.test_a_mistake_is_refused_before_anything_is_written):
        if not isinstance(said.get("fn"), str):
            yield said.get("fn", handlers.note), {key: value for key, value in said.items() if key != "fn"}
    for said, _ in rows_of(test_schedule.test_a_time_that_cannot_be_meant_is_refused):
        yield handlers.note, said
    for fn, args, kwargs, _ in rows_of(test_arguments.test_what_does_not_fit_is_refused):
        yield fn, {"at": "now", "args": args, "kwargs": kwargs}
    for args, _ in rows_of(test_arguments.test_what_no_language_reads_is_refused):
        yield test_arguments.anything, {"at": "now", "args": args}
    for fn, value, _ in test_annotated.REFUSED:
        yield fn, {"at": "now", "args": [value, "fast"] if fn is test_annotated.ranks else [value]}
    for fn, value, _ in rows_of(test_rules.test_a_wrong_value_is_refused_with_its_place):
        yield fn, {"at": "now", "args": [value]}
    now, more = {"at": "now"}, dict[str, Any]()
    for args in ("text", b"bytes", {"a": 1}, {1}, 5, iter([1])):
        yield two, {**now, "args": args}
        yield free, {**now, "args": args}
    for more in (
        {"args": [1, "x", True]}, {"args": []}, {"args": [1, 2]}, {"args": [1], "kwargs": {"c": 2}},
        {"args": [1], "kwargs": {"a": 1}}, {"kwargs": {"b": "x"}}, {"args": [1], "kwargs": {"d": 1}},
    ):  # fmt: skip
        yield two, {**now, **more}
    yield needs, {**now, "args": [1]}
    yield needs, {**now, "args": [1], "kwargs": {"c": "x"}}
    for value in (float("inf"), object(), {1: 2}, {3}, datetime(2026, 1, 1, tzinfo=UTC), b"x", "\ud800", "x" * 2000):
        yield free, {**now, "args": [value]}
        yield free, {**now, "kwargs": {"a": value}}
        yield free, {**now, "args": [[{"deep": [value]}]], "unique_key": "k"}
    for more in (
        {"unique_key": ""}, {"unique_key": "k\n"}, {"name": "a*"}, {"name": 5}, {"priority": 4}, {"retries": -1},
        {"retries": True}, {"backoff": "sometimes"}, {"throttle": "1m", "debounce": "1m"}, {"debounce_most": "1m"},
        {"on_conflict": "replace"}, {"unique": False, "name": "n"}, {"unique": 0}, {"ping": "https://x.org"},
        {"meta": {"a": 1}}, {"meta": "x"}, {"limit": 2}, {"limits": 2}, {"expires": "-1s"}, {"call": 5},
        {"call": call(two, 1)}, {"unique_until": "started"}, {"debounce": "2m", "debounce_most": "1m"},
    ):  # fmt: skip
        yield handlers.note, {**now, **more}


REFUSALS = list(refusals())


def copied(fn: Any) -> Any:
    """The same function as another object, which no addition has seen."""
    made = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    for name in ("__kwdefaults__", "__qualname__", "__module__", "__annotations__"):
        setattr(made, name, getattr(fn, name))
    return made


def prepared(fn: Any) -> Any:
    """The same function as another object, for whose arguments additions were refused before."""
    made = copied(fn)
    for args in (None, [object()] * 40):
        refused(made, {"at": "now", "args": args, "kwargs": {}})
    assert isinstance(_prepared[made], Prepared)
    return made


def refused(fn: Any, said: dict[str, Any]) -> Refusal | None:
    """Tell how an addition is refused, as far as its bytes; None where it is taken."""
    try:
        new = addition({"fn": fn, **said}, s=NOWHERE, now_ms=lambda: NOW)
        Codec("nowhere").encode(new, now_ms=NOW, nonce="n")
    except Invalid as error:
        return type(error), str(error), error.where
    return None


@pytest.mark.parametrize("given", [copied, prepared], ids=["new", "known"])
def test_what_is_refused_is_refused_of_a_new_function_and_of_a_known_one(given: Callable[[Any], Any]) -> None:
    assert len(REFUSALS) > 150
    for fn, said in REFUSALS:
        first = refused(copied(fn), said)
        assert first is not None, (fn, said)
        one = given(fn)
        assert [refused(one, said), refused(one, said)] == [first, first], (fn, said)


@pytest.mark.parametrize("given", [copied, prepared], ids=["new", "known"])
def test_keyword_arguments_are_refused_of_a_function_that_only_clojure_finds(given: Callable[[Any], Any]) -> None:
    fn = copied(free)
    fn.__module__ = "app-jobs"
    fn = given(fn)
    for _ in range(2):
        found = refused(fn, {"at": "now", "kwargs": {"a": 1}})
        assert found is not None
        assert "only Python functions take keyword arguments" in found[1]


@pytest.mark.parametrize(
    "fn", [lambda: None, handlers._secret, handlers.Mailer().bound, print], ids=["lambda", "hidden", "bound", "builtin"]
)
def test_a_function_that_no_listener_finds_is_refused_each_time(fn: Any) -> None:
    for _ in range(2):
        with pytest.raises(InvalidFunction):
            addition({"fn": fn, "at": "now"}, s=NOWHERE, now_ms=lambda: NOW)


def test_a_known_function_takes_what_a_new_one_takes() -> None:
    for fn, args, kwargs in rows_of(test_arguments.test_what_fits_passes):
        if isinstance(fn, FunctionType) and fn is not test_arguments.painted:
            one = prepared(fn)
            assert called(one, args=args, kwargs=kwargs or None) is not None


def test_a_function_that_is_reloaded_in_place_is_read_again() -> None:
    def other(a: str, b: str) -> None: ...

    one = prepared(two)
    assert refused(one, {"at": "now", "args": [1]}) is None
    one.__code__, one.__defaults__, one.__annotations__ = other.__code__, None, {"a": str, "b": str}
    found = refused(one, {"at": "now", "args": [1]})
    assert found is not None
    assert found[1] == "two(a, b) takes 2 arguments; args has 1."
    found = refused(one, {"at": "now", "args": [1, "x"]})
    assert found is not None
    assert "a=1 is an int, and a is annotated str" in found[1]
    assert refused(one, {"at": "now", "args": ["x", "y"]}) is None


def test_a_default_that_is_gone_is_missed() -> None:
    one = prepared(two)
    assert refused(one, {"at": "now", "args": [1]}) is None
    one.__defaults__ = None
    assert refused(one, {"at": "now", "args": [1]}) is not None
    one.__defaults__ = ("x",)
    assert refused(one, {"at": "now", "args": [1]}) is None
    one.__kwdefaults__ = None
    assert refused(one, {"at": "now", "args": [1]}) is not None


def test_structured_parameters_of_a_function_that_is_reloaded_in_place_are_read_again() -> None:
    one = prepared(free)
    assert refused(one, {"at": "now", "args": ["soon"]}) is None
    other = test_annotated.one
    one.__annotations__, one.__code__ = {"when": datetime}, other.__code__
    found = refused(one, {"at": "now", "args": ["soon"]})
    assert found is not None
    assert "when must be a datetime as ISO text" in found[1]


def test_a_function_that_becomes_a_generator_is_refused() -> None:
    def other() -> Iterator[int]:
        yield 1

    one = prepared(free)
    one.__code__ = other.__code__
    with pytest.raises(InvalidFunction, match="a generator function"):
        addition({"fn": one, "at": "now"}, s=NOWHERE, now_ms=lambda: NOW)


def test_a_function_of_a_module_that_is_imported_again_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "prepared_anew.py"
    file.write_text("def f(a: int) -> None: ...\n")
    module = importlib.import_module("prepared_anew")
    try:
        assert refused(module.f, {"at": "now", "args": [1]}) is None
        file.write_text("def f(a: str, b: str) -> None: ...\n")
        module = importlib.reload(module)
        found = refused(module.f, {"at": "now", "args": [1]})
        assert found is not None
        assert found[1] == "f(a, b) takes 2 arguments; args has 1."
    finally:
        del sys.modules["prepared_anew"]


def test_middleware_that_is_registered_later_sees_a_known_function() -> None:
    s, one = schedule.create("prepared-middleware", redis="redis://127.0.0.1:1/"), prepared(two)
    addition({"fn": one, "args": [1]}, s=s, now_ms=lambda: NOW, verb="add_now")
    try:

        @s.middleware(on="add")
        def refuse(job: Any) -> Iterator[Any]:
            from dataclasses import replace

            yield replace(job, args=("not a number",))

        with pytest.raises(InvalidArguments, match="a is annotated int"):
            addition({"fn": one, "args": [1]}, s=s, now_ms=lambda: NOW, verb="add_now")
    finally:
        ENTERING.pop(s.name, None)


def test_a_known_function_is_refused_while_a_listener_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        assert refused(handlers.note, {"at": "now", "args": [1]}) is None
    monkeypatch.syspath_prepend(tmp_path)
    for number, verb in enumerate(("add_now(s, handlers.note)", "add(s, handlers.note, at='now')")):
        (tmp_path / f"prepared_adds_{number}.py").write_text(
            "from tests import handlers\nfrom workkit import schedule\n\n"
            f"s = schedule.create('nowhere', redis='redis://127.0.0.1:1/')\nschedule.{verb}\n"
        )
        with pytest.raises(AddedAtImport):
            import_module(f"prepared_adds_{number}")
