"""A handler with one parameter, which is positional only, gets all keyword arguments of a job as one dict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from tests.servers import Server
from workkit import job, schedule
from workkit.errors import InvalidArguments
from workkit.jobs.registry import Registry

SEEN: list[Any] = []
ODD = {"user-id": 7, "class": {"a": []}, "n": 2**53 + 1}


@job("whole")
def whole(args: dict[str, Any], /) -> None:
    SEEN.append(args)


@job("whole_async")
async def whole_async(args: dict[str, Any], /) -> None:
    SEEN.append(args)


@job(limit=2, limit_key=lambda args: args["user"])
def by_user(args: dict[str, Any], /) -> None:
    SEEN.append(args)


@job("broken")
def broken(args: dict[str, Any], /) -> None:
    raise TypeError("of its own")


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


@pytest.fixture
def go(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url, layout="gocraft")


@pytest.mark.parametrize("fn", ["whole", "whole_async"])
@pytest.mark.parametrize(("args", "expected"), [(ODD, ODD), ({}, {}), (None, {})])
def test_a_go_job_gives_its_object(go: schedule.Schedule, server: Server, fn: str, args: Any, expected: Any) -> None:
    ns = Namespace(server, go.name)
    ns.push(fn, {"name": fn, "id": "x" * 24, "t": 1, "args": args})
    with schedule.listener(go, imports=[], folder=None, jobs=[fn]):
        until(lambda: SEEN)
    ns.close()
    assert len(SEEN) == 1
    assert SEEN[0] == expected


def test_it_is_added_with_the_members_of_the_object(go: schedule.Schedule) -> None:
    schedule.add_now(go, whole, kwargs=ODD)
    schedule.add_now(go, whole)
    with schedule.listener(go, imports=[], folder=None, jobs=["whole"]):
        until(lambda: len(SEEN) == 2)
    assert sorted(SEEN, key=len) == [{}, ODD]


def test_a_native_job_gives_its_keyword_arguments_or_its_one_argument(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    schedule.add_now(s, whole, kwargs=ODD)
    schedule.add_now(s, whole, args=[{"given": "as it is"}])
    schedule.add_now(s, by_user, kwargs={"user": 3})
    assert schedule.drain(s, imports=[__name__], folder=None).ran == 3
    assert max(SEEN, key=len) == ODD
    assert {"given": "as it is"} in SEEN
    assert {"user": 3} in SEEN


def test_a_native_job_without_an_argument_is_refused(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    with pytest.raises(InvalidArguments, match="takes 1 argument; args has 0"):
        schedule.add_now(s, whole)
    with pytest.raises(InvalidArguments, match="cannot be called so"):
        schedule.add_now(s, whole, args=[{}], kwargs={"more": 1})


def test_a_limit_key_gets_the_object_too() -> None:
    _, options = Registry().handler(f"{__name__}:by_user")
    assert options.limited_by((), {"user": 3}) == "3"


def test_its_own_error_stays_its_own(go: schedule.Schedule) -> None:
    schedule.add_now(go, broken, kwargs={"a": 1})
    with pytest.raises(TypeError, match=r"^of its own$"):
        schedule.drain(go, imports=[], folder=None, jobs=["broken"])
