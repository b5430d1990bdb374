"""Generators around a call: in which order, what becomes of errors, what is refused."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any

import pytest

from workkit import Discard, schedule
from workkit.errors import InvalidFunction
from workkit.jobs.middleware import AROUND, ENTERING, within, within_async

said: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    said.clear()
    yield
    AROUND.pop("pure", None)
    ENTERING.pop("pure", None)


def speaking(name: str, end: Callable[[BaseException], None] | None = None) -> Any:
    """Says when it begins and ends; `end` is told of an error, which is swallowed unless it raises."""

    def around() -> Iterator[None]:
        said.append(f"{name} begins")
        try:
            yield
        except BaseException as error:
            said.append(f"{name} has {type(error).__name__}")
            if end is None:
                raise
            end(error)
        else:
            said.append(f"{name} ends")

    return around


def speaking_async(name: str, end: Callable[[BaseException], None] | None = None) -> Any:
    inner = speaking(name, end)

    async def around() -> AsyncIterator[None]:
        steps = inner()
        next(steps)
        await asyncio.sleep(0)
        try:
            yield
        except BaseException as error:
            try:
                steps.throw(error)
            except StopIteration:
                return
        next(steps, None)

    return around


def swallow(error: BaseException) -> None: ...


def as_discard(error: BaseException) -> None:
    raise Discard("so be it") from error


def call(kind: str, made: list[tuple[str, Any]], error: BaseException | None = None) -> None:
    """Run something that says so, or raises, inside of generators of either kind."""

    def run() -> None:
        said.append("run")
        if error is not None:
            raise error

    async def run_async() -> None:
        await asyncio.sleep(0)
        run()

    if kind == "plain":
        within([speaking(*one) for one in made], run)
    else:
        asyncio.run(within_async([speaking_async(*one) for one in made], run_async()))


kinds = pytest.mark.parametrize("kind", ["plain", "async"])


@kinds
def test_the_first_is_the_outermost(kind: str) -> None:
    call(kind, [("a", None), ("b", None)])
    assert said == ["a begins", "b begins", "run", "b ends", "a ends"]


@kinds
@pytest.mark.parametrize("error", [OSError("no"), SystemExit(3), RuntimeError("own"), KeyError("k")], ids=repr)
def test_an_error_passes_through_as_itself(kind: str, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        call(kind, [("a", None), ("b", None)], error)
    assert caught.value is error
    assert error.__cause__ is None
    name = type(error).__name__
    assert said == ["a begins", "b begins", "run", f"b has {name}", f"a has {name}"]


def test_the_end_of_an_iteration_passes_through_too() -> None:
    for error in (StopIteration(1), StopAsyncIteration()):
        with pytest.raises(type(error)) as caught:
            call("plain", [("a", None), ("b", None)], error)
        assert caught.value is error


@kinds
def test_what_swallows_an_error_makes_a_success(kind: str) -> None:
    call(kind, [("a", None), ("b", swallow)], OSError())
    assert said == ["a begins", "b begins", "run", "b has OSError", "a ends"]


@kinds
def test_another_error_counts_instead(kind: str) -> None:
    with pytest.raises(Discard, match="so be it") as caught:
        call(kind, [("a", None), ("b", as_discard)], OSError())
    assert isinstance(caught.value.__cause__, OSError)
    assert said[-1] == "a has Discard"


@kinds
def test_what_is_raised_before_the_yield_reaches_those_outside(kind: str) -> None:
    def refusing() -> Generator[None]:
        raise PermissionError("not now")
        yield

    async def refusing_async() -> AsyncGenerator[None]:
        raise PermissionError("not now")
        yield

    async def run() -> None:
        said.append("run")

    if kind == "plain":
        within([speaking("a", swallow), refusing], lambda: said.append("run"))
    else:
        asyncio.run(within_async([speaking_async("a", swallow), refusing_async], run()))
    assert said == ["a begins", "a has PermissionError"]


def none() -> Iterator[None]:
    yield from ()


def two() -> Iterator[None]:
    yield
    yield


def two_after_an_error() -> Iterator[None]:
    try:
        yield
    except OSError:
        yield


async def none_async() -> AsyncIterator[None]:
    return
    yield


async def two_async() -> AsyncIterator[None]:
    yield
    yield


async def two_async_after_an_error() -> AsyncIterator[None]:
    try:
        yield
    except OSError:
        yield


@pytest.mark.parametrize(
    ("fn", "error", "message"),
    [
        (none, None, "none ended without a yield. It has exactly one."),
        (two, None, "two yielded twice. It has exactly one yield."),
        (two_after_an_error, OSError(), "two_after_an_error yielded twice. It has exactly one yield."),
        (none_async, None, "none_async ended without a yield. It has exactly one."),
        (two_async, None, "two_async yielded twice. It has exactly one yield."),
        (two_async_after_an_error, OSError(), "two_async_after_an_error yielded twice. It has exactly one yield."),
    ],
)
def test_one_yield_is_expected(fn: Any, error: BaseException | None, message: str) -> None:
    def run() -> None:
        if error is not None:
            raise error

    async def run_async() -> None:
        run()

    def within_it() -> None:
        if "async" in fn.__name__:
            asyncio.run(within_async([fn], run_async()))
        else:
            within([fn], run)

    with pytest.raises(InvalidFunction, match=re.escape(f"middleware {__name__}.{message}")):
        within_it()


def plain_function() -> None: ...


def with_an_argument(job: Any) -> Iterator[None]:
    yield


async def async_of_a_job(job: Any) -> AsyncIterator[Any]:
    yield job


@pytest.mark.parametrize(
    ("fn", "on", "message"),
    [
        (plain_function, "run", "plain_function is not a generator function. Write def name(): with one yield."),
        (plain_function, "add", "plain_function is not a generator function. Write def name(job): with one yield."),
        (async_of_a_job, "add", "async_of_a_job is not a generator function. Write def name(job): with one yield."),
        (with_an_argument, "run",
         "with_an_argument cannot be called: missing a required argument: 'job'. "
         "It takes no argument: current_job() tells of the run."),
        (two, "add", "two cannot be called: too many positional arguments. It takes one argument, the job."),
        (two, "end", 'two: on=\'end\' is not known. Accepted: "run", "add".'),
    ],
)  # fmt: skip
def test_what_cannot_be_middleware_is_refused(fn: Any, on: str, message: str) -> None:
    s = schedule.create("pure")
    with pytest.raises(InvalidFunction) as caught:
        s.middleware(on=on)(fn)
    assert str(caught.value) == f"middleware {__name__}.{message}"
    assert "pure" not in AROUND
    assert "pure" not in ENTERING


def test_the_function_itself_comes_back() -> None:
    s = schedule.create("pure")
    assert s.middleware(two) is two
    assert s.middleware(on="run")(none) is none
    assert s.middleware(two_async) is two_async
    assert AROUND["pure"].plain == (two, none)
    assert AROUND["pure"].coroutines == (two_async,)


def test_each_shard_is_told() -> None:
    schedule.create("pure", redis="redis+cluster://127.0.0.1:7000", shards=2).middleware(two)
    assert [AROUND.pop(name).plain for name in ("{pure.0}", "{pure.1}")] == [(two,), (two,)]
