"""What is changed by hand on our side is honoured by pools of the Go peer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.brokers.gocraft import go_peer
from tests.brokers.gocraft.go_peer import Driver
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.processes import until
from tests.servers import Server
from workkit.contract.admin import Paused, Resumed
from workkit.errors import Unsupported
from workkit.jobs.admission import Pause

QUICK = [0, 5]  # milliseconds between two looks of an idle worker


class GoPool:
    """A pool of the peer, and the jobs that it has begun."""

    def __init__(self, driver: Driver, *jobs: dict[str, Any]) -> None:
        self._driver, self._begun = driver, list[dict[str, Any]]()
        how = {"concurrency": 1, "jobs": list(jobs), "sleep_backoffs": QUICK, "ns": "gv"}
        driver.ask({"op": "pool", "id": "A", **how})
        driver.ask({"op": "start", "id": "A", "ns": "gv"})

    def begun(self) -> list[dict[str, Any]]:
        self._begun += [event["job"] for event in self._driver.news() if event.get("event") == "run"]
        return self._begun

    def until_begun(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        def found() -> list[dict[str, Any]]:
            here = [job for job in self.begun() if job["name"] == name]
            return here if len(here) >= count else []

        until(found, what=f"{count} runs of {name}")
        return found()


@pytest.fixture
def ns(go_server: Server) -> Iterator[Namespace]:
    with go_peer.database(go_server, 0) as client:
        client.flushdb()
    with closing(Namespace(go_server, "gv")) as opened:
        yield opened


@pytest.fixture
def driver(peer: Path, go_server: Server) -> Iterator[Driver]:
    own = Driver(peer, port=go_server.port, database=0)
    yield own
    own.close()


def test_a_go_pool_takes_nothing_of_a_paused_name_or_namespace(ns: Namespace, driver: Driver) -> None:
    ns.producer.admin.steer(Paused("fn:export", Pause(reason="disk full")))
    pool = GoPool(driver, {"name": "export"}, {"name": "other"})
    ns.add("export", {"i": 1})
    for _ in range(20):
        ns.add("other")
    pool.until_begun("other", 20)
    assert {job["name"] for job in pool.begun()} == {"other"}
    ns.producer.admin.steer(Resumed("fn:export"))
    pool.until_begun("export")
    ns.producer.admin.steer(Paused("schedule", Pause(until_ms=ns.producer.now_ms() + 1000)))
    ns.add("export", {"i": 2})
    paused_at = ns.producer.now_ms()
    pool.until_begun("export", 2)
    assert ns.producer.now_ms() - paused_at > 800, "the pause ends by itself"


def test_a_go_pool_runs_what_is_retried_and_run_by_hand(ns: Namespace, driver: Driver) -> None:
    pool = GoPool(driver, {"name": "export"})
    text = b'{"name":"export","id":"%s","t":1500000000,"args":{"n":%d},"x":[],"fails":4,"err":"boom","failed_at":1}'
    ns.raw.zadd(ns.keys.dead, {text % (b"d" * 24, 1): 1})
    ns.raw.zadd(ns.keys.held, {text % (b"e" * 24, 2): 4e9})
    (dead,) = ns.producer.inspector.jobs(state="dead")
    assert ns.producer.admin.retry([dead]) == ["revived"]
    (ran,) = pool.until_begun("export")
    assert (ran["id"], ran["args"], ran.get("fails"), ran.get("err")) == ("d" * 24, {"n": 1}, None, None)
    ns.producer.admin.run(ns.producer.inspector.job("e" * 24))
    again = pool.until_begun("export", 2)[1]
    assert (again["id"], again["fails"], again["err"]) == ("e" * 24, 4, "boom")


def test_a_run_in_a_go_pool_goes_on_when_its_cancellation_is_refused(ns: Namespace, driver: Driver) -> None:
    pool = GoPool(driver, {"name": "export", "do": [{"block": "gate"}]})
    id = ns.add("export")
    pool.until_begun("export")
    with pytest.raises(Unsupported):
        ns.producer.admin.cancel(ns.producer.inspector.job(id))
    driver.ask({"op": "open", "name": "gate", "ns": "gv"})
    until(lambda: not list(ns.producer.inspector.jobs()), what="the job to end")
    assert ns.raw.get(ns.keys.lock("export")) == b"0"
