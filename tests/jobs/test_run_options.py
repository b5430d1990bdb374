"""The options that only a handler has: limits, rates, processes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from workkit import job
from workkit.errors import InvalidOptions
from workkit.jobs import marks
from workkit.jobs.option_readers import turn_ms
from workkit.jobs.options import JOB, read_options
from workkit.jobs.run_options import UNSAID, RunOptions, run_options
from workkit.verbs.dead import pause_ms
from workkit.verbs.new_job import NO_OPTIONS, read_add_options


def read_run_options(given: dict[str, Any]) -> RunOptions:
    return run_options(read_options(given, place=JOB, verb="@job"))


def export(customer: str, day: str = "today", *tags: str, depth: int = 3, **more: Any) -> None: ...


def odd(first: int, /, second: int) -> None: ...


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ({"limit": 2}, RunOptions(limit=2)),
        ({"limit": 100_000, "cpu": True}, RunOptions(limit=100_000, cpu=True)),
        ({"rate": "100/minute"}, RunOptions(rate_ms=600.0)),
        ({"rate": "5/s", "retries": 1}, RunOptions(rate_ms=200.0, retries=1)),
        ({"cpu": False}, RunOptions(cpu=False)),
        (
            {"rate": {"gold": "100/minute", "": "20/minute"}, "limit_key": "customer"},
            RunOptions(rate_ms={"gold": 600.0, "": 3000.0}, limit_key="customer"),
        ),
    ],
    ids=str,
)
def test_options_of_a_handler_are_read(given: dict[str, Any], options: RunOptions) -> None:
    assert read_run_options(given) == options
    assert not {"limit", "limit_key", "rate_ms", "cpu"} & options.fields().keys()


@pytest.mark.parametrize(
    ("rate", "ms"),
    [
        ("100/minute", 600.0), ("5/s", 200.0), ("10 per hour", 360_000.0), ("3/10s", 10_000 / 3),
        ("100/minutes", 600.0), ("10/second", 100.0), ("1000/hour", 3_600.0), ("1/d", 86_400_000.0),
        (" 3 per min ", 20_000.0), ("1/Hour", 3_600_000.0), ("10000/sec", 0.1), ("10/fortnight", 120_960_000.0),
        ("1/day", 86_400_000.0), (" 7 PER 2 hours ", 7_200_000 / 7), ("1000/sec", 1.0), ("2/1h30m", 2_700_000.0),
    ],
)  # fmt: skip
def test_job_and_retry_read_the_same_rate(rate: str, ms: float) -> None:
    assert read_run_options({"rate": rate}).rate_ms == pytest.approx(ms)
    assert pause_ms(rate) == pytest.approx(ms)


@pytest.mark.parametrize(
    "rate",
    ["", "fast", "0/s", "/s", "5/", "5", 5, "-1/s", "5perhour s", "1/month", "1/0s", "1.5/s", "3/401 days", "1/ss"],
)  # fmt: skip
def test_job_and_retry_refuse_what_is_no_rate_with_the_same_sentence(rate: Any) -> None:
    for read in (turn_ms, pause_ms, lambda rate: job(rate=rate)):
        with pytest.raises(InvalidOptions) as caught:
            read(rate)
        assert str(caught.value) == (
            f"rate={rate!r} is not a rate. "
            'Write "100/minute": a number, and a second, minute, hour, day, or a duration up to 400 days.'
        )
        assert (caught.value.where, caught.value.trouble) == ("rate", "is not a rate")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limit": 0}, "limit=0 is not a number of runs at once. Accepted: 1 to 100,000."),
        ({"rate": {}, "limit_key": "customer"},
         'rate={} has no class. Write {"gold": "100/minute", "": "20/minute"}.'),
        ({"rate": {"gold": "1/s", "": "fast"}, "limit_key": "customer"},
         "rate[\"\"]='fast' is not a rate. "
         'Write "100/minute": a number, and a second, minute, hour, day, or a duration up to 400 days.'),
        ({"rate": {"gold:a": "1/s"}, "limit_key": "customer"},
         'rate={\'gold:a\': \'1/s\'} has the class "gold:a", but a class ends before the first ":". Write "gold".'),
        ({"rate": {5: "1/s"}, "limit_key": "customer"},
         "rate={5: '1/s'} has the class 5, which is no text. Write \"5\"."),
        ({"rate": {"gold": "1/s"}},
         'rate= has classes, but without limit_key= no job has one. Add limit_key="customer".'),
        ({"limit": True}, "limit=True is not a number of runs at once. Accepted: 1 to 100,000."),
        ({"limit_key": "customer"},
         "limit_key='customer' without limit= or rate=: there is nothing to count by it. Add limit=1."),
        ({"limit_key": 7, "limit": 1},
         "limit_key=7 is neither a parameter's name nor a function. Write limit_key=\"customer\"."),
        ({"limit_key": "custmer", "limit": 1},
         'limit_key="custmer" is not a parameter of export. Did you mean "customer"?'),
        ({"limit_key": "tags", "rate": "1/s"},
         'limit_key="tags" is not a parameter of export. It has: customer, day, depth.'),
        ({"cpu": 1}, "cpu=1 is neither True nor False."),
        ({"limits": 1}, "limits=1 is not an option of @job. Did you mean limit=1?"),
        ({"overlap": "skip"}, "overlap= belongs to schedule.add. Give overlap='skip' there."),
    ],
    ids=str,
)  # fmt: skip
def test_a_mistake_is_refused_when_the_function_is_defined(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        job(**given)(export)
    assert str(caught.value) == message
    assert export not in marks._said
    assert f"{__name__}:export" not in marks._marked


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        ("gold", 600.0), ("gold:acme", 600.0), (":acme", 3000.0), ("goldie", 3000.0), ("", 3000.0), (5, 60_000.0),
        (None, 1000.0), (True, 3000.0), ([1], 3000.0), ({"gold": 1}, 3000.0),
    ],
)  # fmt: skip
def test_the_rate_of_a_class_is_found_by_the_value(value: Any, ms: float) -> None:
    rates = {"gold": "100/minute", "": "20/minute", "5": "1/minute", "null": "1/s"}
    options = read_run_options({"rate": rates, "limit_key": "customer"}).bound_to(export)
    assert options.turn_ms(options.limited_by([value], None)) == pytest.approx(ms)


def test_a_value_of_no_class_has_no_rate_where_there_is_none_for_others() -> None:
    options = read_run_options({"rate": {"gold": "1/s"}, "limit_key": "customer"}).bound_to(export)
    assert options.turn_ms(options.limited_by(["bob"], None)) is None


@pytest.mark.parametrize("given", [{"limit": 2}, {"rate": "1/s"}, {"limit_key": "a"}, {"cpu": True}, {"retry_on": ()}])
def test_an_option_of_a_handler_is_not_one_of_a_job(given: dict[str, Any]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(InvalidOptions) as caught:
        read_add_options(given)
    assert str(caught.value) == f"{name}= belongs to @job. Give {name}={value!r} there."


@pytest.mark.parametrize(
    ("fn", "key", "args", "kwargs", "value"),
    [
        (export, "customer", ["ann"], None, "ann"),
        (export, "customer", [], {"customer": "ann"}, "ann"),
        (export, "customer", [], {}, None),
        (export, "day", ["ann"], None, "today"),
        (export, "day", ["ann", "monday", "x"], {}, "monday"),
        (export, "day", ["ann"], {"day": "friday"}, "friday"),
        (export, "depth", ["ann", "monday", 5], None, 3),
        (export, "depth", ["ann"], {"depth": 9}, 9),
        (odd, "first", [1, 2], None, 1),
        (odd, "second", [1], {"second": 2}, 2),
        (export, lambda customer, day="today": (customer, day), ["ann"], {"day": "friday"}, ("ann", "friday")),
        (export, lambda customer: customer, ["ann", "too many"], None, None),
        (export, lambda customer: 1 // 0, ["ann"], None, None),
    ],
)
def test_a_limit_key_finds_its_value(
    fn: Callable[..., Any], key: Any, args: list[Any], kwargs: dict[str, Any] | None, value: Any
) -> None:
    options = read_run_options({"limit": 1, "limit_key": key}).bound_to(fn)
    assert options.limited_by(args, kwargs) == json.dumps(value)


def test_what_a_handler_says_stands_beside_what_a_job_says() -> None:
    handler = RunOptions(limit=2, rate_ms=5.0, cpu=True, retries=1, timeout_ms=7)
    assert RunOptions(retries=4).over(handler) == RunOptions(limit=2, rate_ms=5.0, cpu=True, retries=4, timeout_ms=7)
    assert UNSAID.over(handler) is handler


def test_nothing_said_is_one_value() -> None:
    assert read_add_options({"tz": "UTC"}) is NO_OPTIONS
    assert read_add_options({"name": None, "overlap": None, "retries": None}) is NO_OPTIONS


def test_functions_of_one_factory_keep_their_own_options() -> None:
    def made(limit: int) -> Any:
        @job(f"of.factory.{limit}", limit=limit)
        def run() -> int:
            return limit

        return run

    for one in (made(2), made(3)):
        assert marks.options_of(one).limit == one()
    assert {name: marks.served()[name].limit for name in ("of.factory.2", "of.factory.3")} == {
        "of.factory.2": 2, "of.factory.3": 3
    }  # fmt: skip
