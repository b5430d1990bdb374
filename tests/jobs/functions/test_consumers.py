"""Functions that a listener runs under a job name without a mark: what is accepted, and how the rest is refused."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from workkit import job, schedule
from workkit.errors import Invalid
from workkit.jobs.consumers import Functions
from workkit.jobs.option_readers import consumers
from workkit.jobs.run_options import UNSAID


def loaded(**named: Any) -> Functions:
    made = Functions(consumers=consumers({name.replace("_", "."): fn for name, fn in named.items()}, "consumers"))
    made.load()
    return made


def test_a_name_finds_the_function_that_it_is_given() -> None:
    registry = loaded(consumer_created=handlers.note, consumer_paid="tests.handlers:note")
    assert registry.resolve("consumer.created") is registry.resolve("consumer.paid") is handlers.note
    assert {"consumer.created", "consumer.paid"} <= set(registry.serves())


def test_nothing_else_of_its_module_is_allowed() -> None:
    registry = loaded(consumer_created="tests.handlers:note")
    assert registry.refusal("#'tests.handlers/blocked") is not None


@job(limit=3)
def limited(body: Any) -> None: ...


def test_the_options_of_a_marked_function_hold() -> None:
    registry = loaded(at_most_three=limited, without_options=consumed)
    assert registry.serves()["at.most.three"].limit == 3
    assert registry.handler("without.options") == (consumed, UNSAID)


def consumed(body: Any) -> None: ...


@job("consumer.taken")
def taken(body: Any) -> None: ...


def test_a_name_may_be_that_of_the_mark() -> None:
    registry = Functions(consumers=[("consumer.taken", f"{__name__}:taken")])
    registry.load()
    assert registry.resolve("consumer.taken") is taken


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"a": "tests.handlerz:note"}, 'consumers="a=tests.handlerz:note": no module tests.handlerz'),
        ({"a": "tests.handlers:not"}, "no such function in tests/handlers.py; nearest: note"),
        ({"a": "tests.handlers:Mailer"}, "Mailer is not a function of tests.handlers"),
        ({"a": "tests.handlers:calls"}, "calls is not a function of tests.handlers"),
        ({"a": "tests.handlers:_secret"}, "_secret begins with _, and is private"),
        ({"a": "os:system"}, "os is Python's own, and never run"),
        ({"a": "tests.handlers.note"}, "names no function. Write it as MODULE:FUNCTION"),
        ({"a": functools.partial(handlers.note, 1)}, "is a partial, not a function. Give a function."),
        ({"a": print}, "is a builtin_function_or_method, not a function"),
        (
            {"consumer.taken": "tests.handlers:note"},
            "takes a name that belongs to tests.jobs.functions.test_consumers.taken already",
        ),
        ({"a": 5}, "consumers='a' names no function"),
        ({"a": ""}, "consumers='a' names no function"),
        ({"a b": handlers.note}, "consumers='a b' is not the name of a job"),
        ({"orders#.a": handlers.note}, "consumers='orders#.a' is not the name of a job"),
        ({5: handlers.note}, "consumers=5 is not the name of a job"),
        (["orders.created"], "consumers='orders.created' has no =. Write \"NAME=MODULE:FUNCTION\", for example"),
        (["=app:f"], "consumers='=app:f' names no job"),
        (["a="], "consumers='a=' names no function"),
        (["a=app:f", "a=app:g"], "consumers='a=app:g' gives a a second time. Name one function."),
        ("a=app:f", "is one text, not a list"),
    ],
)
def test_what_is_no_consumer_is_refused_by_name(given: Any, says: str) -> None:
    with pytest.raises(Invalid) as caught:
        Functions(consumers=consumers(given, "consumers"), folder=Path.cwd()).load()
    assert says in str(caught.value)


def test_a_pattern_finds_its_function() -> None:
    registry = Functions(consumers=consumers({"orders.#": consumed, "*": consumed}, "consumers"))
    registry.load()
    assert registry.resolve("orders.#") is registry.resolve("*") is consumed
    assert registry.refusal("orders.created") is not None


def test_a_module_that_fails_at_its_import_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_orders.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Invalid, match=r"importing broken_orders failed: ZeroDivisionError.*\(broken_orders.py:1\)"):
        Functions(consumers=[("a", "broken_orders:f")]).load()


@pytest.mark.parametrize("layout", ["native", "gocraft"])
def test_listeners_of_other_layouts_run_consumers_too(server: Server, name: str, layout: str) -> None:
    handlers.calls.clear()
    s = schedule.create(name, redis=server.url, layout=layout)
    schedule.add_now(s, "send_note", kwargs={"n": 1})
    how: dict[str, Any] = {"folder": None, "consumers": {"send_note": "tests.handlers:note"}}
    assert schedule.drain(s, **how).ran == 1
    assert len(handlers.calls) == 1


@job(cpu=True)
def busy(n: int) -> None:
    assert n == 1


def test_a_consumer_runs_in_a_worker_process(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, "busy_note", args=[1])
    assert schedule.drain(s, folder=None, consumers={"busy_note": busy}).ran == 1
