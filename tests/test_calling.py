"""Functions that add themselves: `s.job`, `s.bind`, and what becomes of their calls on a real server."""

from __future__ import annotations

import asyncio
import copy
import doctest
import functools
import inspect
import pickle
import pydoc
import subprocess
import sys
import typing
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any
from unittest import mock
from uuid import UUID

import httpx
import jedi
import pytest
from fastapi import Depends, FastAPI
from pydantic import BaseModel

from tests import handlers
from tests.processes import ROOT
from tests.servers import Server
from workkit import Job, call, current_job, schedule
from workkit.errors import (
    AddedAtImport,
    Invalid,
    InvalidArguments,
    InvalidFunction,
    InvalidOptions,
    InvalidSchedule,
    NoResult,
    NotFound,
    ResultPending,
    ServerUnreachable,
    TriggerError,
)
from workkit.jobs.importing import import_module
from workkit.jobs.marks import options_of
from workkit.verbs import creation, opening

s = schedule.create("calling", tz="Europe/Paris")  # each test configures its own server
late = schedule.create("calling-late")  # nothing configures this one
HOW: dict[str, Any] = {"imports": [__name__, "tests.handlers"], "folder": None}
calls: list[Any] = []


@dataclass
class Report:
    rows: int
    day: date


class Size(BaseModel):
    width: int


class Colour(Enum):
    RED = "red"


@s.job(retries=5, timeout="2m", keep="1 day")
def export(day: date, *, full: bool = False) -> Report:
    """Export a day.

    >>> export(date(2027, 3, 1)).rows
    3
    """
    calls.append((day, full))
    return Report(3, day)


@s.job
def named(n: int) -> int:
    return n * 2


@s.job(keep=None)
def dropped(n: int) -> int:
    return n * 2


@s.job(keep="1 hour")
async def load(n: int) -> tuple[int, str]:
    calls.append(n)
    return n, "loaded"


@s.job
def odd(
    at: str, args: int = 1, priority: int = 2, name: str = "", self: int = 3, s: int = 4, fn: int = 5, call: int = 6
) -> None:
    calls.append((at, args, priority, name, self, s, fn, call))


@s.job
def options(at: int, **kwargs: Any) -> None:
    calls.append((at, kwargs))


@late.job
def chain(n: int) -> None:
    calls.append((n, current_job().id))
    if n:
        chain.send(n - 1)


@late.job
async def chain_awaited(n: int) -> None:
    calls.append((n, current_job().id))
    await chain.asend(n)


@s.job
def elsewhere() -> None:
    load.send(9)


@s.job
def free(value: Any, *rest: Any, **named: Any) -> None: ...


@s.job
def typed(
    day: date,
    at: datetime,
    tod: time_of_day,
    price: Decimal,
    id: UUID,
    data: bytes,
    colour: Colour,
    path: Path,
    report: Report,
    size: Size,
    maybe: date | None = None,
) -> None:
    calls.append((day, at, tod, price, id, data, colour, path, report, size, maybe))


@s.every("weekday at 9am", name="digest")
@s.job(retries=2)
def digest() -> None:
    calls.append("digest")


@s.job(retries=3)
@s.every("day at 5am", name="nightly")
def nightly() -> None:
    calls.append("nightly")


@s.bind
def bound_above(n: int) -> None:
    calls.append(("bound_above", n))


@s.every("day at 6am", name="under")
@s.bind
def bound_under() -> None: ...


def plain(a: int, b: str = "x") -> list[int]:
    calls.append((a, b))
    return [a]


@pytest.fixture(autouse=True)
def configured(request: pytest.FixtureRequest) -> Iterator[None]:
    """Configure the schedule of this module, as a program that begins with this test."""
    calls.clear()
    opening.forget()
    s._fixed.clear()
    if "server" in request.fixturenames:
        s.configure(redis=request.getfixturevalue("server").url)
    yield
    opening.forget()


def ran(**more: Any) -> int:
    return schedule.drain(s, **{**HOW, **more}).ran


