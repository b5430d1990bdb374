"""`on_failure`: the step that buries a job adds a job of another function, with the id and the error."""

from __future__ import annotations

import json
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import Processes, until
from tests.servers import Server
from workkit import Discard, Retry, current_job, job, schedule
from workkit.brokers.connect import open_broker
from workkit.contract.listener import ListenerInfo
from workkit.errors import InvalidOptions, InvalidSchedule
from workkit.jobs.outcome import Dead, Failure

HERE: dict[str, Any] = {"imports": [__name__, "tests.handlers"], "folder": None}
TOLD: list[Any] = []
APP = """
import os, signal
from workkit import job
def tell(id: str, error: str) -> None:
    with open(os.environ["TOLD"], "a") as file:
        print(id, error, file=file)
@job("app.dies", on_failure=tell, crashes=1)
def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
"""


@job("follow.tell", retries=1, base="0s")
def tell(id: str, error: str) -> None:
    TOLD.append((id, error, dict(current_job().meta)))
    if "twice" in error and current_job().attempt == 0:
        raise OSError("not yet")


@job("follow.tell_all")
async def tell_all(id: str, error: str) -> None:
    TOLD.append(("all", id, error))


def again(id: str, error: str) -> None:
    TOLD.append(schedule.retry(AGAIN[-1], id))


AGAIN: list[schedule.Schedule] = []


@job("follow.fail", on_failure=tell)
def fail(text: str = "disk full") -> None:
    raise OSError(text)


@job("follow.late", on_failure="tests.worker.test_on_failure:tell", timeout="0.1s")
def late() -> None:
    until(lambda: False)


@job("follow.once", on_failure=again)
def once(text: str) -> None:
    if not TOLD:
        raise OSError(text)


@job("follow.own", on_failure="tests.worker.test_on_failure:own")
def own(id: str, error: str) -> None:
    TOLD.append((id, error))
    raise ValueError("it fails too")


@job("follow.discards", on_failure=tell, retries=2, base="1h")
def discards(what: str) -> None:
    if what == "discard":
        raise Discard("not needed")
    if what == "wait":
        raise Retry(after="1h")
    if what == "fail":
        raise OSError("another attempt follows")


@pytest.fixture(autouse=True)
def fresh() -> None:
    TOLD.clear()


def drain(s: schedule.Schedule, **how: Any) -> None:
    schedule.drain(s, raise_errors=False, **HERE, **how)


def test_the_function_gets_the_id_and_the_error(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, "@follow.fail", meta={"request": "r1"})
    drain(s)
    ((id, error, meta),) = TOLD
    assert (id, meta) == (added.id, {"request": "r1"})
    assert error.startswith("OSError: disk full (test_on_failure.py:")
    (dead,) = schedule.dead(s)
    assert (dead.id, dead.error) == (added.id, error)
    assert dead.followed_by is not None
    assert schedule.counts(s).waiting == schedule.counts(s).due == 0


def test_a_listener_runs_it_with_its_own_options(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, "@follow.fail", args=["twice"])
    with schedule.listener(s, **HERE):
        until(lambda: len(TOLD) == 2)
    assert {one[0] for one in TOLD} == {added.id}
    assert [dead.id for dead in schedule.dead(s)] == [added.id]


def test_each_dead_occurrence_of_a_recurring_job_is_followed(s: schedule.Schedule) -> None:
    added = schedule.add(s, "@follow.fail", every="minute", name="often")
    drain(s, now=datetime.now(UTC) + timedelta(minutes=3))
    dead = schedule.dead(s)
    assert len(dead) >= 3
    assert [one[0] for one in TOLD] == [added.id] * len(dead)
    assert len({one.followed_by for one in dead}) == len(dead)
    assert schedule.job(s, "often").trigger is not None


def test_a_timeout_and_unfit_arguments_are_followed(s: schedule.Schedule) -> None:
    ids = {schedule.add_now(s, "@follow.late").id, schedule.add_now(s, "@follow.fail", args=[1, 2]).id}
    with schedule.listener(s, keep_unfit="0s", **HERE):
        until(lambda: {one[0] for one in TOLD} == ids)
    assert {one[1].partition(":")[0] for one in TOLD} == {"JobTimeout", "InvalidArguments"}


