"""What every verb and every public value has in common: how it names a mistake, and how it shows itself."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import aio, current_job, events, schedule, triggers
from workkit.contract.inspector import Counts, Missed
from workkit.contract.listener import ListenerInfo
from workkit.contract.producer import Tally
from workkit.errors import InvalidSchedule
from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure
from workkit.jobs.run_options import RunOptions
from workkit.jobs.terms import Terms
from workkit.verbs.plan import Plan

HOW: dict[str, Any] = {"imports": ["tests.handlers", __name__], "folder": None}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "add": (handlers.note,), "add_now": (handlers.note,), "add_many": ([],), "batch": ("x",), "cancel": ("x",),
    "chain": ([],), "job": ("x",), "log": ("x",), "map": (handlers.note, []), "mark": ("x",), "reschedule": ("x",),
    "result": ("x",), "run": ("x",), "skip": ("x",), "snooze": ("x", "1h"), "sync": ({},),
}  # fmt: skip
OTHER = schedule.create("other")
MORE: dict[str, dict[str, Any]] = {"add": {"at": "now"}, "forward": {"to": OTHER}, "forwarder": {"to": OTHER}}
VERBS = sorted(set(schedule.__all__) - {"Batch", "BatchState", "Schedule", "create", "meta", "schedules"})
seen: list[str] = []


def called(verb: Callable[..., Any], name: str, given: Any) -> None:
    """Call a verb as far as it takes to have it look at its schedule."""
    answer = verb(given, *ARGUMENTS.get(name, ()), **MORE.get(name, {}))
    if inspect.isgenerator(answer):
        next(answer)


async def awaited(verb: Callable[..., Any], name: str, given: Any) -> None:
    """The same of a coroutine, an asynchronous iterator or context manager."""
    answer = verb(given, *ARGUMENTS.get(name, ()), **MORE.get(name, {}))
    if inspect.isasyncgen(answer):
        await anext(answer)
    elif hasattr(answer, "__aenter__"):
        await answer.__aenter__()
    else:
        await answer


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("shop", "'shop' is a text, not a Schedule. Write s = schedule.create('shop'), and give s."),
        ("redis://u:PW@h", " is a text, not a Schedule."),
        (handlers.note, "is a function, not a Schedule. Give what schedule.create returned."),
        (None, "None is a NoneType, not a Schedule. Give what schedule.create returned."),
    ],
    ids=["name", "URL", "function", "None"],
)
def test_a_verb_names_what_stands_in_place_of_its_schedule(verb: str, given: Any, said: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        called(getattr(schedule, verb), verb, given)
    assert said in str(caught.value)
    assert caught.value.where == "s"
    assert "PW" not in str(caught.value) + repr(vars(caught.value))
    if verb in aio.__all__:
        with pytest.raises(InvalidSchedule) as caught:
            asyncio.run(awaited(getattr(aio, verb), verb, given))
        assert said in str(caught.value)


@pytest.mark.parametrize("given", [["shop"], {"shop": 1}], ids=str)
def test_a_listener_names_what_stands_among_its_schedules(given: Any) -> None:
    with pytest.raises(InvalidSchedule, match=r"^'shop' is a text, not a Schedule"):
        schedule.listener(given)


def look_at_itself() -> None:
    seen.append(repr(current_job()))


def values() -> list[Any]:
    """One of each public value, with texts in it that are long, and of several lines."""
    at = datetime(2026, 11, 21, 19, tzinfo=UTC)
    trigger = triggers.parse("every weekday at 9am", now=at, tz="Europe/Paris")
    long = "line\n" * 1000
    failure = Failure(type="OSError", message=long, where="app.py:3", traceback=long)
    one = Job(
        id="5" * 40, schedule="t", fn="#'app/f", args=(long, 7, [long] * 50), kwargs={"a": long}, trigger=trigger,
        due=at,
        state="dead", name="nightly", error=long, failure=failure, terms=Terms(name="nightly"),
        options=RunOptions(retries=3),
    )  # fmt: skip
    return [
        one, trigger, failure, one.terms, one.options, Tally(ran=3), Counts(due=1), current_job(),
        Missed(id="5" * 40, name=None, fn="#'app/f", due=at, reason="late"), Plan(added=("a",), after={"a": one}),
        ListenerInfo(listener="h:1", host="h", pid=1, version="1", schedules={"t": 1}, threads=1, running=(one,)),
        schedule.batch(schedule.create("t", redis="redis://:PW@h/0"), "import" * 30),
        schedule.BatchState(id="5" * 16, name="import", state="running", on_death="cancel", total=3, then="5" * 40),
        schedule.create("t", redis="redis://:PW@h/0", tz="Europe/Paris"), events.Event(name="late", schedule="t"),
        schedule.listener(schedule.create("t", redis="redis://:PW@h/0"), **HOW),
    ]  # fmt: skip


@pytest.mark.parametrize("value", values(), ids=lambda value: type(value).__name__)
def test_the_repr_of_a_value_is_one_short_line(value: Any) -> None:
    shown = repr(value)
    assert "\n" not in shown
    assert len(shown) < 1200
    assert "PW" not in shown
    assert type(value).__name__ in shown


def test_the_repr_of_a_job_says_what_is_known_of_it_and_no_more() -> None:
    at = datetime(2026, 11, 21, 19, tzinfo=UTC)
    assert repr(Job(id="5c0d41", schedule="t", fn="#'app/f", args=(7,), due=at)) == (
        "Job(id='5c0d41', schedule='t', fn=\"#'app/f\", args=(7,), due=2026-11-21T19:00:00+00:00)"
    )


def test_the_repr_of_a_schedule_says_where_it_is() -> None:
    s = schedule.create("t", redis="redis://u:PW@db:7000/3", tz="Europe/Paris", limit=3)
    assert repr(s) == "Schedule(name='t', redis='redis://u:***@db:7000/3', tz='Europe/Paris', limit=3)"


def test_a_value_whose_own_repr_fails_is_shown_all_the_same() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    assert "Broken" in repr(Job(id="5", schedule="t", fn="f", args=(Broken(),)))


def test_a_run_shows_itself_in_one_line(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, look_at_itself, timeout="1m")
    assert schedule.drain(s, **HOW).ran == 1
    assert seen[-1].startswith("RunningJob(id='")
    assert "\n" not in seen[-1]
    assert "_clock" not in seen[-1]