# --- a call ---


def test_send_adds_a_job_that_runs_with_the_arguments(server: Server) -> None:
    job = export.send(date(2027, 3, 1), full=True)
    assert (job.fn, job.new, job.trigger) == (f"#'{__name__}/export", True, None)
    assert export.delay(day=date(2027, 3, 2)).id != job.id
    assert ran() == 2
    assert sorted(calls) == [(date(2027, 3, 1), True), (date(2027, 3, 2), False)]


def test_a_layout_with_job_names_gets_the_name_of_the_function(server: Server, name: str) -> None:
    other = schedule.create(name, layout="gocraft", redis=server.url)
    assert other.bind(handlers.note).send(n=5).fn == "note"
    assert [(job.fn, job.kwargs) for job in schedule.jobs(other)] == [("note", {"n": 5})]


def test_every_send_is_a_run_of_its_own_unless_a_key_prevents_it(server: Server) -> None:
    assert export.send(date(2027, 3, 1)).id != export.send(date(2027, 3, 1)).id
    once = export.now(unique_key="mar")
    assert once.send(date(2027, 3, 1)).new
    assert not once.send(date(2027, 3, 1)).new


def test_an_ordinary_call_runs_here_and_adds_nothing(server: Server) -> None:
    assert export(date(2027, 3, 1)) == Report(3, date(2027, 3, 1))
    assert asyncio.run(load(4)) == (4, "loaded")
    assert schedule.counts(s).due == 0


def test_options_come_first_and_never_mix_with_arguments(server: Server) -> None:
    odd.now(priority=3, name="mine").send("7pm", args=7, priority=9, name="n", self=8, s=1, fn=2, call=3)
    options.in_("5 minutes", unique_key="k", retries=2).send(4, every="x", retries=9, kwargs=1, fn=2, given=5, verb=6)
    named = schedule.job(s, "mine")
    assert (named.terms.priority, named.kwargs and named.kwargs["priority"]) == (3, 9)
    assert ran(now=datetime.now(UTC) + timedelta(minutes=6)) == 2
    more = {"every": "x", "retries": 9, "kwargs": 1, "fn": 2, "given": 5, "verb": 6}
    assert calls == [("7pm", 7, 9, "n", 8, 1, 2, 3), (4, more)]


@pytest.mark.parametrize(
    ("made", "given"),
    [
        (lambda fn: fn.at("2050-03-01 9am", priority=2), {"at": "2050-03-01 9am", "priority": 2}),
        (lambda fn: fn.at(datetime(2050, 1, 1, tzinfo=UTC)), {"at": datetime(2050, 1, 1, tzinfo=UTC)}),
        (lambda fn: fn.in_("5 minutes", unique=True), {"in_": "5 minutes", "unique": True}),
        (lambda fn: fn.in_(timedelta(hours=5), unique=True), {"in_": timedelta(hours=5), "unique": True}),
        (lambda fn: fn.every("weekday at 9am", name="x", overlap="skip"),
         {"every": "weekday at 9am", "name": "x", "overlap": "skip"}),
        (lambda fn: fn.cron("0 9 * * 1-5", tz="UTC"), {"cron": "0 9 * * 1-5", "tz": "UTC"}),
        (lambda fn: fn.when("every weekday at 9am", start="2050-01-01"),
         {"when": "every weekday at 9am", "start": "2050-01-01"}),
    ],
    ids=["at", "instant", "in_", "timedelta", "every", "cron", "when"],
)  # fmt: skip
def test_a_timed_call_adds_the_job_of_the_verb(server: Server, made: Any, given: dict[str, Any]) -> None:
    """The same call by the verb finds the job there."""
    job = made(export).send(date(2027, 3, 1))
    same = schedule.add(s, export, args=[date(2027, 3, 1)], **given)
    assert job.new
    assert same.id == job.id or "in_" in given  # a length counts from now
    assert (same.terms, same.options, same.args, same.kwargs) == (job.terms, job.options, job.args, job.kwargs)


