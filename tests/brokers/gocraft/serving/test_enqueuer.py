"""Pools that are told of periodic jobs: they enqueue as Go pools do, byte for byte, and each run once."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.brokers.gocraft.serving.fleet import Namespace
from tests.brokers.gocraft.test_periodic import STARTS
from tests.processes import until
from tests.servers import Server
from workkit import current_job, errors, job, schedule
from workkit.brokers.gocraft import upkeep
from workkit.brokers.gocraft.broker import GocraftBroker
from workkit.contract.listener import ListenerInfo, Serving
from workkit.jobs.run_options import RunOptions

pytestmark = pytest.mark.parametrize("server", ["redis"], indirect=True)  # nothing here depends on the product
EACH_MINUTE = RunOptions(periodic=("0 * * * * *",))


def pool(ns: Namespace, **options: RunOptions) -> GocraftBroker:
    """Register a pool that serves these names with these options."""
    broker = ns.broker()
    ns._open.append(broker)
    serves = {name: Serving(options=one) for name, one in options.items()}
    broker.register(ListenerInfo(listener="", host="here", pid=7, version="0", schedules={}, threads=2, serves=serves))
    return broker


def members(ns: Namespace, key: str) -> list[dict[str, Any]]:
    return [json.loads(text) for text in ns.raw.zrange(key, 0, -1)]


def again(broker: GocraftBroker, ns: Namespace) -> None:
    """Let it be time to enqueue again."""
    ns.raw.delete(ns.keys.last_periodic_enqueue)
    broker._enqueuer._at = 0.0
    broker.maintain()


@pytest.mark.parametrize("case", range(len(STARTS)))
def test_a_pool_adds_the_members_that_go_added(ns: Namespace, case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "local_zone", lambda: ZoneInfo("UTC"))
    recorded, now, added = STARTS[case]
    specs: dict[str, list[str]] = {}
    for spec, name in recorded["periodic"]:
        specs.setdefault(name, []).append(spec)
    ours = upkeep.Enqueuer(ns.producer._server, keys=ns.keys)
    ours.tell({name: Serving(options=RunOptions(periodic=tuple(texts))) for name, texts in specs.items()})
    sent: list[Any] = []

    def call(*request: Any) -> int:
        sent.append(request)
        return 1

    monkeypatch.setattr(ours._server, "call", call)
    ours.enqueue(list(specs), now_ms=now * 1000)
    ((_, _, args),) = sent
    rows = [args[at : at + 3] for at in range(2, len(args), 3)]
    assert sorted((str(second), text.decode()) for _, second, text in rows) == sorted((c[2], c[3]) for c in added)


def test_a_pool_adds_the_runs_of_four_minutes_and_then_the_time(ns: Namespace) -> None:
    ours = pool(ns, clean=EACH_MINUTE)
    ours.beating()()
    before = int(ns.raw.time()[0])
    ours.maintain()
    found = members(ns, ns.keys.scheduled)
    assert len(found) in (3, 4)
    for text in found:
        assert text["t"] % 60 == 0
        assert text == {"name": "clean", "id": f"periodic:clean:0 * * * * *:{text['t']}", "t": text["t"], "args": None}
    assert before <= int(ns.raw.get(ns.keys.last_periodic_enqueue)) <= before + 5
    again(ours, ns)
    other = pool(ns, clean=EACH_MINUTE)
    again(other, ns)
    assert len(members(ns, ns.keys.scheduled)) in (len(found), len(found) + 1)


def test_a_pool_waits_where_another_has_just_enqueued_its_own(ns: Namespace) -> None:
    ours = pool(ns, clean=EACH_MINUTE)
    ns.raw.set(ns.keys.last_periodic_enqueue, int(ns.raw.time()[0]))
    ours.maintain()
    assert not ns.raw.exists(ns.keys.scheduled)
    ns.raw.set(ns.keys.last_periodic_enqueue, int(ns.raw.time()[0]) - 4)
    ours._enqueuer._at = 0.0
    ours.maintain()
    assert ns.raw.exists(ns.keys.scheduled)
    assert ours._enqueuer._at - time.monotonic() > 50


def test_runs_have_the_arguments_of_the_handler(ns: Namespace) -> None:
    ours = pool(ns, clean=RunOptions(periodic=("* * * * * *",), periodic_args={"b": "<", "a": 2**60}))
    ours.maintain()
    assert ns.raw.zcard(ns.keys.scheduled) in range(236, 240)
    text = ns.raw.zrange(ns.keys.scheduled, 0, 0)[0]
    assert text.endswith(b'"args":{"a":1152921504606846976,"b":"\\u003c"}}')


def test_every_is_counted_from_the_start_of_the_pool(ns: Namespace) -> None:
    ours = pool(ns, tick=RunOptions(periodic=("@every 50s",)))
    ours.maintain()
    first = {text["t"] for text in members(ns, ns.keys.scheduled)}
    ours._enqueuer._at = 0.0
    start = ours._enqueuer._start or 0
    ours._enqueuer.enqueue(["tick"], now_ms=(start + 70) * 1000)
    assert first == {start + 50 * n for n in range(1, 5)}
    assert {text["t"] for text in members(ns, ns.keys.scheduled)} == {start + 50 * n for n in range(1, 7)}


def test_runs_that_a_go_pool_would_bury_are_held_unless_a_go_pool_adds_them(ns: Namespace) -> None:
    ours = pool(ns, clean=EACH_MINUTE)
    ns.go_pool("other")
    ours.maintain()
    held = ns.raw.zrange(ns.keys.held, 0, -1)
    assert len(held) in (3, 4)
    assert not ns.raw.exists(ns.keys.scheduled)
    for text in held:  # as a Go pool that is told of the same job
        ns.raw.zadd(ns.keys.scheduled, {text: json.loads(text)["t"]})
    again(ours, ns)
    assert not set(ns.raw.zrange(ns.keys.held, 0, -1)) & set(held)
    assert set(held) <= set(ns.raw.zrange(ns.keys.scheduled, 0, -1))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (RunOptions(periodic=("0 0 25 * * *",)), errors.CronError),
        (RunOptions(periodic=("@daily",), periodic_args={"a": float("nan")}), errors.InvalidArguments),
    ],
)
def test_a_pool_refuses_what_no_run_can_have(ns: Namespace, options: RunOptions, error: type[Exception]) -> None:
    with pytest.raises(error):
        pool(ns, clean=options)
    assert not ns.raw.exists(ns.keys.worker_pools)


seen: list[str] = []


@job("each", periodic="* * * * * *")
def each() -> None:
    seen.append(str(current_job().id))


def test_a_listener_runs_its_periodic_jobs_each_once_beside_a_go_pool(
    ns: Namespace, processes: Any, peer: Path, server: Server
) -> None:
    """The Go pool knows the same spec; each run that it does stands in its log."""
    log = processes.folder / "ran"
    s = schedule.create(ns.name, redis=ns.url, layout="gocraft")
    go = processes.run(
        str(peer), "pool", ns.name, "--jobs", "each:1", "--redis", f"127.0.0.1:{server.port}", "--log", str(log),
        "--periodic", "* * * * * *=each", "--sleeps", "0,50", "--requeue", "100ms",
    )  # fmt: skip
    go.wait_for('"started"')
    with schedule.listener(s, imports=[], folder=None, jobs=["each"]):
        until(lambda: ns.raw.scard(ns.keys.worker_pools) == 2)
        began = int(time.time())
        until(lambda: seen and int(time.time()) > began + 5, timeout=20)
    go.close()
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    theirs = [line["id"] for line in lines if line["event"] == "end"]
    every = theirs + seen
    assert len(every) == len(set(every)), "no run took place twice"
    seconds = sorted(int(id.rpartition(":")[2]) for id in every)
    assert set(range(began + 1, began + 5)) <= set(seconds), "and none was left out"
