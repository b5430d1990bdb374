"""How far ahead a listener claims work, and when it takes claims back that wait for a thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.contract.listener import Claim, ListenerInfo
from workkit.jobs.registry import Registry
from workkit.worker import runner as runner_module
from workkit.worker.counting import AHEAD, MOST_AHEAD, ReadAhead
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox, Lane, LaneRun
from workkit.worker.runner import Threads

PATIENCE = 0.02


@pytest.fixture
def inbox() -> Inbox[Any]:
    return Inbox()


@pytest.fixture
def threads(inbox: Inbox[Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Threads]:
    monkeypatch.setattr(runner_module, "PATIENCE", PATIENCE)
    made = Threads(2, executor=Executor(Registry(imports=("tests.handlers",))), inbox=inbox)
    made.open()
    yield made
    handlers.gate.set()
    made.close()


def test_short_work_beside_a_long_run_is_not_overdue(
    server: Server, name: str, threads: Threads, inbox: Inbox[Any]
) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    s = schedule.create(name, redis=server.url)
    for fn in (handlers.wait_for_gate, handlers.note) * 2:
        schedule.add_now(s, fn)
    broker = open_broker(name, redis=server.url)
    broker.register(ListenerInfo(listener="", host="here", pid=1, version="0", schedules={}, threads=2))
    lane, claims = Lane(broker), broker.claim(4).claims
    long = [claim for claim in claims if claim.fn.endswith("gate")]
    short = [claim for claim in claims if claim not in long]

    def execute(*claims: Claim) -> None:
        threads.submit([LaneRun(claim, lane) for claim in claims])
        threads.flush()

    def overdue() -> list[Any]:
        return list(threads.look(time.monotonic(), lambda: False))

    execute(long[0])
    until(lambda: handlers.calls == ["begun"])
    time.sleep(2 * PATIENCE)
    execute(short[0])
    assert not overdue()
    threads.ended(until(lambda: inbox.take(0)))

    execute(long[1], short[1])
    until(lambda: handlers.calls.count("begun") == 2)
    taken = until(overdue)
    assert [task.claim for task in taken] == [short[1]]
    assert len(threads.held) == 2
    broker.close()


def test_read_ahead_claims_little_ahead_of_long_runs() -> None:
    ahead = ReadAhead(4)
    ahead.begin(10.0)
    for turn in range(1, 6):
        for n in range(4):  # four runs of 0.3 s, which end at nearly the same moment
            ahead.note(1, 10.0 + 0.3 * turn + 0.0001 * n)
        assert ahead.ahead(10.0 + 0.3 * turn + 0.001, idle=False) == 0


def test_short_runs_are_taken_many_at_a_time_until_they_get_long() -> None:
    ahead = ReadAhead(4)
    ahead.begin(10.0)
    ahead.note(256, 10.0 + 2**-9)
    assert ahead.ahead(10.0 + 2**-9, idle=False) == 257
    ahead.note(4096, 10.0 + 2**-5)
    assert ahead.ahead(10.0 + 2**-5, idle=False) == 3382
    assert ahead.ahead(10.01 + 2 * AHEAD, idle=False) < 3382
    assert ahead.ahead(10.0 + 2**-5 + 10, idle=False) == 0


def test_what_comes_to_idle_threads_is_not_known_to_be_short() -> None:
    """One more than there are threads is taken; then as many more as have ended since."""
    ahead = ReadAhead(4)
    ahead.begin(10.0)
    ahead.note(256, 10.0 + 2**-9)
    assert ahead.ahead(10.05, idle=True) == 257
    assert ahead.ahead(10.2, idle=True) == 1
    ahead.begin(10.2)
    assert ahead.ahead(10.201, idle=False) == 1
    ahead.note(5, 10.202)
    assert ahead.ahead(10.202, idle=False) == 6


@pytest.mark.parametrize("threads", [1, 4])
def test_one_round_of_long_runs_is_enough_to_claim_few(threads: int) -> None:
    ahead = ReadAhead(threads)
    ahead.begin(10.0)
    for turn in range(1, 9):
        ahead.note(50 * threads, 10.0 + 0.005 * turn)
    ahead.note(2 * threads - 1, 10.0401)  # and the next sample begins with some of the short ones
    ahead.begin(10.4)
    for turn in range(1, 6):
        for n in range(threads):
            ahead.note(1, 10.4 + 0.4 * turn + 0.0001 * n)
        assert ahead.ahead(10.4 + 0.4 * turn + 0.001, idle=False) == 0


def test_read_ahead_forgets_an_old_speed() -> None:
    ahead = ReadAhead(4)
    ahead.begin(10.0)
    ahead.note(256, 10.0 + 2**-9)
    assert ahead.ahead(12.0, idle=True) == 0
    ahead.begin(12.0)
    assert ahead.ahead(12.001, idle=False) == 0


def test_the_time_that_work_takes_to_come_makes_nothing_slow() -> None:
    ahead = ReadAhead(4)
    for turn in range(1, 101):
        ahead.begin(0.5 * turn)
        ahead.note(4, 0.5 * turn + 0.0004)
    ahead.note(1000, 50.0004 + 0.1)
    assert 240 <= ahead.ahead(50.1004, idle=False) <= 260


def test_there_is_an_end_to_it() -> None:
    ahead = ReadAhead(1)
    ahead.begin(1.0)
    ahead.note(1_000_000, 1.01)
    assert ahead.ahead(1.01, idle=False) == MOST_AHEAD