def test_a_timed_call_is_used_again_and_again(server: Server) -> None:
    later = export.at("2050-03-01 9am", priority=2)
    days = [date(2027, 3, n) for n in (1, 2, 3)]
    assert {later.send(day).terms.priority for day in days} == {2}
    assert schedule.counts(s).waiting == 3


@pytest.mark.parametrize("option", ["fn", "args", "kwargs", "call"])
def test_a_timed_call_takes_no_arguments(option: str) -> None:
    wrong: Any = {option: 1}
    with pytest.raises(InvalidOptions, match=rf"^{option}= is no option of export\.at\(\.\.\.\): arguments come last"):
        export.at("7pm tomorrow", **wrong)


def test_a_bad_time_or_option_is_refused_by_the_call(server: Server) -> None:
    with pytest.raises(TriggerError):
        export.at("7pm yesternight").send(date(2027, 3, 1))
    wrong: Any = {"priorty": 3}
    with pytest.raises(InvalidOptions, match="priority"):
        export.at("7pm tomorrow", **wrong).send(date(2027, 3, 1))
    wrong = {"every": "day"}
    with pytest.raises(InvalidOptions, match=r"belongs to schedule\.add"):
        export.now(**wrong).send(date(2027, 3, 1))
    with pytest.raises(Invalid):
        export.at("7pm tomorrow", **wrong).send(date(2027, 3, 1))
    assert schedule.counts(s).waiting == 0


def test_send_awaited_adds_the_job(server: Server) -> None:
    async def main() -> list[Job]:
        return [await load.asend(3), await export.at("2050-03-01 9am").asend(day=date(2027, 3, 1))]

    now, later = asyncio.run(main())
    assert (now.args, later.kwargs) == ((3,), {"day": "2027-03-01"})
    assert ran() == 1
    assert calls == [3]


# --- batches ---


def test_many_streams_rows_by_position_and_by_name(server: Server) -> None:
    read: list[int] = []

    def rows() -> Iterator[tuple[date] | dict[str, Any] | list[date]]:
        for n in range(1, 1200):
            read.append(n)
            if n == 1100:
                assert schedule.counts(s).due >= 500, "the first rows are not sent yet"
            day = date(2027, 3, 1) + timedelta(days=n)
            yield (day,) if n % 3 else {"day": day, "full": True} if n % 2 else [day]

    tally = export.many(rows())
    assert (tally.new, len(tally.ids), len(read)) == (1199, 1199, 1199)
    assert schedule.job(s, tally.ids[2]).kwargs == {"day": "2027-03-04", "full": True}


def test_map_adds_a_job_for_each_value(server: Server) -> None:
    assert load.map(range(5)).new == 5
    assert load.at("2050-03-01 9am", priority=1).map(iter([7, 8])).new == 2
    assert asyncio.run(load.amap([5])).new == 1
    assert asyncio.run(load.amany([(6,)])).new == 1
    assert ran() == 7
    assert sorted(calls) == [0, 1, 2, 3, 4, 5, 6]


def test_a_bad_row_is_named(server: Server) -> None:
    many: Any = export.many
    with pytest.raises(InvalidArguments, match=r"^row 2: 5 is not a row of arguments. Write a tuple such as"):
        many([(date(2027, 3, 1),), 5])
    with pytest.raises(InvalidArguments, match=r"^row 1: 'text' is not a row"):
        many(["text"])
    mapped: Any = export.map
    with pytest.raises(InvalidArguments, match=r"row 2: day: day must be a date|row 2: .*day must be a date") as caught:
        mapped([date(2027, 3, 1), "tomorrow"])
    assert caught.value.where == "row 2: day"
    assert "args[" not in str(caught.value)


# --- the job ---


