"""The parts of the form of a job, as tables: hidden values, boxes, options, and how others would add it."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest

from workkit import schedule
from workkit.errors import InvalidArguments
from workkit.jobs.arguments import KnownFunction, Parameter
from workkit.jobs.job import Job
from workkit.jobs.options import ADD, names_at
from workkit.text.masked_text import MASK
from workkit.triggers.when import When, read_when
from workkit.web.job_form import CHOICE_WORDS, ELSEWHERE, boxes, from_boxes, keep_hidden, of_time, option_fields
from workkit.web.pages.policies import in_a_plan, in_python, on_the_command_line

SEEN = [MASK, {"token": MASK, "n": 1}, f"password={MASK}", ["--key", MASK]]
STORED = ["s3cret", {"token": "t", "n": 1}, "password=hunter2", ["--key", "k"]]


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        (SEEN, STORED),
        ([MASK, 5], ["s3cret", 5]),
        (["new", {"token": MASK, "n": 2}], ["new", {"token": "t", "n": 2}]),
        ([MASK, {"token": MASK}, f"password={MASK}", ["--key", MASK, 9]], ["s3cret", {"token": "t"}, *STORED[2:3],
                                                                         ["--key", "k", 9]]),
        (["plain"], ["plain"]),
    ],
)  # fmt: skip
def test_a_hidden_value_is_kept_where_it_stood(given: Any, becomes: Any) -> None:
    assert keep_hidden(given, SEEN, STORED) == becomes


@pytest.mark.parametrize(
    "given", [[1, MASK], [{"token": MASK}], [1, {"other": MASK}], [1, 2, f"x={MASK}"], {"a": MASK}]
)
def test_a_mask_that_stands_for_nothing_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArguments, match="Write the value"):
        keep_hidden(given, SEEN, STORED)


CALLED = KnownFunction(
    fn="f",
    parameters=(
        Parameter(name="team", annotation="str"),
        Parameter(name="top", annotation="int", default="10"),
        Parameter(name="extra", default="None"),
        Parameter(name="dry", kind="keyword", annotation="bool", default="False"),
    ),
)


@pytest.mark.parametrize("annotation", ["datetime", "date", "time", "Decimal", "UUID", "bytes", "Path"])
def test_a_box_of_a_type_that_travels_as_text_is_read_as_text(annotation: str) -> None:
    parameter = Parameter(name="x", annotation=annotation)
    assert from_boxes([(parameter, "12.50")], by_name={}) == (["12.50"], {})
    (box,) = boxes(KnownFunction(fn="f", parameters=(parameter,)), ["12.50"], {}) or ()
    assert box.text == "12.50"


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (["finance"], {}),
        (["7", 20], {}),
        (["a", 1, "text"], {"dry": True}),
        (["a", 1, "20"], {}),
        (["a", 1, {"x": [None, "é"]}], {}),
        (["a"], {"extra": 1}),
        ([], {"team": "x", "top": 2}),
        ([MASK, 1, MASK], {}),
    ],
)
def test_boxes_say_the_same_call(args: list[Any], kwargs: dict[str, Any]) -> None:
    laid = boxes(CALLED, args, kwargs)
    assert laid is not None
    filled = [(box.parameter, box.text) for box in laid]
    assert from_boxes(filled, by_name=kwargs) == (args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [([5], {}), ([None], {}), ([""], {}), ([1, 2, 3, 4], {}), ([], {"other": 1}), (["a"], {"team": "b"})],
)
def test_what_boxes_cannot_say_stays_json(args: list[Any], kwargs: dict[str, Any]) -> None:
    assert boxes(CALLED, args, kwargs) is None
    assert boxes(KnownFunction(fn="f", parameters=(Parameter(name="a", kind="rest"),)), args, kwargs) is None


def test_every_option_of_an_addition_is_in_the_form() -> None:
    shown = option_fields({})
    assert set(shown) | set(ELSEWHERE) == set(names_at(ADD))
    for name, words in CHOICE_WORDS.items():
        assert len(shown[name].choices) == len(words)
        assert [value for value, _ in shown[name].choices].count("") == 1


GIVEN = {
    "fn": "tests.handlers:note",
    "when": "every weekday at 9am",
    "tz": "Europe/Paris",
    "name": 'it\'s "it"',
    "args": ["20", 20, None, {"a": [True, "é'"]}],
    "kwargs": {"x": "two words", "n": 1.5},
    "retries": 3,
    "jitter": False,
    "timeout": "20m",
}


def test_the_call_in_python_is_the_same_call() -> None:
    said: list[Any] = []

    class Said:
        @staticmethod
        def add(*args: Any, **kwargs: Any) -> None:
            said.append((args, kwargs))

    exec(in_python(GIVEN), {"schedule": Said, "s": schedule})  # its own words, made of the values above
    rest = {name: value for name, value in GIVEN.items() if name != "fn"}
    assert said == [((schedule, GIVEN["fn"]), rest)]


def test_the_command_is_the_same_call() -> None:
    import json
    import shlex

    words = shlex.split(on_the_command_line(GIVEN, "app-tasks").replace("\\\n", " "))
    assert words[:5] == ["workkit", "add", "app-tasks", GIVEN["when"], GIVEN["fn"]]
    assert [json.loads(word) for word in words[5:9]] == GIVEN["args"]
    assert words[9:] == [
        "--name", GIVEN["name"], "--tz", "Europe/Paris", "--kwarg", "x=two words", "--kwarg", "n=1.5",
        "--retries", "3", "--no-jitter", "--timeout", "20m",
    ]  # fmt: skip


def test_the_entry_of_a_plan_is_the_same_call() -> None:
    given = GIVEN | {"args": ["20", 20, {"a": [True, "é'"]}]}
    rest = {name: value for name, value in given.items() if name != "name"}
    assert tomllib.loads(in_a_plan(given)) == {GIVEN["name"]: rest}


@pytest.mark.parametrize(
    "time",
    [
        "day at 9am", "weekday at 9am", "90 seconds", "2 weeks on monday at 9am",
        "last friday of the month at 5pm", "1 january at 5pm",
        "*/7 9-17 1,15 * *", "*/7 9-17 * * 1,3", "0 9 1 * 1", "5/20 3 * 2,6 *", "0 9 * * 5L", "17 3 */2 * *",
        "0 0 29 2 *", "0,13,41 * * * *", "*/40 * * * *",
    ],
)  # fmt: skip
@pytest.mark.parametrize("tz", ["UTC", "Europe/Paris"])
def test_the_form_of_a_job_that_recurs_has_its_time_as_it_reads_back(time: str, tz: str) -> None:
    now = datetime(2026, 11, 26, 9, tzinfo=UTC)
    trigger = read_when(When(**({"cron": time} if "*" in time or "L" in time else {"every": time}), tz=tz), now=now)
    when, zone = of_time(Job(id="0" * 40, schedule="s", fn="f", state="waiting", trigger=trigger))
    again = read_when(When(when=when, tz=zone), now=now)
    assert list(again.upcoming(now, 20)) == list(trigger.upcoming(now, 20)), when
