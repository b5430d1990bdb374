"""`crashes=`: how often a run that was cut off is begun again. With 0 a job runs at most once (spec/lifecycle.md 4)."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import Process, Processes, until
from tests.servers import Server
from tests.worker.observation import HOW, named
from workkit import current_job, job, schedule
from workkit.errors import FunctionNotFound
from workkit.events import Event

APP = """
import os, signal, time, redis
from workkit import current_job, job
r = redis.Redis.from_url(os.environ["SEEN"])
def begin(what):
    r.rpush("begun", f"{what} {current_job().crashes}")
    time.sleep(60 if os.environ["HANGS"] == "yes" else 0)
@job(crashes=0)
def once(what):
    begin(what)
@job(cpu=True)
def end_worker():
    r.rpush("begun", "worker")
    os.kill(os.getpid(), signal.SIGKILL)
"""
LISTEN = """
import sys
from workkit import schedule
schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), threads=4, listener_timeout="5s", imports=["app"])
"""
CUT_OFF = "Crashed: may have run: its listener died"


@pytest.fixture
def listens(server: Server, name: str, processes: Processes, tmp_path: Path) -> Any:
    """Start a listener process, whose runs hang or not."""
    (tmp_path / "app.py").write_text(APP)

    def start(*, hangs: bool) -> Process:
        return processes.python(LISTEN, name, server.url, env={"SEEN": server.url, "HANGS": "yes" if hangs else "no"})

    return start


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_whose_listener_was_cut_off_is_not_begun_again(
    server: Server, s: schedule.Schedule, listens: Any, how: signal.Signals
) -> None:
    client = server.client()
    said = schedule.add_now(s, "app:begin", args=["said"], crashes=0)
    recurs = schedule.add(s, "app:begin", args=["recurs"], every="hour", name="recurs", crashes=0)
    schedule.run(s, "recurs")
    marked = schedule.add_now(s, "app:once", args=["marked"])
    usual = schedule.add_now(s, "app:begin", args=["usual"])
    first = listens(hangs=True)
    until(lambda: client.llen("begun") >= 4)
    behind = schedule.add_now(s, "app:once", args=["behind"])  # no thread is free: it waits
    before = client.lrange("begun", 0, -1)
    first.send(how)
    for listed in client.zrange(f"{s.name}:listeners", 0, -1):
        client.zadd(f"{s.name}:listeners", {listed: 1})  # nobody waits until its last heartbeat is old
    second = listens(hangs=False)
    until(lambda: schedule.counts(s).dead >= 3 and not list(schedule.jobs(s, state="running")))
    until(lambda: client.llen("begun") >= len(before) + 2)
    second.send(signal.SIGTERM)
    second.wait()
    again = sorted(text.decode() for text in client.lrange("begun", len(before), -1))
    assert again == ["behind 0", "usual 1"]
    dead = {found.id: found.error for found in schedule.jobs(s, state="dead")}
    assert dead == {said.id: CUT_OFF, recurs.id: CUT_OFF, marked.id: CUT_OFF}
    assert {behind.id, usual.id}.isdisjoint(found.id for found in schedule.jobs(s))
    assert schedule.job(s, "recurs").state == "waiting"


def test_what_was_claimed_and_never_began_goes_back(server: Server, s: schedule.Schedule) -> None:
    client = server.client()
    added = schedule.add_now(s, handlers.note, args=[1], crashes=0)
    ((_, score),) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    client.hset(f"{s.name}:crashed", f"{added.id}@{score:.0f}", 3)  # three listeners died with it
    schedule.drain(s, **HOW)
    assert handlers.calls == [(1,)]
    assert schedule.counts(s).dead == 0


@pytest.mark.parametrize(("crashes", "dead"), [(1, False), (2, True)])
def test_a_job_says_how_often_it_is_begun_again(server: Server, s: schedule.Schedule, crashes: int, dead: bool) -> None:
    added = schedule.add_now(s, handlers.note, args=[1], crashes=1)
    client = server.client()
    ((_, score),) = client.zrange(f"{s.name}:next", 0, -1, withscores=True)
    client.hset(f"{s.name}:crashed", f"{added.id}@{score:.0f}", crashes)
    schedule.drain(s, raise_errors=False, **HOW)
    assert [found.error for found in schedule.jobs(s)] == ["Crashed: crashed its listener 2 times"] * dead
    assert handlers.calls == [(1,)] * (not dead)


def test_a_run_that_a_stop_cuts_off_is_dead(s: schedule.Schedule, seen: list[Event]) -> None:
    listener = schedule.listener(s, threads=1, **HOW).start()
    added = schedule.add_now(s, handlers.wait_for_gate, crashes=0)
    until(lambda: handlers.calls)
    assert listener.stop(timedelta(0)).given_back == 0
    assert [(found.id, found.error) for found in schedule.jobs(s)] == [
        (added.id, "Crashed: may have run: its listener stopped before it ended")
    ]
    assert [event.fields["error"] for event in named(seen, "dead")] == [
        "may have run: its listener stopped before it ended"
    ]


def test_retry_by_hand_begins_it_again(s: schedule.Schedule) -> None:
    listener = schedule.listener(s, threads=1, **HOW).start()
    schedule.add_now(s, handlers.wait_for_gate, crashes=0)
    until(lambda: handlers.calls)
    listener.stop(timedelta(0))
    handlers.gate.set()
    assert schedule.retry(s) == 1
    schedule.drain(s, **HOW)
    assert list(schedule.jobs(s)) == []


def test_a_run_whose_worker_process_is_killed_is_not_begun_again(
    server: Server, s: schedule.Schedule, listens: Any
) -> None:
    schedule.add_now(s, "app:end_worker", crashes=0, retries=3, base="0s")
    listener = listens(hangs=False)
    until(lambda: schedule.counts(s).dead)
    listener.send(signal.SIGTERM)
    listener.wait()
    assert server.client().lrange("begun", 0, -1) == [b"worker"]


@job(crashes=0)
def add_unknown() -> None:
    handlers.calls.append(("begun", current_job().crashes))
    raise FunctionNotFound("cannot run x", where="x", trouble="x")


def test_a_handler_that_raises_that_it_cannot_run_has_begun(s: schedule.Schedule) -> None:
    schedule.add_now(s, add_unknown)
    schedule.drain(s, raise_errors=False, imports=[__name__], folder=None)
    schedule.drain(s, raise_errors=False, imports=[__name__], folder=None)
    assert handlers.calls == [("begun", 0)]
    assert [found.state for found in schedule.jobs(s)] == ["dead"]