def test_a_job_has_its_result_in_the_annotated_type(server: Server) -> None:
    job, pair = export.send(date(2027, 3, 1)), load.send(4)
    with pytest.raises(ResultPending):
        job.result(None)
    assert ran() == 2
    assert job.result() == Report(3, date(2027, 3, 1))
    assert asyncio.run(pair.aresult("1s")) == (4, "loaded")
    assert schedule.result(s, job) == {"rows": 3, "day": "2027-03-01"}
    assert s.bind(plain).now(keep="1h").send(5).refresh().state == "due"


def test_a_job_without_keep_names_the_remedy(server: Server) -> None:
    with pytest.raises(NoResult, match="keep="):
        s.bind(plain).send(5).result("1s")


def test_a_result_that_the_function_names_is_kept_unless_an_option_says_otherwise(server: Server) -> None:
    job, other = named.send(2), dropped.send(2)
    with pytest.raises(ResultPending):
        job.result(None)
    assert ran() == 2
    assert job.result() == 4
    with server.client() as client:
        assert 590_000 < client.pttl(f"{s.name}:result:{job.id}") <= 600_000
    with pytest.raises(NoResult, match="keep="):
        other.result()


def test_only_a_layout_with_results_keeps_them() -> None:
    assert creation._kept(schedule.create("go", layout="gocraft"), named, {}) == {}
    assert creation._kept(schedule.create("app"), named, {}) == {"keep": "10 minutes"}


def test_a_job_is_cancelled_and_read_again(server: Server) -> None:
    job = export.at("2050-03-01 9am").send(date(2027, 3, 1))
    assert job.refresh() == schedule.job(s, job.id)
    assert asyncio.run(job.arefresh()).state == "waiting"
    job.cancel(by="alice")
    with pytest.raises(NotFound):
        job.refresh()
    other = export.at("2050-03-01 10am").send(date(2027, 3, 1))
    assert asyncio.run(other.acancel()).id == other.id
    assert schedule.counts(s).waiting == 0


def test_a_job_of_a_verb_has_the_same_methods_and_one_of_a_listing_names_the_remedy(server: Server) -> None:
    added = schedule.add(s, export, at="2050-03-01 9am", args=[date(2027, 3, 1)])
    assert added.refresh().refresh().id == added.id
    (listed,) = schedule.jobs(s)
    with pytest.raises(InvalidOptions, match=r"schedule\.job\(s, job\)"):
        listed.cancel()
    assert schedule.job(s, listed).cancel().id == added.id


def test_a_job_prints_what_and_when(server: Server) -> None:
    now = export.send(date(2027, 3, 1), full=True)
    assert str(now) == f'{now.short_id}  {__name__}.export("2027-03-01", full=true)  at once'
    once = export.at("2050-03-01 9am").send(date(2027, 3, 1))
    when = "once, Tuesday 1 March 2050, 9:00 Europe/Paris (8:00 UTC)"
    assert str(once).startswith(f'{once.short_id}  {__name__}.export("2027-03-01")  once, Tue')
    assert "2050" in str(once), when
    every = export.every("weekday at 9am", name="exports").send(date(2027, 3, 1))
    assert '("2027-03-01")  every weekday at 9:00' in str(every)
    assert ", next " in str(every)


# --- arguments ---


def test_arguments_of_every_type_reach_the_handler_as_annotated(server: Server) -> None:
    values: tuple[Any, ...] = (
        date(2027, 3, 1), datetime(2027, 3, 1, 9, tzinfo=UTC), time_of_day(9, 30), Decimal("12.50"), uuid.uuid4(),
        b"\x00\xff", Colour.RED, Path("/tmp/x"), Report(1, date(2027, 1, 1)), Size(width=3),
    )  # fmt: skip
    typed.send(*values)
    names = list(inspect.signature(typed).parameters)
    typed.send(**dict(zip(names, (*values, date(2027, 5, 5)), strict=True)))
    assert ran() == 2
    assert calls == [(*values, None), (*values, date(2027, 5, 5))]


