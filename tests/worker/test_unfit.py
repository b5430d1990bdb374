"""Jobs whose arguments do not fit: after a deploy with a changed signature they are left for listeners that fit."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests import cpu, handlers
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import Processes, until
from tests.servers import Server
from tests.worker.observation import named
from workkit import job, schedule
from workkit.errors import InvalidArguments
from workkit.events import Event

OLD = "from pathlib import Path\ndef export(user: int) -> None:\n    Path(f'old-{user}').touch()\n"
NEW = "from pathlib import Path\ndef export(user: int, day: str) -> None:\n    Path(f'new-{user}-{day}').touch()\n"
HERE: dict[str, Any] = {"imports": [__name__, "tests.handlers"], "folder": None}
MISFITS: dict[str, Any] = {"too few": [], "too many": [1, 2], "another type": ["1"]}
RAN: list[Any] = []


@job("unfit.one")
def one(user: int) -> None:
    RAN.append(user)


@job("unfit.awaited")
async def awaited(user: int) -> None:
    await asyncio.sleep(0)


@job("unfit.body")
def body(message: dict[str, int]) -> None:
    RAN.append(message)


@job("unfit_old.module/name")
def renamed(user: int) -> None:
    RAN.append(("renamed", user))


def wrong_within(user: int) -> None:
    one()  # type: ignore[call-arg]  # the error of a call that the handler makes is its own


def refused_within(user: int) -> None:
    raise InvalidArguments("the handler says so")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


@pytest.mark.parametrize("args", MISFITS.values(), ids=MISFITS)
@pytest.mark.parametrize("fn", ["@unfit.one", "@unfit.awaited"])
def test_a_job_that_does_not_fit_stays_with_its_score_for_others(
    s: schedule.Schedule, client: Any, seen: list[Event], fn: str, args: list[Any]
) -> None:
    added = schedule.add_now(s, fn, args=args, retries=3)
    (before,) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    with schedule.listener(s, **HERE):
        (left,) = until(lambda: named(seen, "cannot_run"))
        schedule.add_now(s, handlers.note, args=["ours"])
        until(lambda: handlers.calls == [("ours",)])
        until(lambda: client.zrange(f"{s.name}:next", 0, -1, withscores=True) == [before])
        looks = len(named(seen, "started"))
        time.sleep(0.5)  # it looks no further: nothing that could be awaited happens
        assert len(named(seen, "started")) == looks
    assert re.search(r"Left for other listeners for 9 min 5\d s, then dead\.", left.fields["reason"])
    assert schedule.dead(s) == []
    assert schedule.job(s, added.id).attempt == 0


def test_an_old_and_a_new_version_run_their_own_jobs(
    s: schedule.Schedule, server: Server, processes: Processes, tmp_path: Path
) -> None:
    for name, text in (("old", OLD), ("new", NEW)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "changed.py").write_text(text)
        processes.workkit("listen", s.name, "--redis", server.url, cwd=tmp_path / name).wait_for("changed|may run")
    for n in range(20):
        schedule.add_now(s, "changed:export", args=[n])
        schedule.add_now(s, "changed:export", args=[n, "monday"])
    until(lambda: len(list(tmp_path.glob("*/old-*"))) + len(list(tmp_path.glob("*/new-*"))) == 40)
    assert {file.parent.name for file in tmp_path.glob("*/old-*")} == {"old"}
    assert {file.parent.name for file in tmp_path.glob("*/new-*")} == {"new"}
    assert schedule.dead(s) == []


def test_after_keep_unfit_it_is_dead(s: schedule.Schedule, client: Any, seen: list[Event]) -> None:
    many = [schedule.add_now(s, "@unfit.one", args=[f"text {n}"]).id for n in range(3)]
    with schedule.listener(s, keep_unfit="2s", **HERE):
        until(lambda: named(seen, "cannot_run"))
        assert schedule.dead(s) == []
        until(lambda: {dead.id for dead in schedule.dead(s)} == set(many))
    assert {dead.failure.type for dead in schedule.dead(s) if dead.failure} == {"InvalidArguments"}
    assert not client.exists(f"{s.name}:jobs", f"{s.name}:next", f"{s.name}:again")


def test_one_that_is_late_by_more_is_dead_at_once(s: schedule.Schedule, client: Any, seen: list[Event]) -> None:
    added = schedule.add_now(s, "@unfit.one", args=[])
    (item,) = client.zrange(f"{s.name}:next", 0, -1)
    client.zadd(f"{s.name}:next", {item: time.time() * 1000 - 601_000})
    with schedule.listener(s, **HERE):
        until(lambda: [dead.id for dead in schedule.dead(s)] == [added.id])
    assert named(seen, "cannot_run") == []


def test_a_recurring_job_waits_too_and_goes_on(s: schedule.Schedule, seen: list[Event]) -> None:
    added = schedule.add(s, "@unfit.one", every="second", args=[], name="often")
    with schedule.listener(s, keep_unfit="2s", **HERE):
        until(lambda: named(seen, "cannot_run"))
        until(lambda: schedule.dead(s))
    assert {dead.id for dead in schedule.dead(s)} == {added.id}
    assert schedule.job(s, "often").trigger is not None


@pytest.mark.parametrize("how", [{"burst": True}, {"keep_unfit": "0s"}], ids=str)
def test_a_burst_and_a_listener_that_keeps_none_end_it_at_once(s: schedule.Schedule, how: dict[str, Any]) -> None:
    schedule.add_now(s, "@unfit.one", args=[])
    with schedule.listener(s, **how, **HERE):
        until(lambda: len(schedule.dead(s)) == 1)


def test_drain_raises_it_at_once(s: schedule.Schedule) -> None:
    schedule.add_now(s, "@unfit.one", args=[])
    with pytest.raises(InvalidArguments, match=r"one\(user\) takes 1 argument; args has 0"):
        schedule.drain(s, **HERE)
    assert len(schedule.dead(s)) == 1


@pytest.mark.parametrize(("fn", "type_"), [("wrong_within", "TypeError"), ("refused_within", "InvalidArguments")])
def test_what_a_handler_raises_itself_is_dead_at_once(s: schedule.Schedule, fn: str, type_: str) -> None:
    schedule.add_now(s, f"{__name__}:{fn}", args=[1])
    with schedule.listener(s, **HERE):
        (dead,) = until(lambda: schedule.dead(s))
    assert dead.failure is not None
    assert dead.failure.type == type_


def test_one_for_a_worker_process_waits_too(s: schedule.Schedule, seen: list[Event], tmp_path: Path) -> None:
    schedule.add_now(s, "tests.cpu:typed", args=[str(tmp_path), "7"])
    assert cpu.typed.__module__ == "tests.cpu"
    with schedule.listener(s, keep_unfit="3s", imports=["tests.cpu"], folder=None):
        until(lambda: named(seen, "cannot_run"))
        assert schedule.dead(s) == []
        until(lambda: schedule.dead(s))


def test_middleware_does_not_hide_it(s: schedule.Schedule, seen: list[Event]) -> None:
    @s.middleware
    def around() -> Any:
        yield

    schedule.add_now(s, "@unfit.one", args=[])
    with schedule.listener(s, **HERE):
        until(lambda: named(seen, "cannot_run"))
    assert schedule.dead(s) == []


def test_a_cancelled_one_is_over(s: schedule.Schedule, client: Any, seen: list[Event]) -> None:
    added = schedule.add_now(s, "@unfit.one", args=[])
    with schedule.listener(s, keep_unfit="3s", **HERE):
        until(lambda: named(seen, "cannot_run"))
        until(lambda: client.zcard(f"{s.name}:next"))
        schedule.cancel(s, added.id)
    assert not client.exists(f"{s.name}:jobs", f"{s.name}:next", f"{s.name}:dead")


def test_in_a_gocraft_namespace_it_is_put_off_and_then_dead(
    server: Server, name: str, client: Any, seen: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.worker.router.UNFIT_MS", 1000)
    s, ns = schedule.create(name, redis=server.url, layout="gocraft"), Namespace(server, name)
    ns.add("unfit.one", {"person": 1})
    with schedule.listener(s, keep_unfit="3s", jobs=["unfit.one"], **HERE):
        until(lambda: named(seen, "cannot_run"))
        ns.add("unfit.one", {"user": 7})
        until(lambda: 7 in RAN)  # its name is served still
        assert schedule.dead(s) == []
        until(lambda: len(schedule.dead(s)) == 1)
    assert len(named(seen, "started")) <= 7, "it was put off between two looks"


def test_in_an_exchange_it_is_put_off_and_then_dead(
    amqp: str, name: str, seen: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.worker.router.UNFIT_MS", 1000)
    s = schedule.create(name, amqp=amqp, layout="hutch")
    with schedule.listener(s, keep_unfit="3s", jobs=["unfit.body"], **HERE):
        schedule.add_now(s, "@unfit.body", args=[{"user": "x"}])
        until(lambda: named(seen, "cannot_run"))
        schedule.add_now(s, "@unfit.body", args=[{"user": 8}])
        until(lambda: {"user": 8} in RAN)
        assert schedule.dead(s) == []
        until(lambda: len(schedule.dead(s)) == 1)
    assert len(named(seen, "started")) <= 7, "it was put off between two looks"


@pytest.mark.parametrize("old", ["unfit_old.module:name", "#'unfit_old.module/name"])
def test_a_renamed_function_runs_what_is_stored_under_its_old_name(s: schedule.Schedule, old: str) -> None:
    RAN.clear()
    schedule.add_now(s, old, args=[1])
    schedule.add_now(s, renamed, args=[2])
    assert {one.fn for one in schedule.jobs(s)} == {"#'unfit_old.module/name", f"#'{__name__}/renamed"}
    schedule.drain(s, **HERE)
    assert sorted(RAN) == [("renamed", 1), ("renamed", 2)]
