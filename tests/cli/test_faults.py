"""`doctor` and `wire verify` over the same broken records: one walker, one judge, one set of names."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.servers import Server
from workkit import wire
from workkit.brokers.native.doctor.judge import FAULTS

SCENARIOS = Path(__file__).parents[2] / "interop" / "scenarios"
DUE = 4_102_444_800_000
OURS = b'{"id":"%b"}'
OF_THE_SERVER = {"no-append-file", "overdue", "no-listener", "nobody-runs"}


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """Let the second look follow at once; the moment between the looks is for foreign peers, and none is here."""
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    monkeypatch.setenv("WORKKIT_REDIS_URL", server.url)


def payload(**changed: Any) -> bytes:
    extra = {name: value for name, value in changed.items() if name not in ("cron", "job", "args")}
    return wire.payload(
        cron=changed.get("cron", "* * * * 9 0 0"),
        job=changed.get("job", "#'app/hi"),
        args=changed.get("args", []),
        extra=extra,
    )


GOOD = payload()


@pytest.mark.parametrize(
    ("jobs", "items", "kinds"),
    [
        ([b"[]"], {OURS: DUE}, ["unreadable"]),
        ([b"\xff"], {}, ["unreadable"]),
        ([payload(job="")], {OURS: DUE}, []),
        ([payload(job="", cron="x")], {OURS: DUE}, ["cron"]),
        ([payload(cron="x")], {OURS: DUE}, ["cron"]),
        ([payload(cron="2026 2 30 * 24 0 0")], {OURS: DUE}, ["cron"]),
        ([payload(cron="x", local=["* * * * 9 0 0"], zone="Europe/Paris")], {OURS: DUE}, []),
        ([payload(cron="x", interval={"seconds": 90})], {OURS: DUE}, []),
        ([payload(cron="x", interval={"days": 2})], {OURS: DUE}, ["cron"]),
        ([payload(interval={"seconds": 0})], {OURS: DUE}, ["unclear"]),
        ([payload(cron="0 0 9 * * 1 2027")], {OURS: DUE}, ["other-dialect"]),
        ([payload(kwargs=[1])], {OURS: DUE}, ["unclear"]),
        ([payload(opts={"retries": "3"})], {}, ["unclear"]),
        ([GOOD], {}, ["no-item"]),
        ([GOOD], {OURS: 0.5}, ["score"]),
        ([GOOD], {OURS: float("inf")}, ["score"]),
        ([GOOD], {OURS: -1}, ["score-range"]),
        ([GOOD], {OURS: 1e17}, ["score-range"]),
        ([GOOD], {OURS: DUE, b"\xff": 5}, ["item"]),
        ([GOOD], {OURS: DUE, b'{"id":"\\ud800"}': 5}, ["item"]),
        ([GOOD], {OURS: DUE, b'{"id":"gone"}': 5}, ["no-job"]),
        ([GOOD], {OURS: DUE, b'{"id":"gone"}': 0.5}, ["no-job"]),
        ([payload(cron="0 0 9 * * 1 2027")], {OURS: 0.5}, ["other-dialect", "score"]),
        ([b"[]", GOOD], {OURS: 0.5}, ["score", "unreadable"]),
        ([GOOD], {OURS: DUE}, []),
    ],
    ids=str,
)  # fmt: skip
def test_a_broken_record_has_one_name_in_both_commands(
    run: Run, server: Server, name: str, jobs: list[bytes], items: Mapping[bytes, float], kinds: list[str]
) -> None:
    """`%b` in an item stands for the id of the last job."""
    client = server.client()
    for data in jobs:
        client.hset(f"{name}:jobs", wire.job_id(data), data)
    for item, score in items.items():
        client.zadd(f"{name}:next", {item.replace(b"%b", wire.job_id(jobs[-1]).encode()): score})
    assert sorted(doctor_kinds(run, name)) == kinds
    assert set(kinds) <= set(verify_kinds(run, name))


def test_an_id_that_is_no_text_has_one_name_in_both_commands(run: Run, server: Server, name: str) -> None:
    server.client().hset(f"{name}:jobs", b"\xff", GOOD)
    assert doctor_kinds(run, name) == ["unreadable"]
    assert "unreadable" in verify_kinds(run, name)
    server.client().delete(f"{name}:jobs")
    server.client().hset(f"{name}:jobs", "\ufffd", GOOD)
    server.client().zadd(f"{name}:next", {'{"id":"\ufffd"}': DUE})
    assert doctor_kinds(run, name) == []
    assert "unreadable" not in verify_kinds(run, name)


def test_what_verify_says_is_repaired_is_what_the_doctor_repairs(run: Run, server: Server, name: str) -> None:
    client = server.client()
    for data in (b"[]", payload(cron="x"), payload(job="", cron="x"), payload(kwargs=[1]), GOOD):
        client.hset(f"{name}:jobs", wire.job_id(data), data)
    client.zadd(f"{name}:next", {b"\xff": 5, b'{"id":"gone"}': 5, wire.item(wire.job_id(payload(cron="x"))): 0.5})
    promised = {record["kind"] for record in json.loads(run("wire", "verify", name, "--json").out) if record["repairs"]}
    repaired = {record["kind"] for record in json.loads(run("doctor", name, "--json").out) if record["repairs"]}
    assert promised == repaired == {"unreadable", "cron", "no-item", "item", "no-job", "score"}


def test_the_doctor_has_no_other_names_for_what_the_judge_names(run: Run, server: Server, name: str) -> None:
    """Names of the published keys come from the table of the judge; the others are of keys of our own."""
    client = server.client()
    client.hset(f"{name}:jobs", mapping={wire.job_id(b"[]"): b"[]", "J": GOOD})
    client.zadd(f"{name}:next", {b"x": 1})
    assert set(doctor_kinds(run, name)) <= {kind.name for kind in FAULTS}


def test_scenarios_between_peers_name_faults_that_there_are() -> None:
    steps = [step for file in SCENARIOS.glob("*.json") for step in json.loads(file.read_text())["steps"]]
    finds = {step["doctor"]["finds"] for step in steps if "doctor" in step}
    assert finds
    assert finds <= {kind.name for kind in FAULTS}


def doctor_kinds(run: Run, name: str) -> list[str]:
    records = json.loads(run("doctor", name, "--json").out)
    return [record["kind"] for record in records if record["kind"] not in OF_THE_SERVER]


def verify_kinds(run: Run, name: str) -> list[str]:
    return [record["kind"] for record in json.loads(run("wire", "verify", name, "--json").out)]