@pytest.mark.parametrize(
    ("args", "kwargs", "name", "said"),
    [
        ((date(2027, 3, 1),), {}, "value", "value is a date, which JSON cannot carry. Pass .isoformat()"),
        ((1, {2}), {}, "rest[0]", "rest[0] is a set, which JSON cannot carry"),
        ((1, 2, [3, b"x"]), {}, "rest[1]", "rest[1][1] is a bytes, which JSON cannot carry"),
        ((1,), {"row": {"a": object()}}, "row", 'row["a"] is an object, which JSON cannot carry'),
        ((float("inf"),), {}, "value", "value is inf, which JSON cannot carry"),
        (({1: 2},), {}, "value", "value has the key 1, and JSON keys are text"),
        (("\ud800",), {}, "value", "value"),
    ],
    ids=["date", "set", "bytes", "object", "inf", "key", "surrogate"],
)
def test_what_json_cannot_carry_is_refused_with_the_parameter(
    server: Server, args: Any, kwargs: Any, name: str, said: str
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        free.send(*args, **kwargs)
    assert str(caught.value).startswith(said)
    assert str(caught.value.where).startswith(name)
    assert "args[" not in str(caught.value)
    assert schedule.counts(s).due == 0


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        (("tomorrow",), {}, r"^day: day must be a date as ISO text|day must be a date"),
        ((date(2027, 3, 1),), {"full": 5}, r"full=5 is an int, and full is annotated bool"),
        ((), {}, r"export\(day, full\)|day"),
        ((date(2027, 3, 1),), {"fulll": True}, "unexpected keyword argument 'fulll'"),
        ((date(2027, 3, 1),), {"priority": 5}, r"Options come first: export\.now\(priority=5\)\.send\(\.\.\.\)\."),
        ((date(2027, 3, 1),), {"at": "7pm"}, r"The time comes first: export\.at\('7pm'\)\.send\(\.\.\.\)\."),
        ((date(2027, 3, 1),), {"countdown": 5}, r'Write in_="5 seconds"\.'),
    ],
    ids=["type", "named", "missing", "unknown", "option", "time", "word"],
)
def test_arguments_that_do_not_fit_are_refused_by_the_call(server: Server, args: Any, kwargs: Any, said: str) -> None:
    send: Any = export.send
    with pytest.raises(InvalidArguments, match=said):
        send(*args, **kwargs)
    assert schedule.counts(s).due == 0


# --- a function to everyone else ---


def test_the_function_stays_a_function() -> None:
    assert inspect.isfunction(export)
    assert inspect.iscoroutinefunction(load)
    assert not inspect.iscoroutinefunction(export)
    assert str(inspect.signature(export)) == "(day: 'date', *, full: 'bool' = False) -> 'Report'"
    assert typing.get_type_hints(export) == {"day": date, "full": bool, "return": Report}
    assert pickle.loads(pickle.dumps(export)) is export
    assert copy.copy(export) is export
    assert copy.deepcopy(export) is export
    assert inspect.unwrap(export) is export
    (found,) = doctest.DocTestFinder(recurse=False).find(export, globs=globals())
    assert doctest.DocTestRunner().run(found).attempted == 1
    with mock.patch(f"{__name__}.export") as patched:
        export(date(2027, 3, 1))
    assert patched.called
    with mock.patch.object(export, "send") as sent:
        export.send(date(2027, 3, 1))
    assert sent.called
    assert inspect.isfunction(mock.create_autospec(export))


def test_a_notebook_and_help_show_the_parameters() -> None:
    """A notebook runs the program, and jedi reads the signatures of its objects there."""
    bound, parameters = s.bind(plain), list(inspect.signature(odd).parameters)
    shown = {"export.send": ["day", "full"], "export.delay": ["day", "full"], "load.asend": ["n"],
             "bound.send": ["a", "b"], "odd.send": parameters}  # fmt: skip
    for typed, names in shown.items():
        (found,) = jedi.Interpreter(f"{typed}(", [globals(), {"bound": bound}]).get_signatures(1, len(typed) + 1)
        assert [one.name for one in found.params] == names
    assert "full=" in {one.name for one in jedi.Interpreter("export.send(fu", [globals()]).complete(1, 14)}
    assert inspect.iscoroutinefunction(load.asend)
    assert not inspect.iscoroutinefunction(load.send)
    assert "send(day: 'date', *, full: 'bool' = False)" in pydoc.plain(pydoc.render_doc(export.send))
    again = pickle.loads(pickle.dumps(export.send))
    assert again.__self__.__wrapped__ is export


