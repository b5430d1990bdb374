"""What the doctor finds of groups, and repairs: batches that nobody fills, members that are lost or belong to no group,
jobs that wait for a group that is gone, and values that cannot be read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from unittest.mock import patch

import msgpack
import pytest

from tests.brokers.checkups import DAY, ran, registered, repaired
from tests.brokers.checkups import found as checked
from tests.processes import until
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.broker import Doctor
from workkit.contract.doctor import Finding

pytestmark = pytest.mark.usefixtures("second_look_at_once", "closed_brokers")
NAME = "import 2027-03-01"


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


@pytest.fixture(autouse=True)
def listening(server: Server, name: str) -> NativeBroker:
    """A listener, so that no finding tells of none."""
    return registered(server, name)


def filled(s: schedule.Schedule, name: str = NAME, *, open: bool = False, **how: Any) -> list[str]:
    """A batch of three jobs; the ids of these. `open`: its producer died before it sent a fourth one."""
    with patch("workkit.verbs.batch.STEP", 3), suppress(KeyError), schedule.batch(s, name, **how) as batch:
        ids = [batch.add("tests.handlers:note", args=[name, n]).id for n in range(3 + open)]
        if open:
            raise KeyError
    return ids[:3]


def found(doctor: Doctor) -> list[Finding]:
    return [f for f in checked(doctor) if f.kind not in ("overdue", "no-listener")]


def group_id(client: Any, name: str) -> bytes:
    (id,) = client.hkeys(f"{name}:groups")
    return bytes(id)


def test_groups_that_are_well_are_no_finding(s: schedule.Schedule, doctor: Doctor) -> None:
    filled(s, then="tests.handlers:note")
    first = schedule.add(s, "tests.handlers:note", in_="1 hour")
    schedule.add_now(s, "tests.handlers:note", args=["after"], after=first)
    filled(s, "open", open=True)
    assert found(doctor) == []
    ran(s)
    assert found(doctor) == []


def test_a_batch_that_nobody_fills_for_a_day_is_abandoned(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    filled(s, open=True)
    id = group_id(client, name)
    value = client.hget(f"{name}:groups", id)
    record = msgpack.unpackb(value[1:])
    for age, kinds in ((DAY - 60_000, []), (3 * DAY, ["abandoned"])):
        aged = record | {key: record[key] - age for key in ("made", "added") if key in record}
        client.hset(f"{name}:groups", id, value[:1] + msgpack.packb(aged))
        assert [f.kind for f in found(doctor)] == kinds
    (finding,) = found(doctor)
    assert finding.what == f'the batch "{NAME}" is open, and no job was added to it for 3 d'
    assert f"workkit batch resume {name} '{NAME}' --close" in finding.remedy
    assert f"workkit batch cancel {name} '{NAME}'" in finding.remedy
    assert not finding.repairs


@pytest.mark.parametrize("open", [True, False])
def test_what_is_left_of_a_batch_that_is_gone_is_let_go(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor, open: bool
) -> None:
    filled(s, open=open, then=None if open else "tests.handlers:note")
    id = group_id(client, name).decode()
    client.delete(f"{name}:groups")
    (finding,) = found(doctor)
    assert finding.kind == "hung"
    waits = "3 jobs wait" if open else "1 job waits"
    assert finding.what == f"the group {id} is gone; 3 members are left, and {waits} for it"
    repaired(doctor, finding)
    assert found(doctor) == []
    assert ran(s) == (3 if open else 4)


def test_a_job_that_waits_for_a_group_that_is_gone_runs(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    first = schedule.add(s, "tests.handlers:note", in_="1 hour")
    schedule.add_now(s, "tests.handlers:note", args=["after"], after=first)
    client.delete(f"{name}:groups")
    (finding,) = found(doctor)
    assert finding.what.endswith("is gone; 1 member is left, and 1 job waits for it")
    repaired(doctor, finding)
    assert found(doctor) == []
    assert (client.exists(f"{name}:members", f"{name}:feeds"), ran(s)) == (0, 1)


def test_a_job_that_waits_for_a_group_that_has_ended_runs(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    filled(s, then="tests.handlers:note")
    id = group_id(client, name)
    client.hset(f"{name}:groups", id, b"d" + client.hget(f"{name}:groups", id)[1:])
    (finding,) = found(doctor)
    assert (finding.kind, finding.what) == ("hung", f"the group {id.decode()} has ended, and 1 job waits for it")
    repaired(doctor, finding)
    assert ran(s) == 4


def test_a_member_that_is_gone_ends_as_lost(s: schedule.Schedule, client: Any, name: str, doctor: Doctor) -> None:
    ids = filled(s, then="tests.handlers:note")
    client.hdel(f"{name}:jobs", ids[0])
    client.zrem(f"{name}:next", wire.item(ids[0]))
    (finding,) = found(doctor)
    assert finding.kind == "lost-member"
    assert finding.what == f'1 member of the batch "{NAME}" ({ids[0][:8]}) is gone and has not ended'
    assert finding.about == (ids[0],)
    repaired(doctor, finding)
    assert found(doctor) == []
    state = schedule.batch(s, NAME).state()
    assert (state.lost, state.waiting) == (1, 2)
    assert ran(s) == 3


def test_values_of_groups_that_cannot_be_read_are_removed(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    filled(s)
    client.hset(f"{name}:groups", mapping={"f" * 16: b"q\x80", "e" * 16: b"r\xff", "short": b"r\x80"})
    client.hset(f"{name}:ends", "f" * 40, "dead yesterday")
    client.hset(f"{name}:rows", "f" * 16, b"\x91\x90")
    client.zadd(f"{name}:members", {b"12345678": 0, b"12345678?" + b"x" * 20: 0})
    client.zadd(f"{name}:feeds", {b"no group": 0})
    findings = found(doctor)
    assert [f.kind for f in findings] == ["unread"] * 8
    for finding in findings:
        repaired(doctor, finding)
    assert found(doctor) == []
    assert ran(s) == 3


def test_a_run_that_will_not_come_ends_as_lost(s: schedule.Schedule, client: Any, name: str, doctor: Doctor) -> None:
    nightly = schedule.add(s, "tests.handlers:note", every="day at 2am", name="nightly")
    last = schedule.add_now(s, "tests.handlers:note", args=["after"], after="nightly", on_death="run")
    client.hdel(f"{name}:jobs", nightly.id)
    client.zrem(f"{name}:next", wire.item(nightly.id))
    (finding,) = found(doctor)
    assert (
        finding.what == f"1 member of the group of job {last.short_id} ({nightly.short_id}) is gone and has not ended"
    )
    repaired(doctor, finding)
    assert found(doctor) == []
    assert ran(s) == 1


def test_rows_of_an_open_batch_are_no_finding_and_lost_ones_run(
    s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    with patch("workkit.verbs.batch.STEP", 2), suppress(KeyError), schedule.batch(s, NAME) as batch:
        for n in range(7):
            batch.add("tests.handlers:note", args=[n])
        raise KeyError
    assert client.hlen(f"{name}:rows") == 2
    second = int(client.time()[0])
    assert until(lambda: client.time()[0] > second)  # their last time is over
    assert not [f for f in checked(doctor, patience_ms=0) if f.kind == "no-item"]
    client.hdel(f"{name}:rows", group_id(client, name) + b" 2")
    with schedule.batch(s, NAME) as batch:
        for n in range(7):
            batch.add("tests.handlers:note", args=[n])
    findings = [f for f in checked(doctor, patience_ms=0) if f.kind == "no-item"]
    assert len(findings) == 2
    assert ran(s) == 5
    for finding in findings:
        repaired(doctor, finding)
    assert ran(s) == 2
    assert schedule.batch(s, NAME).state().done == 7
