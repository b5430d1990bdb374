"""A server that is away at the worst moments, one by one: what the crash suite found at random, here on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.contract.broker import Broker
from workkit.contract.listener import Claim, ListenerInfo
from workkit.errors import ServerUnreachable
from workkit.jobs.outcome import Released
from workkit.jobs.registry import Registry
from workkit.worker.executor import Executor
from workkit.worker.lane import Inbox, Lane, LaneRun, LookUp
from workkit.worker.runner import Threads

HANDLERS = "tests.handlers"


@pytest.fixture
def broker(own_server: Server, name: str) -> Broker:
    """A registered one."""
    opened = open_broker(name, redis=own_server.url)
    opened.register(ListenerInfo(listener="", host="h", pid=1, version="0", schedules={name: 1}, threads=1))
    return opened


def claimed(broker: Broker) -> Claim:
    """The one job that is due, or is soon."""
    (claim,) = until(lambda: broker.claim(1).claims, what="a job that is due")
    return claim


def test_a_run_that_begins_while_the_server_is_away_ends(broker: Broker, own_server: Server, name: str) -> None:
    schedule.add_now(schedule.create(name, redis=own_server.url), f"{HANDLERS}:note", args=["away"])
    claim = claimed(broker)
    own_server.kill()
    inbox: Inbox[LaneRun | LookUp] = Inbox()
    executor = Executor(Registry(imports=(HANDLERS,), folder=None))
    threads = Threads(1, executor=executor, inbox=inbox)
    threads.open()
    threads.submit([LaneRun(claim, Lane(broker))])
    threads.flush()
    (ended,) = inbox.take(10)
    threads.close()
    broker.close()
    assert isinstance(ended, LaneRun)
    assert ended.error is None


@pytest.mark.parametrize("own_server", ["redis"], indirect=True)
@pytest.mark.parametrize("is_before_the_server", [False, True], ids=["the server armed it", "the server never heard"])
def test_an_occurrence_given_back_while_it_is_being_armed_stays_owed(
    broker: Broker, own_server: Server, name: str, is_before_the_server: bool
) -> None:
    schedule.add(schedule.create(name, redis=own_server.url), f"{HANDLERS}:note", every="second")
    claim = claimed(broker)
    away, back = _ways(own_server, is_killed=is_before_the_server)
    away()
    with pytest.raises(ServerUnreachable):
        broker.admit([(claim, None)])
    back()
    broker.claim(0, ends=[(claim, Released())])
    owed = broker.claim(10).claims
    assert [claim.due_ms for claim in owed].count(claim.due_ms) == 1, f"{claim.due_ms} is not among {owed}"
    broker.close()


def _ways(server: Server, *, is_killed: bool) -> tuple[Callable[[], None], Callable[[], None]]:
    """To be away and to be back: killed, so that it never hears the request, or frozen, so that only its reply is
    lost.
    """
    return (server.kill, server.start) if is_killed else (server.freeze, server.thaw)
