"""A broker that is killed and started again, and connections that are cut, under load: nothing is lost."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from tests import handlers
from tests.brokers.hutch.opened import new
from tests.brokers.hutch.relay import Relay
from tests.processes import until
from tests.rabbit import Rabbit
from workkit import schedule
from workkit.brokers.hutch.address import read_address
from workkit.brokers.hutch.broker import HutchBroker
from workkit.brokers.hutch.names import Names
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import ServerError, ServerFull, ServerUnreachable
from workkit.jobs.outcome import Done

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "jobs": ["note"], "threads": 4}
BATCH, BATCHES = 20, 60
INFO = ListenerInfo(
    listener="", host="", pid=1, version="0", schedules={}, threads=1, serves={"note": Serving()}
)  # fmt: skip


def produce(s: schedule.Schedule, done: list[int]) -> None:
    """Add batch after batch; one that may not have been taken is added again."""
    for batch in range(BATCHES):
        rows = [{"fn": "note", "at": "now", "args": [{"n": batch * BATCH + n}]} for n in range(BATCH)]
        deadline = time.monotonic() + 60
        while True:
            try:
                schedule.add_many(s, rows)
                break
            except ServerError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        done.append(batch)


def play(s: schedule.Schedule, trouble: Callable[[], None]) -> Counter[int]:
    """Listen and produce; make trouble in the middle. Returns how often each message ran."""
    handlers.calls.clear()
    schedule.drain(s, **{**HOW, "threads": 1})  # so that its queue is there
    done: list[int] = []
    with schedule.listener(s, **HOW):
        producer = threading.Thread(target=produce, args=(s, done))
        producer.start()
        until(lambda: len(done) > BATCHES // 4)
        trouble()
        producer.join(90)
        assert not producer.is_alive()
        until(lambda: len({call[0]["n"] for call in handlers.calls}) == BATCH * BATCHES, timeout=60)
    return Counter(call[0]["n"] for call in handlers.calls)


def test_a_broker_that_is_killed_and_comes_back_loses_nothing(own_rabbit: Rabbit, name: str) -> None:
    s = schedule.create(name, amqp=own_rabbit.url, layout="hutch")

    def trouble() -> None:
        own_rabbit.kill()
        own_rabbit.start()

    runs = play(s, trouble)
    assert set(runs) == set(range(BATCH * BATCHES))
    assert sum(runs.values()) - len(runs) <= 3 * BATCH + 100, "more ran twice than was on its way"


@pytest.mark.parametrize("times", [3])
def test_connections_that_are_cut_lose_nothing(amqp: str, names: Names, times: int) -> None:
    with Relay(int(amqp.rpartition(":")[2].rstrip("/"))) as relay:
        url = f"amqp://guest:guest@127.0.0.1:{relay.port}/"
        s = schedule.create(names.exchange, amqp=url, layout="hutch")

        def trouble() -> None:
            for _ in range(times):
                before = len(handlers.calls)
                relay.cut()
                until(lambda before=before: len(handlers.calls) > before + BATCH)  # type: ignore[misc]

        runs = play(s, trouble)
    assert set(runs) == set(range(BATCH * BATCHES))


def test_a_broker_that_hangs_is_left_and_found_again(
    own_rabbit: Rabbit, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    names = Names(exchange=name, dialect="hutch")
    with closing(HutchBroker(read_address(own_rabbit.url), names=names, patience=1.5)) as broker:
        broker.register(INFO)
        broker.adding([new({"n": 1})])()
        (claim,) = broker.claim(1).claims
        own_rabbit.freeze()
        for act in (lambda: broker.adding([new({"n": 2})])(), lambda: broker.claim(9, ends=[(claim, Done())])):
            with pytest.raises(ServerUnreachable, match="gives no answer in time"):
                act()
        own_rabbit.thaw()
        assert list(broker.claim(9).fenced) in ([claim], [])
        broker.adding([new({"n": 3})])()
        found: set[int] = set()

        def has_come() -> bool:
            found.update(claim.args[0]["n"] for claim in broker.claim(9).claims)
            return 3 in found

        until(has_come)
        own_rabbit.freeze()
        began = time.monotonic()
        broker.close()
        assert time.monotonic() - began < 10
        own_rabbit.thaw()
    assert [record for record in caplog.records if record.name == "asyncio"] == []


@pytest.mark.parametrize("own_rabbit", ["vm_memory_high_watermark.absolute = 1MB"], indirect=True)
def test_a_broker_without_memory_refuses_for_now_and_still_takes_endings(own_rabbit: Rabbit, name: str) -> None:
    names = Names(exchange=name, dialect="hutch")
    broker = HutchBroker(read_address(own_rabbit.url), names=names, patience=1.5)
    with closing(broker):
        broker.register(INFO)
        for _ in range(2):  # the second one at once: the broker has said so
            with pytest.raises(ServerFull, match="takes no messages for now: its memory or disk is full"):
                broker.adding([new({"n": 1})])()
        assert list(broker.claim(1).claims) == []
        broker.leave()


@contextmanager
def impatient(broker: Rabbit, **settings: int) -> Iterator[None]:
    """Change settings of a broker that runs; it forgets them with its process."""
    said = (f"application:set_env(rabbit, {name}, {value})" for name, value in settings.items())
    broker.control("eval", f"{', '.join(said)}.")
    try:
        yield
    finally:
        broker.kill()


def test_a_run_that_takes_longer_than_the_broker_waits_is_fenced_and_others_go_on(
    own_rabbit: Rabbit, name: str
) -> None:
    """The broker closes the channel of a late acknowledgement. Others are deaf from then on."""
    names = Names(exchange=name, dialect="hutch")
    with (
        impatient(own_rabbit, consumer_timeout=1000, channel_tick_interval=200),
        closing(HutchBroker(read_address(own_rabbit.url), names=names)) as broker,
    ):
        broker.register(INFO)
        broker.adding([new({"n": 1})])()
        (slow,) = broker.claim(1).claims
        fenced: list[Any] = []

        def is_fenced() -> bool:
            fenced.extend(broker.beating()().fenced)
            return bool(fenced)

        until(is_fenced)
        assert fenced == [slow]
        (again,) = broker.claim(1).claims
        assert (again.id, again.crashes) == (slow.id, 1)
        assert list(broker.claim(0, ends=[(slow, Done()), (again, Done())]).refused) == [slow]
        broker.adding([new({"n": 2})])()
        (quick,) = broker.claim(1).claims
        assert quick.args == ({"n": 2},)
        broker.claim(0, ends=[(quick, Done())])