@pytest.mark.parametrize("what", ["discard", "wait", "fail", "nothing", "cancel"])
def test_what_is_not_dead_is_not_followed(s: schedule.Schedule, server: Server, what: str) -> None:
    added = schedule.add_now(s, "@follow.discards", args=[what])
    if what == "cancel":
        schedule.cancel(s, added.id)
    drain(s)
    assert TOLD == []
    assert set(server.client().hkeys(f"{s.name}:jobs")) <= {added.id.encode()}


def test_the_function_can_retry_the_job_by_its_id(s: schedule.Schedule) -> None:
    AGAIN.append(s)
    schedule.add_now(s, "@follow.once", args=["disk full"])
    drain(s)
    assert TOLD == [1]
    assert schedule.dead(s) == []


def test_a_job_that_dies_again_is_followed_again(s: schedule.Schedule) -> None:
    added = schedule.add_now(s, "@follow.fail")
    drain(s)
    schedule.retry(s, added.id)
    drain(s)
    assert [one[0] for one in TOLD] == [added.id] * 2


@pytest.mark.parametrize("how", ["function", "schedule"])
def test_a_job_that_follows_is_followed_by_none(server: Server, name: str, how: str) -> None:
    s = schedule.create(name, redis=server.url, on_failure=own if how == "schedule" else None)
    schedule.add_now(
        s, "@follow.own" if how == "function" else handlers.fail, args=["id", "e"][: 1 + (how != "schedule")]
    )
    drain(s)
    assert len(TOLD) == (2 if how == "function" else 1)
    assert [dead.followed_by is None for dead in schedule.dead(s)].count(True) == 1
    schedule.retry(s)
    drain(s)
    assert len(schedule.dead(s)) <= 3, "it does not follow itself for ever"


def test_the_schedule_has_one_for_all_functions_and_that_of_a_function_wins(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, on_failure=tell_all)
    first = schedule.add_now(s, handlers.fail)
    second = schedule.add_now(s, "@follow.fail")
    drain(s)
    told = {one[1] if one[0] == "all" else one[0]: one[0] for one in TOLD}
    assert told == {first.id: "all", second.id: second.id}


def test_configure_sets_it_later(server: Server, name: str) -> None:
    s = schedule.create(name)
    s.configure(redis=server.url, on_failure="tests.worker.test_on_failure:tell_all")
    schedule.add_now(s, handlers.fail)
    drain(schedule.create(name, redis=server.url))  # a listener of this program, by the name alone
    assert len(TOLD) == 1


def test_a_record_that_cannot_be_read_is_followed_by_that_of_the_schedule(server: Server, name: str) -> None:
    s, client = schedule.create(name, redis=server.url, on_failure=tell_all), server.client()
    client.hset(f"{name}:jobs", "f" * 40, "no payload")
    client.zadd(f"{name}:next", {f'{{"id":"{"f" * 40}"}}': time.time() * 1000})
    drain(s)
    ((_, id, error),) = TOLD
    assert id == "f" * 40
    assert error.startswith("CorruptRecord: ")
    (dead,) = schedule.dead(s)
    assert dead.followed_by is not None


