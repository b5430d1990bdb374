"""Unique jobs: Go's keys and lives, and by-key duplicates that complete."""

from __future__ import annotations

from typing import Any

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace, end
from tests.contract.lossy import Lossy
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.brokers.gocraft.text import read, rewrite
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.server import PendingCalls
from workkit.contract.listener import ListenerInfo, Serving
from workkit.errors import ServerUnreachable
from workkit.jobs.outcome import Again, Done, Failure
from workkit.jobs.terms import instant_of

KEY = '{"my_key":"586"}'


def test_by_content_a_second_one_is_dropped_until_a_worker_takes_the_first(ns: Namespace) -> None:
    ns.add("export", {"a": 1}, once=True)
    key = f"{ns.keys.prefix}unique:export:" + '{"a":1}\n'
    assert ns.raw.get(key) == b"1"
    assert 86_390 < ns.raw.ttl(key) <= 86_400
    assert ns.add("export", {"a": 1}, once=True) == ""
    assert ns.raw.llen(ns.keys.queue("export")) == 1
    pool = ns.pool("export")
    (claim,) = pool.claim(5).claims
    assert not ns.raw.exists(key)
    assert ns.add("export", {"a": 1}, once=True)
    end(pool, [claim], Done())
    assert ns.raw.get(key) == b"1", "the ending of the first leaves the key of the second"


def test_by_key_the_last_text_runs_and_completes(ns: Namespace) -> None:
    ns.add("clear", {"o": 1}, key=KEY)
    last = ns.add("clear", {"o": 2}, key=KEY)
    key = f"{ns.keys.prefix}unique:clear:{KEY}\n"
    assert read(ns.raw.get(key)).id == last
    pool = ns.pool("clear")
    (claim,) = pool.claim(5).claims
    assert (claim.id, claim.kwargs) == (last, {"o": 2})
    assert not ns.raw.exists(key)
    end(pool, [claim], Done())
    assert ns.in_progress("clear", pool.listener) == []
    assert ns.lock("clear", pool.listener) == (0, 0)


def test_a_crash_of_the_pool_keeps_the_text_that_ran(ns: Namespace) -> None:
    ns.add("clear", {"o": 1}, key=KEY)
    ns.add("clear", {"o": 2}, key=KEY)
    gone, other = ns.pool("clear"), ns.pool("clear")
    gone.claim(5)
    ns.raw.hset(ns.keys.worker_pool(gone.listener), "heartbeat_at", 1)
    other.beating()()
    other.maintain()
    (claim,) = other.claim(5).claims
    assert claim.kwargs == {"o": 2}


def test_a_retry_leaves_the_key_of_a_newer_job(ns: Namespace) -> None:
    ns.add("clear", {"o": 1}, key=KEY)
    pool = ns.pool("clear")
    failed = Again(delay_ms=0, attempt=1, failure=Failure(type="E", message="x"))
    end(pool, pool.claim(1).claims, failed)
    ns.add("clear", {"o": 2}, key=KEY)
    first, second = pool.claim(5).claims
    assert [first.kwargs, second.kwargs] == [{"o": 1}, {"o": 2}]


@pytest.mark.parametrize(("days", "life"), [(0.5, 86_400), (3, 4 * 86_400)])
def test_a_key_outlives_the_wait_of_its_job(ns: Namespace, days: float, life: int) -> None:
    ns.add("export", {"a": 1}, once=True, due_ms=ns.producer.now_ms() + round(days * 86_400_000))
    (key,) = ns.raw.keys("*unique:export*")
    assert abs(ns.raw.ttl(key) - life) <= 2


class LosesOne(Lossy):
    """Loses the reply of this number."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.losing = 0

    def answers(self, asked: PendingCalls) -> list[Any]:
        self.losing -= 1
        self.lose = int(self.losing == 0)
        return super().answers(asked)


@pytest.mark.parametrize("losing", [1, 2])
def test_a_lost_reply_on_the_way_to_a_unique_job_loses_no_update(ns: Namespace, losing: int) -> None:
    lossy = LosesOne(connect(ns.url))
    pool = GocraftBroker(lossy, schedule=ns.name)  # type: ignore[arg-type]
    pool.register(
        ListenerInfo(listener="", host="", pid=1, version="0", schedules={}, threads=1, serves={"clear": Serving()})
    )
    ns.add("clear", {"o": 1}, key=KEY)
    ns.add("clear", {"o": 2}, key=KEY)
    lossy.losing = losing
    with pytest.raises(ServerUnreachable):
        pool.claim(5)
    (claim,) = pool.claim(5).claims
    assert claim.kwargs == {"o": 2}
    assert end(pool, [claim], Done()).refused == []
    assert ns.lock("clear", pool.listener) == (0, 0)
    assert ns.in_progress("clear", pool.listener) == []
    pool.close()


def test_what_runs_in_place_of_a_listed_job_is_not_due_before_it(ns: Namespace) -> None:
    """The text in the key keeps the time of its addition, though the job became due only now."""
    due_ms = ns.producer.now_ms() + 3_600_000
    ns.add("clear", {"o": 1}, key=KEY, due_ms=due_ms)
    ns.add("clear", {"o": 2}, key=KEY, due_ms=due_ms)
    pool = ns.pool("clear")
    assert pool.claim(0).claims == []
    text = ns.raw.zrange(ns.keys.scheduled, 0, 0)[0]
    ns.raw.zrem(ns.keys.scheduled, text)
    ns.raw.lpush(ns.keys.queue("clear"), rewrite(text, t=due_ms // 1000 + 1))  # as the pool that moves it
    (listed,) = ns.producer.inspector.jobs()
    (claim,) = pool.claim(5).claims
    assert claim.kwargs == {"o": 2}
    assert claim.due_ms == due_ms // 1000 * 1000 + 1000
    assert listed.due == claim.job.due == instant_of(claim.due_ms)
    end(pool, [claim], Done())
    ns.add("clear", {"o": 3}, key=KEY)
    (claim,) = pool.claim(5).claims
    assert abs(claim.due_ms - ns.producer.now_ms()) < 10_000, "a job of its own is due when it was added"
