"""Jobs of foreign peers: a listener judges only what it can run, and leaves everything else in S:next as it is."""

from __future__ import annotations

import json
import re
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.contract.doctor import Finding
from workkit.errors import InvalidOptions
from workkit.events import Event

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}
OURS, THEIRS = "#'tests.handlers/note", "#'clj.app/f"
CRONS = ["0 9 * * 1-5", "*/5 * * * * *", "0 0 9 * * MON", "0 0 9 * ? MON-FRI 2030", "at noon", "", "* * * * * * * *"]
PARTS: dict[str, dict[str, Any]] = {
    "no cron": {"cron": None},
    "args are an object": {"args": {"a": 1}},
    "kwargs are a list": {"kwargs": [1]},
    "opts are a text": {"opts": "x"},
}


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


def stored(client: Any, name: str, fn: str | None, due: float = 1394012056000, **fields: Any) -> str:
    """Store a job by hand, as a foreign producer does."""
    payload = {"args": [], "cron": "2014 3 5 * 9 34 16", "job": fn} | fields
    data = json.dumps({key: value for key, value in payload.items() if value is not None}).encode()
    client.hset(f"{name}:jobs", wire.job_id(data), data)
    client.zadd(f"{name}:next", {wire.item(wire.job_id(data)): due})
    return wire.job_id(data)


def waits(client: Any, name: str) -> dict[str, float]:
    return {wire.read_item(item).id: due for item, due in client.zrange(f"{name}:next", 0, -1, withscores=True)}


def findings(s: schedule.Schedule, server: Server) -> dict[str, Finding]:
    doctor = open_broker(s.name, redis=server.url).doctor
    return {finding.kind: finding for finding in doctor.checkup(patience_ms=86_400_000)}


@pytest.mark.parametrize("fields", [*({"cron": cron} for cron in CRONS), *PARTS.values()], ids=[*CRONS, *PARTS])
def test_a_listener_leaves_a_job_whose_function_it_cannot_run(
    s: schedule.Schedule, client: Any, seen: list[Event], fields: dict[str, Any]
) -> None:
    id = stored(client, s.name, THEIRS, **fields)
    with schedule.listener(s, **HOW):
        until(lambda: any(event.name == "cannot_run" for event in seen))
        schedule.add_now(s, handlers.note, args=["ours"])
        until(lambda: handlers.calls == [("ours",)])
    assert waits(client, s.name) == {id: 1394012056000}
    assert not client.exists(f"{s.name}:dead", f"{s.name}:again", f"{s.name}:crashed")
    assert client.hexists(f"{s.name}:jobs", id)


@pytest.mark.parametrize("fields", [*({"cron": cron} for cron in CRONS), *PARTS.values()], ids=[*CRONS, *PARTS])
def test_a_listener_judges_a_job_whose_function_it_can_run(
    s: schedule.Schedule, client: Any, seen: list[Event], fields: dict[str, Any]
) -> None:
    id = stored(client, s.name, OURS, **fields)
    with schedule.listener(s, **HOW):
        if fields.get("cron") == "0 0 9 * ? MON-FRI 2030":  # of the other dialect: its own listeners read it
            until(lambda: any(event.name == "cannot_run" for event in seen))
        else:
            until(lambda: [job.id for job in schedule.jobs(s, state="dead")] == [id])
            assert [event.fields["job_id"] for event in seen if event.name == "corrupt"] == [id]
            assert waits(client, s.name) == {}
    assert handlers.calls == []


@pytest.mark.parametrize("payload", [{}, {"fn": ""}, {"fn": 5}])
def test_a_job_that_names_no_function_is_dead(
    s: schedule.Schedule, client: Any, seen: list[Event], payload: dict[str, Any]
) -> None:
    id = stored(client, s.name, payload.get("fn"), cron="0 9 * * 1-5")
    with schedule.listener(s, **HOW):
        until(lambda: [job.id for job in schedule.jobs(s, state="dead")] == [id])