def test_a_job_travels_by_pickle_and_knows_its_schedule_unless_that_holds_a_client(server: Server) -> None:
    job = export.send(date(2027, 3, 1))
    assert pickle.loads(pickle.dumps(job)).refresh().id == job.id
    client = schedule.create(s.name, redis=server.client())
    other = client.bind(export).send(date(2027, 3, 2))
    assert pickle.loads(pickle.dumps(other)) == other
    assert pickle.loads(pickle.dumps(other)).source is None


def test_sphinx_and_pydoc_show_the_function(tmp_path: Path) -> None:
    assert pydoc.plain(pydoc.render_doc(export)).splitlines()[2] == (
        "export(day: 'date', *, full: 'bool' = False) -> 'Report'"
    )
    pytest.importorskip("sphinx")
    (tmp_path / "conf.py").write_text("extensions = ['sphinx.ext.autodoc']\n")
    (tmp_path / "index.rst").write_text(f".. autofunction:: {__name__}.export\n\n.. autofunction:: {__name__}.load\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-qW", "-b", "text", str(tmp_path), str(tmp_path / "built")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    built = (tmp_path / "built" / "index.txt").read_text()
    assert "export(day: date, *, full: bool = False) -> Report" in built
    assert "async" in built


@pytest.fixture
@s.job
def made_by_fixture() -> str:
    """A fixture and a job at once."""
    return "made"


def test_a_fixture_may_be_a_job(made_by_fixture: str) -> None:
    assert made_by_fixture == "made"


def test_a_wrapper_of_the_function_sends_the_function(server: Server) -> None:
    @functools.wraps(export)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return export(*args, **kwargs)

    found: Any = wrapper
    assert found.send(date(2027, 3, 1)).fn == f"#'{__name__}/export"
    assert found.__wrapped__ is export


def test_a_bound_function_is_a_callable_like_the_function() -> None:
    bound, coroutine = s.bind(plain), s.bind(load)
    assert bound(3) == [3]
    assert inspect.signature(bound) == inspect.signature(plain)
    assert (bound.__name__, bound.__module__, bound.__wrapped__) == ("plain", __name__, plain)
    assert asyncio.run(coroutine(3)) == (3, "loaded")
    again = pickle.loads(pickle.dumps(bound))
    assert (again(3), again.__wrapped__) == ([3], plain)
    assert not hasattr(plain, "send")
    assert repr(bound) == f"<{__name__}.plain of calling>"


def test_a_bound_function_adds_to_its_own_schedule(server: Server, name: str) -> None:
    other = schedule.create(name, redis=server.url)
    other.bind(export).send(date(2027, 3, 1))
    other.bind(other.bind(plain)).in_("1 hour").send(3)
    assert (schedule.counts(other).due, schedule.counts(other).waiting, schedule.counts(s).due) == (1, 1, 0)


def test_the_verbs_take_the_function_and_the_bound_one(server: Server, name: str) -> None:
    other = schedule.create(name, redis=server.url)
    for fn in (export, s.bind(export)):
        schedule.add_now(other, fn, args=[date(2027, 3, 1)])
        schedule.add(other, at="2050-03-01 9am", fn=fn, args=[date(2027, 3, 1)])
        schedule.add_now(other, call=call(fn, date(2027, 3, 1)))
        schedule.add_many(other, [{"fn": fn, "at": "now", "args": [date(2027, 3, 1)]}])
        schedule.sync(other, {"one": {"fn": fn, "every": "day at 9am", "args": [date(2027, 3, 1)]}})
        schedule.pause(other, fn=fn)
    assert {job.fn for job in schedule.jobs(other)} == {f"#'{__name__}/export"}
    assert schedule.counts(other).waiting + schedule.counts(other).paused >= 2


def test_a_planned_function_is_found_under_and_above(server: Server) -> None:
    assert set(schedule.sync(s).added) == {"digest", "nightly", "under"}
    assert {job.fn.rpartition("/")[2] for job in schedule.jobs(s)} == {"digest", "nightly", "bound_under"}
    digest.send()
    nightly.send()
    assert ran() == 2
    assert sorted(calls) == ["digest", "nightly"]
    assert (options_of(digest).retries, options_of(nightly).retries) == (2, 3)


def test_a_listener_runs_a_function_that_its_module_holds_bound(server: Server) -> None:
    bound_above.send(3)
    schedule.add_now(s, f"{__name__}:bound_above", args=[4])
    assert ran() == 2
    assert sorted(calls) == [("bound_above", 3), ("bound_above", 4)]


class Holder:
    def method(self) -> None: ...

    @staticmethod
    def static() -> None: ...

    @classmethod
    def of_class(cls) -> None: ...


def test_what_no_listener_imports_is_refused_with_a_remedy() -> None:
    def local() -> None: ...

    refused: list[tuple[Any, str]] = [
        (Holder, "module-level"),
        (Holder().method, "module-level"),
        (Holder.method, "module-level"),
        (Holder.__dict__["static"], "module-level"),
        (Holder.__dict__["of_class"], "module-level"),
        (lambda: None, "module-level"),
        (local, "module-level"),
        (functools.partial(plain, 1), "module-level"),
        (functools.lru_cache(plain), "module-level"),
        (len, "module-level"),
        (5, "module-level"),
    ]
    for fn, remedy in refused:
        with pytest.raises(InvalidFunction, match=remedy):
            s.job(fn)
        with pytest.raises(InvalidFunction, match=remedy):
            s.job(retries=3)(fn)
        if fn is not Holder.method:  # `add` takes a function of a class, and refuses the call without `self`
            with pytest.raises(InvalidFunction):
                s.bind(fn)


def test_a_function_belongs_to_one_schedule_and_keeps_its_own_attributes() -> None:
    other = schedule.create("other")
    with pytest.raises(
        InvalidFunction, match=r"export is a job of schedule calling already. Write other = s.bind\(expo"
    ):
        other.job(export)
    assert s.job(odd) is odd
    handlers.leave.at = 5  # type: ignore[attr-defined]
    try:
        with pytest.raises(InvalidFunction, match="leave has an attribute at already"):
            s.job(handlers.leave)
    finally:
        del handlers.leave.at  # type: ignore[attr-defined]
    assert not hasattr(handlers.leave, "send")


def test_a_fixture_a_task_and_a_dependency_take_the_function() -> None:
    api = FastAPI()

    @api.get("/plain")
    def one(found: Annotated[list[int], Depends(s.bind(plain))]) -> list[int]:
        return found

    @api.get("/loaded")
    def two(found: Annotated[Any, Depends(load)], again: Annotated[Any, Depends(s.bind(load))]) -> Any:
        return found, again

    api.get("/report")(export)

    async def answers() -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(api), base_url="http://api") as client:
            paths = ("/plain?a=3", "/loaded?n=4", "/report?day=2027-03-01")
            return [(await client.get(path)).json() for path in paths]

    assert asyncio.run(answers()) == [[3], [[4, "loaded"], [4, "loaded"]], {"rows": 3, "day": "2027-03-01"}]


