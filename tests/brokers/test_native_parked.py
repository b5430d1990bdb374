"""What is parked: how the inspector shows it, and what the checkup finds of it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.brokers.checkups import found, keys, only, payload, registered, repaired
from tests.brokers.parking import HOUR, entry_of, now_ms, park
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.change.admin import NativeAdmin
from workkit.brokers.native.entry import slot_flag
from workkit.contract.admin import Paused, Resumed
from workkit.contract.broker import Doctor, Inspector
from workkit.contract.inspector import Counts
from workkit.jobs.admission import Pause

pytestmark = pytest.mark.usefixtures("second_look_at_once")


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


# What the inspector shows.


def test_parked_work_is_shown_with_the_reason(
    s: schedule.Schedule, client: Any, name: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    held, over, unique, paused, waiting = (
        schedule.add(s, "app:note", in_="1 hour", args=[n]).id for n in range(5)
    )  # fmt: skip
    for id in (held, over, unique):
        client.zrem(f"{name}:next", wire.item(id))
    key = 'fn:#\'app/note="a b"'
    park(client, name, key, held, entry_of(held, due=5, flags=slot_flag(key, 3)))
    park(client, name, "over:x", over, entry_of(over, due=6, kind="o", flags=slot_flag("over:x", 1) + "#ab"))
    park(client, name, "unique:u:1", unique, entry_of(unique, due=7, flags="p;" + slot_flag("unique:u:1", 1)))
    until = datetime(2090, 1, 2, 9, tzinfo=UTC)
    admin.steer(Paused(f"job:{paused}", Pause(reason="migration", until_ms=round(until.timestamp() * 1000))))
    shown = {job.id: (job.state, job.why) for job in inspector.jobs()}
    assert shown == {
        held: ("held", 'app.note is at its limit of 3 for "a b"'),
        over: ("held", "another run of it has not ended"),
        unique: ("held", 'another job with the unique key "u:1" has not ended'),
        paused: ("paused", "paused until 2090-01-02 09:00:00 UTC: migration"),
        waiting: ("waiting", None),
    }
    for id, seen in shown.items():
        job = inspector.job(id)
        assert (job.state, job.why) == seen
    assert inspector.counts() == Counts(waiting=1, held=3, paused=1)
    for state in ("held", "paused", "waiting"):
        assert {j.id for j in inspector.jobs(state=state)} == {id for id, seen in shown.items() if seen[0] == state}


GROUP = "0123456789abcdef"
OF_GROUPS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (f"open:{GROUP}", {"batch": "1 import"}, 'the batch "import" has not released its jobs'),
    (f"after:{GROUP}", {"opts": {"then_of": "import"}}, 'the batch "import" has not ended'),
    (f"after:{GROUP}", {"opts": {"after": GROUP}}, "jobs that it runs after have not ended"),
    (f"success:{GROUP}", {"opts": {"then_of": "import"}}, 'the batch "import" has not ended, or has dead jobs'),
)


def test_what_waits_for_a_group_shows_it(s: schedule.Schedule, client: Any, name: str, inspector: Inspector) -> None:
    expected = {}
    for n, (key, fields, why) in enumerate(OF_GROUPS):
        id, data = payload(n=n, **fields)
        client.hset(f"{name}:jobs", id, data)
        park(client, name, key, id, entry_of(id, due=n))
        expected[id] = why
    assert {job.id: job.why for job in inspector.jobs(state="held")} == expected
    assert {id: inspector.job(id).why for id in expected} == expected
    assert inspector.counts() == Counts(held=4)


@pytest.mark.parametrize("target", ["schedule", "fn:#'app/note"])
def test_what_waits_under_a_pause_shows_it(
    s: schedule.Schedule, target: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    schedule.add(s, "app:note", in_="1 hour")
    schedule.add(s, "app:other", in_="1 hour")
    admin.steer(Paused(target, Pause(reason="why not")))
    states = {job.fn: job.state for job in inspector.jobs()}
    assert states == {"#'app/note": "paused", "#'app/other": "paused" if target == "schedule" else "waiting"}
    assert all(job.why == "paused: why not" for job in inspector.jobs(state="paused"))
    assert len(list(inspector.jobs(state="waiting"))) == (0 if target == "schedule" else 1)


# What the checkup finds.


def test_a_job_that_is_only_parked_is_no_orphan(
    server: Server, s: schedule.Schedule, name: str, admin: NativeAdmin, doctor: Doctor
) -> None:
    broker = registered(server, name)
    admin.steer(Paused(f"job:{schedule.add(s, 'app:note', every='hour').id}", Pause()))
    assert found(doctor, patience_ms=0) == []
    broker.close()


@pytest.mark.parametrize("limit", [1, 2])
def test_a_slot_that_no_run_has_is_freed_and_who_waits_for_it_goes_on(
    server: Server, s: schedule.Schedule, client: Any, name: str, limit: int, doctor: Doctor
) -> None:
    broker = registered(server, name)
    key = 'fn:#\'app/note=[1, "%"]'
    ids = [schedule.add(s, "app:note", in_="1 hour", args=[n]).id for n in range(4)]
    client.delete(f"{name}:next")
    entries = [entry_of(id, due=1000 + n, flags=f"{slot_flag(key, limit)}") for n, id in enumerate(ids)]
    runs = [park(client, name, key, id, entry) for id, entry in zip(ids, entries, strict=True)]
    lost = ["f" * 40 + f"@{n}" for n in range(limit)]
    client.zadd(f"{name}:slots", dict.fromkeys((f"{key}\0{run}" for run in lost), 0))
    findings = found(doctor)
    assert [f.kind for f in findings] == ["slot"] * limit
    for finding in findings:
        assert "a slot of fn:#'app/note" in finding.what
        repaired(doctor, finding)
    assert keys(client, name)["slots"] == {f"{key}\0{run}".encode(): 0 for run in runs[:limit]}
    assert keys(client, name)["again"] == {entry.encode(): 1000 + n for n, entry in enumerate(entries[:limit])}
    assert client.zcard(f"{name}:waiting") == 4 - limit
    assert client.llen(f"{name}:wake") == 1
    assert found(doctor) == [f for f in found(doctor) if f.kind == "overdue"]
    broker.close()


@pytest.mark.parametrize("where", ["again", "held", "parked"])
def test_a_slot_of_what_waits_or_runs_stays(
    server: Server, s: schedule.Schedule, client: Any, name: str, where: str, doctor: Doctor
) -> None:
    broker = registered(server, name)
    id = schedule.add(s, "app:note", in_="1 hour").id
    client.delete(f"{name}:next")
    due = 1_900_000_000_000
    entry = entry_of(id, due=due, flags=slot_flag("over:x", 1))
    client.zadd(f"{name}:slots", {f"over:x\0{id}@{due}": 0})
    if where == "again":
        client.zadd(f"{name}:again", {entry.encode(): due})
    elif where == "held":
        client.hset(f"{name}:running:{broker.listener}", b"7." + wire.item(id), entry.encode())
    else:
        other = "f" * 40
        client.hset(f"{name}:jobs", other, client.hget(f"{name}:jobs", id))
        client.zadd(f"{name}:again", {entry_of(other, due=due, flags=slot_flag("schedule", 1)).encode(): due})
        client.zadd(f"{name}:slots", {f"schedule\0{other}@{due}": 0})
        flags = f"{slot_flag('over:x', 1)};{slot_flag('schedule', 1)}"
        park(client, name, "schedule", id, entry_of(id, due=due, flags=flags))
    assert found(doctor, patience_ms=0) == []
    broker.close()


def test_cancel_of_what_is_parked_under_a_key_with_any_byte_keeps_its_slots(
    s: schedule.Schedule, client: Any, name: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    id = schedule.add(s, "app:note", in_="1 hour").id
    client.delete(f"{name}:next")
    has, wants = slot_flag("schedule", 1), slot_flag("unique:a\0b", 1)
    park(client, name, "unique:a\0b", id, entry_of(id, due=1_900_000_000_000, flags=f"{has};{wants}"))
    admin.cancel(inspector.job(id))
    assert client.zrange(f"{name}:again", 0, -1) == [entry_of(id, due=1_900_000_000_000, flags=has).encode()]
    assert client.exists(f"{name}:waiting") == 0


def test_what_is_parked_though_there_is_room_goes_on(
    server: Server, s: schedule.Schedule, client: Any, name: str, doctor: Doctor
) -> None:
    broker = registered(server, name)
    id = schedule.add(s, "app:note", in_="1 hour").id
    client.delete(f"{name}:next")
    run = park(client, name, "schedule", id, entry_of(id, due=1_900_000_000_000, flags=slot_flag("schedule", 2)))
    finding = only(doctor, "parked")
    assert finding.what == "1 job waits under schedule, and there is room under its limit"
    repaired(doctor, finding)
    assert set(keys(client, name)) == {"jobs", "again", "slots"}
    assert client.zrange(f"{name}:slots", 0, -1) == [f"schedule\0{run}".encode()]
    broker.close()


def test_what_is_parked_under_a_pause_that_is_over_comes_back(
    server: Server, s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin, doctor: Doctor
) -> None:
    broker = registered(server, name)
    job = schedule.add(s, "app:note", every="hour")
    admin.steer(Paused(f"job:{job.id}", Pause()))
    client.hdel(f"{name}:control", f"paused:job:{job.id}")
    finding = only(doctor, "parked")
    assert finding.what.endswith("and it is not paused any more")
    repaired(doctor, finding)
    assert client.zscore(f"{name}:next", wire.item(job.id)) is not None
    broker.close()


def test_a_pause_is_told_where_something_has_been_due_for_long(
    server: Server, s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin, doctor: Doctor
) -> None:
    broker = registered(server, name)
    schedule.add(s, "app:note", in_="1 hour")
    admin.steer(Paused("schedule", Pause(reason="migration")))
    admin.steer(Paused("fn:#'app/other", Pause()))
    assert found(doctor) == []
    client.zadd(f"{name}:next", dict.fromkeys(client.zrange(f"{name}:next", 0, -1), now_ms() - HOUR))
    told = only(doctor, "paused")
    assert told.what == f"{name} is paused: migration; 1 job has been due for more than a minute"
    assert told.remedy == f"workkit resume {name}"
    admin.steer(Resumed("schedule"))
    id = schedule.add(s, "app:other", every="hour").id
    client.delete(f"{name}:next")
    client.hdel(f"{name}:jobs", *(key for key in client.hkeys(f"{name}:jobs") if key.decode() != id))
    park(client, name, "paused:fn:#'app/other", id, entry_of(id, due=now_ms() - HOUR))
    assert only(doctor, "paused").what == "app.other is paused; 1 job has been due for more than a minute"
    broker.close()