def test_drain_leaves_and_judges_alike(s: schedule.Schedule, client: Any, seen: list[Event]) -> None:
    theirs, ours = (stored(client, s.name, fn, cron="0 9 * * 1-5") for fn in (THEIRS, OURS))
    assert schedule.drain(s, **HOW).ran == 0
    assert waits(client, s.name) == {theirs: 1394012056000}
    assert [job.id for job in schedule.jobs(s, state="dead")] == [ours]


def test_a_cancelled_job_that_cannot_be_read_is_over(s: schedule.Schedule, client: Any) -> None:
    id = stored(client, s.name, THEIRS, cron="0 9 * * 1-5")
    client.zadd(f"{s.name}:cancelled", {id: time.time() * 1000})
    schedule.drain(s, **HOW)
    assert not client.exists(f"{s.name}:jobs", f"{s.name}:next", f"{s.name}:cancelled")


def test_a_checkup_offers_no_repair_for_a_job_that_a_foreign_peer_may_run(
    s: schedule.Schedule, server: Server, client: Any
) -> None:
    ids = {stored(client, s.name, THEIRS, cron=cron, due=9e12) for cron in ("0 9 * * 1-5", "0 0 9 * * MON")}
    odd = stored(client, s.name, THEIRS, cron="*/5 * * * *", due=1e300)
    found = findings(s, server)
    assert "unreadable" not in found
    assert found["cron"].what.startswith("3 jobs are at times that this dialect cannot read, ")
    assert not found["cron"].repairs
    assert set(found["cron"].about) == ids | {odd}
    doctor = open_broker(s.name, redis=server.url).doctor
    assert [kind for kind, finding in found.items() if doctor.repair(finding)] == ["score-range"]
    assert set(waits(client, s.name)) == ids | {odd}
    assert not client.exists(f"{s.name}:dead")


def test_a_checkup_names_the_function_that_no_listener_can_run(
    s: schedule.Schedule, server: Server, client: Any, seen: list[Event]
) -> None:
    id = stored(client, s.name, THEIRS, cron="0 9 * * 1-5")
    with schedule.listener(s, **HOW):
        until(lambda: any(event.name == "cannot_run" for event in seen))
        until(lambda: "nobody-runs" in findings(s, server))
        finding = findings(s, server)["nobody-runs"]
    assert finding.about == (id,)
    assert re.match(r"clj.app.f: the listener cannot run it \(1 job: ", finding.what)


def test_a_recurring_job_that_no_listener_can_run_is_not_run_by_hand(
    s: schedule.Schedule, client: Any, seen: list[Event]
) -> None:
    id = stored(client, s.name, THEIRS, cron="* * * * * * *")
    with schedule.listener(s, **HOW):
        until(lambda: any(event.name == "cannot_run" for event in seen))
        until(lambda: waits(client, s.name))
        with pytest.raises(InvalidOptions, match="cannot be run by the listener, and foreign peers run it"):
            schedule.run(s, id)
    assert not client.exists(f"{s.name}:again", f"{s.name}:slots")
    assert schedule.job(s, id).state == "due"


def test_a_stop_gives_back_a_claim_whose_function_is_still_looked_up(
    s: schedule.Schedule, client: Any, tmp_path: Path, seen: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = f"slow_{s.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text("import time\nopen(__file__ + '.begun', 'w').close()\ntime.sleep(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    id = stored(client, s.name, f"#'{module}/f")
    before = threading.active_count()
    with schedule.listener(s, folder=tmp_path, deadline="0.2s") as listener:
        until((tmp_path / f"{module}.py.begun").exists)
        listener.stop()
        listener.wait()
    assert waits(client, s.name) == {id: 1394012056000}
    assert not client.exists(f"{s.name}:listeners", f"{s.name}:again", f"{s.name}:crashed")
    until(lambda: threading.active_count() <= before)


def test_a_listener_reads_the_cron_of_its_jobs_in_the_published_dialect(s: schedule.Schedule, client: Any) -> None:
    now = datetime.now(UTC)
    stored(client, s.name, OURS, cron=f"{now.year} {now.month} {now.day} * 0 0 0", args=["x"])
    handlers.calls.clear()
    assert schedule.drain(s, **HOW).ran == 1
    assert handlers.calls == [("x",)]