def test_a_job_that_kills_its_listeners_is_followed_by_another_one(
    server: Server, s: schedule.Schedule, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    told = tmp_path / "told"
    added = schedule.add_now(s, "app:dies")
    code = "import sys; from workkit import schedule\n"
    code += "s = schedule.create(sys.argv[1], redis=sys.argv[2])\n"
    code += "schedule.listen(s, listener_timeout='5s', imports=['app'])\n"
    for _ in range(2):
        process = processes.python(code, s.name, server.url, env={"TOLD": str(told)})
        assert process.wait() == -signal.SIGKILL
        for listed in server.client().zrange(f"{s.name}:listeners", 0, -1):
            server.client().zadd(f"{s.name}:listeners", {listed: 1})
    processes.python(code, s.name, server.url, env={"TOLD": str(told)})
    until(lambda: told.exists() and told.read_text())
    assert told.read_text() == f"{added.id} Crashed: crashed its listener 2 times\n"


def test_a_listener_of_the_command_line_learns_it_from_the_module(
    server: Server, s: schedule.Schedule, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(
        f"from pathlib import Path\nfrom workkit import schedule\n"
        f"def tell(id: str, error: str) -> None:\n    Path('told').write_text(f'{{id}} {{error}}')\n"
        f"def fail() -> None:\n    raise OSError('disk full')\n"
        f"schedule.create('{s.name}', on_failure=tell)\n"
    )
    added = schedule.add_now(s, "app:fail")
    processes.workkit("listen", s.name, "--import", "app", "--redis", server.url, cwd=tmp_path)
    told = tmp_path / "told"
    until(lambda: told.exists() and told.read_text())
    assert told.read_text() == f"{added.id} OSError: disk full (app.py:6)"


def test_it_is_added_in_the_step_that_buries_and_once(server: Server, s: schedule.Schedule) -> None:
    added, client = schedule.add_now(s, "@follow.fail"), server.client()
    broker = open_broker(s.name, redis=server.url)
    try:
        broker.register(ListenerInfo(listener="", host="h", pid=1, version="0", schedules={s.name: 1}, threads=1))
        (claim,) = broker.claim(1).claims
        dead = Dead(failure=Failure(type="OSError", message="disk \x1b full \ud800" + "x" * 900), follower="#'a.b/c")
        before = client.info("commandstats")["cmdstat_evalsha"]["calls"]
        broker.claim(0, ends=[(claim, dead)])
        assert client.info("commandstats")["cmdstat_evalsha"]["calls"] == before + 1
        assert client.zcard(f"{s.name}:dead") == 1
        ((id, payload),) = client.hgetall(f"{s.name}:jobs").items()
        assert client.zrange(f"{s.name}:next", 0, -1) == [f'{{"id":"{id.decode()}"}}'.encode()]
        broker.claim(0, ends=[(claim, dead)])  # it is not held any more
        assert client.hlen(f"{s.name}:jobs") == 1
        found = json.loads(payload)
        assert found["job"] == "#'a.b/c"
        assert found["args"] == [added.id, "OSError: disk \\x1b full \\ud800" + "x" * 900]
        assert found["follows"].startswith(f"{added.id}@")
        (one,) = schedule.dead(s)
        assert one.followed_by == id.decode()
    finally:
        broker.leave()
        broker.close()


def test_in_shards_it_is_in_the_shard_of_the_dead_job(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, shards=3, on_failure=tell_all)
    ids = {schedule.add_now(s, handlers.fail, args=[f"{n}"]).id for n in range(9)}
    drain(s)
    assert {one[1] for one in TOLD} == ids
    assert all(schedule.job(s, dead.id).followed_by for dead in schedule.dead(s))
    assert (
        not [finding for finding in schedule.doctor(s) if finding.severity != "ok"]
        if hasattr(schedule, "doctor")
        else True
    )


def _one(id: str) -> None: ...


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (5, "is no function. Write on_failure=tell"),
        (_one, "cannot follow a failure: _one(id) takes 1 argument; args has 2"),
        (lambda id, error: None, "cannot follow a failure: "),
        ("no name", "cannot follow a failure: "),
    ],
    ids=["number", "one parameter", "lambda", "text"],
)
def test_what_cannot_follow_is_refused(value: Any, said: str) -> None:
    for refuse in (lambda: job(on_failure=value), lambda: schedule.create("app", on_failure=value)):
        with pytest.raises(InvalidOptions) as refused:
            refuse()
        assert said in str(refused.value)
        assert refused.value.where == "on_failure"


@pytest.mark.parametrize("layout", ["gocraft", "hutch", "event"])
def test_other_layouts_refuse_it(layout: str) -> None:
    said = f"on_failure='tell_all' with layout='{layout}'"
    with pytest.raises(InvalidSchedule, match=said):
        schedule.create("app", layout=layout, on_failure=tell_all)
    s = schedule.create("app", layout=layout)
    with pytest.raises(InvalidSchedule, match=said):
        s.job(on_failure=tell_all)
