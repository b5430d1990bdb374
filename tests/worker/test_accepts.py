"""Arguments of an earlier version of a function: `@job(accepts=[...])` lifts them to those of today at the run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests import cpu
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from tests.servers import Server
from tests.worker.observation import named
from workkit import current_job, job, schedule
from workkit.errors import InvalidArguments
from workkit.events import Event

HERE: dict[str, Any] = {"imports": [__name__, "tests.handlers", "tests.cpu"], "folder": None}
RAN: list[Any] = []
LIFTED: list[Any] = []


@dataclass
class Order:
    user: int
    day: date


def from_v1(user: int) -> tuple[Any, ...]:
    LIFTED.append(("v1", user))
    return user, "monday"


def from_v0(user: str, *, fast: bool) -> dict[str, Any]:
    LIFTED.append(("v0", user, fast))
    if user == "broken":
        raise KeyError(user)
    return {} if user == "nothing" else {"user": len(user), "day": "fast" if fast else "slow"}


def of_any(*given: Any) -> Any:
    LIFTED.append(("any", *given))
    return None if given == (1, 2, 3, 4) else [0, "any"]


@job("accepts.export", accepts=[from_v1, from_v0, of_any])
def export(user: int, day: str) -> None:
    RAN.append((user, day, current_job().args, current_job().kwargs))


@job("accepts.awaited", accepts=[from_v1])
async def awaited(user: int, day: str) -> None:
    await asyncio.sleep(0)
    RAN.append((user, day))


@job("accepts.fails", accepts=[from_v1])
def fails(user: int, day: str) -> None:
    raise OSError(f"{user} {day}")


def order_v1(user: int, day: date) -> tuple[Order]:
    return (Order(user, day),)


@job("accepts.pack", accepts=[order_v1])
def pack(order: Order) -> None:
    RAN.append((order, current_job().args))


def field_v1(order: dict[str, Any]) -> tuple[dict[str, Any]]:
    return ({"user": order["customer"], "day": "2026-11-26"},)


@job("accepts.renamed", accepts=[field_v1])
def renamed(order: Order) -> None:
    RAN.append(order)


@job(accepts=[from_v1], limit=1, limit_key="day")
def counted(user: int, day: str) -> None:
    RAN.append((user, day))


@job("accepts.body", accepts=[from_v0])
def body(*, user: int, day: str) -> None:
    RAN.append((user, day))


@pytest.fixture(autouse=True)
def fresh() -> None:
    RAN.clear()
    LIFTED.clear()


@pytest.mark.parametrize(
    ("args", "kwargs", "ran", "lifted"),
    [
        ([1, "friday"], {}, (1, "friday", (1, "friday"), None), []),
        ([7], {}, (7, "monday", (7, "monday"), None), [("v1", 7)]),
        ([], {"user": 7}, (7, "monday", (7, "monday"), None), [("v1", 7)]),
        (["ada"], {"fast": True}, (3, "fast", (), {"user": 3, "day": "fast"}), [("v0", "ada", True)]),
        (["text", 5], {}, (0, "any", (0, "any"), None), [("any", "text", 5)]),
        ([1, 2, 3], {}, (0, "any", (0, "any"), None), [("any", 1, 2, 3)]),
    ],
    ids=["of today", "v1", "v1 by name", "v0", "of another type", "too many"],
)
def test_the_first_function_that_takes_old_arguments_lifts_them(
    s: schedule.Schedule, args: list[Any], kwargs: dict[str, Any], ran: Any, lifted: list[Any]
) -> None:
    schedule.add_now(s, "@accepts.export", args=args, kwargs=kwargs)
    assert schedule.drain(s, **HERE).ran == 1
    assert [ran] == RAN
    assert lifted == LIFTED


def test_a_listener_lifts_for_functions_coroutines_and_worker_processes(s: schedule.Schedule, tmp_path: Path) -> None:
    for fn in ("@accepts.export", "@accepts.awaited"):
        schedule.add_now(s, fn, args=[7])
    schedule.add_now(s, "tests.cpu:lifted", args=[str(tmp_path)])
    with schedule.listener(s, **HERE):
        until(lambda: len(RAN) == 2 and list(tmp_path.glob("*")))
        until(lambda: schedule.counts(s).running == 0)
    assert sorted(one[:2] for one in RAN) == [(7, "monday"), (7, "monday")]
    (file,) = tmp_path.glob("*")
    assert cpu.lifted.__module__ == "tests.cpu"
    assert file.read_text() == f"lifted 8 {(str(tmp_path), 8)}\n"


def test_a_lifter_that_fails_in_a_worker_process_is_named_too(s: schedule.Schedule, seen: list[Event]) -> None:
    schedule.add_now(s, "tests.cpu:lifted", args=[""])
    with schedule.listener(s, **HERE):
        (left,) = until(lambda: named(seen, "cannot_run"))
        assert schedule.dead(s) == []
    assert "lifted_v1() returned <object object at " in left.fields["reason"]


def test_a_lifter_gets_and_returns_objects_of_annotations(s: schedule.Schedule) -> None:
    schedule.add_now(s, "@accepts.pack", args=[7, "2026-11-26"])
    schedule.add_now(s, "@accepts.renamed", args=[{"customer": 8}])
    schedule.drain(s, **HERE)
    assert sorted(RAN, key=str, reverse=True) == [
        Order(8, date(2026, 11, 26)),
        (Order(7, date(2026, 11, 26)), ({"user": 7, "day": "2026-11-26"},)),
    ]


def test_the_job_keeps_its_own_arguments(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, "@accepts.fails", args=[7], retries=1, base="0s")
    schedule.drain(s, raise_errors=False, **HERE)
    (dead,) = schedule.dead(s)
    assert (dead.id, dead.args) == (added.id, (7,))
    assert (dead.error or "").startswith("OSError: 7 monday")
    assert LIFTED == [("v1", 7)] * 2  # each attempt is lifted anew


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        (["broken"], {"fast": True}, "from_v0() raised: KeyError: 'broken'. Correct the function."),
        (["nothing"], {"fast": True}, "from_v0() returned arguments that do not fit: export(user, day) takes 2"),
        ([1, 2, 3, 4], {}, "of_any() returned None, which are no arguments. Return a tuple of them"),
    ],
    ids=["raises", "does not fit", "returns none"],
)
def test_a_lifter_that_fails_is_named(s: schedule.Schedule, args: list[Any], kwargs: dict[str, Any], said: str) -> None:
    schedule.add_now(s, "@accepts.export", args=args, kwargs=kwargs)
    with pytest.raises(InvalidArguments) as raised:
        schedule.drain(s, **HERE)
    assert str(raised.value).startswith(said)
    assert RAN == []
    (dead,) = schedule.dead(s)
    assert dead.failure is not None
    assert dead.failure.message.startswith(said)


def test_a_job_whose_lifter_fails_waits_for_others(s: schedule.Schedule, seen: list[Event]) -> None:
    schedule.add_now(s, "@accepts.export", args=["broken"], kwargs={"fast": True}, retries=3)
    with schedule.listener(s, keep_unfit="2s", **HERE):
        (left,) = until(lambda: named(seen, "cannot_run"))
        assert schedule.dead(s) == []
        (dead,) = until(lambda: schedule.dead(s))
    assert "KeyError: 'broken'. Correct the function. Left for other listeners" in left.fields["reason"]
    assert dead.attempt == 0


def test_arguments_that_no_lifter_takes_do_not_fit(s: schedule.Schedule) -> None:
    schedule.add_now(s, "@accepts.awaited", args=["text", 1, 2])
    with pytest.raises(InvalidArguments, match=r"awaited\(user, day\) takes 2 arguments; args has 3"):
        schedule.drain(s, **HERE)
    assert LIFTED == []


def test_middleware_sees_the_arguments_of_today(s: schedule.Schedule) -> None:
    @s.middleware
    def around() -> Any:
        RAN.append(current_job().args)
        yield

    schedule.add_now(s, f"{__name__}:counted", args=[7])
    schedule.drain(s, **HERE)
    assert RAN == [(7, "monday"), (7, "monday")]


def test_a_limit_counts_the_value_that_was_lifted(s: schedule.Schedule, server: Server) -> None:
    slots: list[bytes] = []

    @s.middleware
    def around() -> Any:
        slots.extend(server.client().zrange(f"{s.name}:slots", 0, -1))
        yield

    schedule.add_now(s, f"{__name__}:counted", args=[7])
    schedule.drain(s, **HERE)
    assert [b'="monday"' in slot for slot in slots] == [True]


def test_a_gocraft_job_is_lifted_too(server: Server, name: str) -> None:
    s, ns = schedule.create(name, redis=server.url, layout="gocraft"), Namespace(server, name)
    ns.add("accepts.body", {"user": "ada", "fast": False})
    with schedule.listener(s, jobs=["accepts.body"], **HERE):
        until(lambda: RAN == [(3, "slow")])


def test_the_bytes_of_the_payload_are_as_before(s: schedule.Schedule, server: Server) -> None:
    schedule.add_now(s, "@accepts.export", args=[7])
    (stored,) = server.client().hvals(f"{s.name}:jobs")
    assert set(json.loads(stored)) == {"args", "cron", "job"}


async def _coroutine(user: int) -> None: ...


def _generator(user: int) -> Any:
    yield user


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (from_v1, "is no list of functions. Write accepts=[from_v1]."),
        ("app:from_v1", "is no list of functions"),
        (5, "is no list of functions"),
        (["app:from_v1"], "is no function"),
        ([Order], "is no function"),
        ([_coroutine], "is a coroutine function, not a plain one that returns the new arguments"),
        ([_generator], "is a generator function, not a plain one"),
    ],
    ids=["one function", "a text", "a number", "texts", "a class", "a coroutine", "a generator"],
)
def test_a_value_that_lifts_nothing_is_refused(value: Any, said: str) -> None:
    from workkit.errors import InvalidOptions

    with pytest.raises(InvalidOptions) as refused:
        job(accepts=value)
    assert said in str(refused.value)
    assert refused.value.where == "accepts"