# --- one schedule in two programs ---


def test_a_schedule_is_configured_before_its_first_use(server: Server, name: str) -> None:
    mine = schedule.create(name, tz="Europe/Paris")
    send = mine.bind(export)
    mine.configure(redis=server.url, limit=3)
    assert (mine.tz, mine.redis, mine.limit) == ("Europe/Paris", server.url, 3)
    send.send(date(2027, 3, 1))
    with pytest.raises(InvalidSchedule, match=r"was used before s\.configure\(redis=\)\. Configure it at the start"):
        mine.configure(redis="redis://127.0.0.1:1/")
    mine.configure(redis=server.url, tz="Europe/Paris")  # an application that is made a second time
    assert mine.redis == server.url
    assert schedule.counts(schedule.create(name, redis=server.url)).due == 1


def test_a_configuration_is_checked_and_keeps_what_decorators_have_read(name: str) -> None:
    mine = schedule.create(name)
    with pytest.raises(InvalidSchedule):
        mine.configure(redis="http://x")
    assert mine.is_late
    mine.every("day at 9am")(handlers.note)
    with pytest.raises(InvalidSchedule, match=r"has a planned job that was read before s\.configure\(tz=\)"):
        mine.configure(tz="Europe/Paris")
    mine.configure(redis="redis://127.0.0.1:1/")
    wrong: Any = {"rediss": "x"}
    with pytest.raises(TypeError):
        mine.configure(**wrong)


def test_a_job_adds_to_the_server_of_its_listener(server: Server, own_server: Server) -> None:
    """A schedule without a server of its own; one with a server keeps it."""
    listening = schedule.create("calling-late", redis=own_server.url)
    listening.bind(chain_awaited).send(2)
    listening.bind(elsewhere).send()
    assert schedule.drain(listening, **HOW).ran == 5
    assert [n for n, _ in calls] == [2, 2, 1, 0]
    assert (schedule.counts(s).due, schedule.counts(listening).due) == (1, 0)
    with pytest.raises(ServerUnreachable):
        chain.send(0)


def test_a_listener_of_another_program_runs_what_a_web_program_adds(server: Server, tmp_path: Path) -> None:
    """The same module in both: the web program configures its server, the listener gets its own by an option."""
    (tmp_path / "shop.py").write_text(
        "from workkit import schedule\n"
        "s = schedule.create('shop')\n"
        "@s.job(keep='1h')\n"
        "def add(a: int, b: int) -> int:\n    return a + b\n"
        "@s.job(keep='1h')\n"
        "def twice(a: int) -> str:\n    return add.now(keep='1h').send(a, a).id\n"
        "@s.job(keep='1h', cpu=True)\n"
        "def thrice(a: int) -> tuple[str, int]:\n    return add.now(keep='1h').send(a, a * 2).id, a\n"
    )
    (tmp_path / "web.py").write_text(
        "import sys\nimport shop\n"
        "from workkit import schedule\n"
        "shop.s.configure(redis=sys.argv[1])\n"
        "jobs = [shop.add.send(1, 2), shop.twice.send(3), shop.thrice.send(4)]\n"
        "one, two, (three, four) = (job.result('20s') for job in jobs)\n"
        "print(one, four, *(schedule.result(shop.s, id, wait='20s') for id in (two, three)))\n"
    )
    where = {"PATH": "/usr/bin", "PYTHONPATH": f"{ROOT}", "WORKKIT_REDIS_URL": "redis://127.0.0.1:1/"}
    listening = subprocess.Popen(
        [sys.executable, "-m", "workkit", "listen", "shop", "--redis", server.url, "--import", "shop", "-q"],
        cwd=tmp_path, env=where,
    )  # fmt: skip
    try:
        done = subprocess.run(
            [sys.executable, "web.py", server.url], cwd=tmp_path, env=where, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    finally:
        listening.terminate()
        listening.wait(30)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "3 4 6 12\n"


def test_a_send_while_a_listener_imports_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sends_at_import.py").write_text("from tests.test_calling import chain\nchain.send(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(AddedAtImport, match=r"sends_at_import\.py:2"):
        import_module("sends_at_import")


def test_a_schedule_without_a_server_does_no_io() -> None:
    mine = schedule.create("late-and-unreached")
    found: Callable[..., Any] = mine.bind(plain)
    assert found(1) == [1]
    assert mine.is_late
