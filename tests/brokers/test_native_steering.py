"""Pauses, runs left out or run once now, the schedule's limits, what did not run: by what the keys hold."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import msgpack
import pytest

from tests.brokers.checkups import found, keys, only, registered, repaired
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.brokers.native.change.admin import NativeAdmin
from workkit.brokers.native.change.pauses import Pauses
from workkit.brokers.native.entry import Entry, slot_flag
from workkit.brokers.native.look.parked import parked_text, read_parked
from workkit.contract.doctor import Doctor
from workkit.contract.inspector import Counts, Inspector
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.admission import Control, Pause

HOUR = 3_600_000


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.location.MOMENT", 0.01)


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


@pytest.fixture
def inspector(server: Server, name: str) -> Inspector:
    return open_broker(name, redis=server.url).inspector


@pytest.fixture
def admin(server: Server, name: str) -> NativeAdmin:
    made = open_broker(name, redis=server.url).admin
    assert isinstance(made, NativeAdmin)
    return made


@pytest.fixture
def doctor(server: Server, name: str) -> Doctor:
    return open_broker(name, redis=server.url).doctor


def now_ms() -> int:
    return round(time.time() * 1000)


def entry_of(id: str, *, kind: str = "r", due: int, attempt: int = 0, crashes: int = 0, flags: str = "-") -> Entry:
    return Entry(kind=kind, due=str(due), attempt=attempt, crashes=crashes, flags=flags, item=wire.item(id))


def park(client: Any, name: str, key: str, id: str, entry: Entry) -> str:
    """Park an entry by hand; its occurrence."""
    run = f"{id}@{entry.due_ms}{entry.nonce}"
    client.zadd(f"{name}:waiting", {parked_text(key, run, entry): 0})
    return run


# Pauses.


def test_a_paused_job_is_parked_as_it_stands(s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin) -> None:
    id = schedule.add(s, "app:note", every="hour").id
    ((item, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    client.zadd(f"{name}:first:2", {item: due})
    for _ in range(2):
        admin.pause(f"job:{id}", Pause(reason="migration", until_ms=5))
    stands = keys(client, name)
    (text,) = stands["waiting"]
    assert text == b"paused:job:%b\0%016d\0%b@%d\0r %d 0 0 - %b" % (
        id.encode(), due, id.encode(), due, due, wire.item(id),
    )  # fmt: skip
    parked = read_parked(text)
    assert parked is not None
    assert (parked.pause, parked.entry.due_ms) == (f"job:{id}", due)
    assert stands["control"] == {b"v": b"1", b"paused:job:%b" % id.encode(): msgpack.packb(["migration", 5])}
    assert set(stands) == {"jobs", "waiting", "control"}


def test_a_recurring_job_comes_back_at_its_next_regular_time(
    s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin
) -> None:
    id = schedule.add(s, "app:note", every="hour").id
    item = wire.item(id)
    client.zadd(f"{name}:next", {item: now_ms() - 5 * HOUR})
    admin.pause(f"job:{id}", Pause())
    assert admin.resume(f"job:{id}")
    assert not admin.resume(f"job:{id}")
    ((back, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert back == item
    assert 0 < due - now_ms() <= HOUR
    assert due % HOUR == 0
    assert keys(client, name)["control"] == {b"v": b"2"}
    assert client.llen(f"{name}:wake") == 1


def test_a_recurring_job_that_is_not_due_yet_keeps_its_time(
    s: schedule.Schedule, client: Any, name: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    job = schedule.add(s, "app:note", every="hour")
    skipped = admin.skip(job)
    admin.pause(f"job:{job.id}", Pause())
    admin.resume(f"job:{job.id}")
    assert inspector.job(job.id).due == skipped.due


@pytest.mark.parametrize("text", ["ours", "foreign"])
def test_a_one_shot_comes_back_at_its_time(
    s: schedule.Schedule, client: Any, name: str, text: str, admin: NativeAdmin
) -> None:
    added = schedule.add(s, "app:note", in_="1 hour")
    item = wire.item(added.id)
    ((_, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    if text == "foreign":
        client.delete(f"{name}:next")
        item = b'{"more":1, "id":"%b"}' % added.id.encode()
        client.zadd(f"{name}:next", {item: due})
    admin.pause(f"job:{added.id}", Pause())
    assert client.zcard(f"{name}:next") == 0
    admin.resume(f"job:{added.id}")
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [(item, due)]
    assert set(keys(client, name)) == {"jobs", "next", "control"}


def test_what_carries_counts_goes_back_among_our_own(
    s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin
) -> None:
    id = schedule.add_now(s, "app:note").id
    client.delete(f"{name}:next")
    again = entry_of(id, due=1_900_000_000_000, attempt=2, crashes=1).encode()
    other = entry_of("f" * 40, due=5, attempt=2).encode()
    client.zadd(f"{name}:again", {again: 1_900_000_090_000, other: 6})
    admin.pause(f"job:{id}", Pause())
    assert client.zrange(f"{name}:again", 0, -1) == [other]
    assert client.zcard(f"{name}:waiting") == 1
    admin.resume(f"job:{id}")
    assert keys(client, name)["again"] == {again: 1_900_000_000_000, other: 6}
    assert client.zcard(f"{name}:next") == 0


def test_a_job_that_cannot_be_read_or_is_gone_goes_back_as_it_was(client: Any, name: str, admin: NativeAdmin) -> None:
    bad, gone = "a" * 40, "b" * 40
    client.hset(f"{name}:jobs", bad, "{")
    for id in (bad, gone):
        park(client, name, "paused:job:x", id, entry_of(id, due=7))
    client.hset(f"{name}:control", "paused:job:x", msgpack.packb([None, None]))
    assert admin.resume("job:x")
    assert dict(client.zrange(f"{name}:next", 0, -1, withscores=True)) == {wire.item(bad): 7, wire.item(gone): 7}
    assert not client.exists(f"{name}:waiting", f"{name}:again")


def test_what_is_parked_of_a_function_comes_back_whole_however_much_it_is(
    client: Any, name: str, admin: NativeAdmin
) -> None:
    target = "fn:#'app/note"
    admin.pause(target, Pause())
    for n in range(1201):
        id = f"{n:040x}"
        park(client, name, f"paused:{target}", id, entry_of(id, due=1000 + n, kind="o" if n % 2 else "r"))
    park(client, name, f"paused:{target}s", "f" * 40, entry_of("f" * 40, due=5))
    assert admin.resume(target)
    again = client.zrange(f"{name}:again", 0, -1, withscores=True)
    assert [due for _, due in again] == [1000 + n for n in range(1, 1201, 2)]
    assert again[0][0] == entry_of(f"{1:040x}", due=1001, kind="o").encode()
    unbegun = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert unbegun == [(wire.item(f"{n:040x}"), 1000 + n) for n in range(0, 1201, 2)]
    assert client.zcard(f"{name}:waiting") == 1


def test_a_resume_that_was_cut_off_is_gone_on_with(client: Any, name: str, admin: NativeAdmin) -> None:
    park(client, name, "paused:fn:x", "a" * 40, entry_of("a" * 40, due=5))
    assert admin.resume("fn:x")
    assert client.zcard(f"{name}:next") == 1


def test_a_pause_ends_by_itself_only_when_its_time_has_passed(client: Any, name: str, admin: NativeAdmin) -> None:
    for until, ends in ((None, False), (now_ms() + HOUR, False), (now_ms() - 1000, True)):
        admin.pause("schedule", Pause(until_ms=until))
        park(client, name, "paused:schedule", "a" * 40, entry_of("a" * 40, due=5))
        assert admin.resume("schedule", lapsed=True) is ends
        assert client.hexists(f"{name}:control", "paused:schedule") is not ends
        assert client.exists(f"{name}:waiting") == (0 if ends else 1)


def test_what_is_paused_anew_is_not_put_back(client: Any, name: str, admin: NativeAdmin) -> None:
    admin.pause("fn:x", Pause())
    park(client, name, "paused:fn:x", "a" * 40, entry_of("a" * 40, due=5))
    assert not Pauses(server=admin.server, keys=admin.keys, codec=admin.codec).put_back("fn:x")
    assert client.zcard(f"{name}:waiting") == 1


def test_control_says_what_holds(client: Any, name: str, inspector: Inspector, admin: NativeAdmin) -> None:
    assert inspector.control() == Control()
    admin.pause("fn:#'app/note", Pause(reason="a"))
    admin.pause("job:nightly", Pause(until_ms=now_ms() - 1))
    admin.declare(limit=5, turn_ms=0.1)
    assert inspector.control() == Control(paused={"fn:#'app/note": Pause(reason="a")}, limit=5, turn_ms=0.1)
    version = client.hget(f"{name}:control", "v")
    admin.declare(limit=5, turn_ms=0.1)
    assert client.hget(f"{name}:control", "v") == version
    admin.declare(limit=None, turn_ms=600)
    assert (inspector.control().limit, inspector.control().turn_ms) == (None, 600.0)
    assert client.hget(f"{name}:control", "v") != version


@pytest.mark.parametrize("verb", ["resume", "skip"])
def test_a_spread_job_keeps_its_part(s: schedule.Schedule, verb: str, inspector: Inspector, admin: NativeAdmin) -> None:
    for n in range(3):
        job = schedule.add(s, "app:note", every="day at 9am", args=[n], spread="1 hour")
        assert job.due is not None
        if verb == "skip":
            assert admin.skip(job).due == job.due + timedelta(days=1)
        else:
            admin.pause(f"job:{job.id}", Pause())
            admin.resume(f"job:{job.id}")
            assert inspector.job(job.id).due == job.due
            assert (job.due.hour, job.due.minute) != (9, 0)


# Skip and run.


def test_skip_leaves_out_the_next_run_only(
    s: schedule.Schedule, client: Any, name: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    job = schedule.add(s, "app:note", every="hour")
    assert job.due is not None
    client.zadd(f"{name}:first:3", {wire.item(job.id): job.due.timestamp() * 1000})
    for hours in (1, 2):
        skipped = admin.skip(inspector.job(job.id))
        assert skipped.due == job.due + timedelta(hours=hours)
    score = (job.due + timedelta(hours=2)).timestamp() * 1000
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [(wire.item(job.id), score)]
    assert client.zrange(f"{name}:first:3", 0, -1, withscores=True) == [(wire.item(job.id), score)]


def test_skip_of_what_a_listener_has(s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin) -> None:
    job = schedule.add(s, "app:note", every="hour")
    client.delete(f"{name}:next")
    with pytest.raises(NotFound, match="no longer waits in"):
        admin.skip(job)


def test_skip_of_a_last_run(s: schedule.Schedule, admin: NativeAdmin) -> None:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    job = schedule.add(s, "app:note", every="hour", end=hour + timedelta(minutes=1))
    assert job.due == hour
    with pytest.raises(InvalidOptions, match=r"has no run after the next one\. Take it out: workkit cancel"):
        admin.skip(job)


def test_run_of_a_recurring_job_is_one_occurrence_beside_its_times(
    s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin
) -> None:
    job = schedule.add(s, "app:note", every="hour")
    before = client.zrange(f"{name}:next", 0, -1, withscores=True)
    admin.run(job)
    admin.run(job)
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == before
    again = {entry.decode().split(" ")[4] for entry in client.zrange(f"{name}:again", 0, -1)}
    slots = {slot.decode().rpartition("#")[2] for slot in client.zrange(f"{name}:slots", 0, -1)}
    assert len(again) == 2
    assert {flags.removeprefix("-#") for flags in again} == slots
    client.delete(f"{name}:jobs")
    with pytest.raises(NotFound):
        admin.run(job)


@pytest.mark.parametrize("place", ["next", "again"])
def test_run_of_a_one_shot_lets_it_be_due(
    s: schedule.Schedule, client: Any, name: str, place: str, admin: NativeAdmin
) -> None:
    job = schedule.add(s, "app:note", in_="1 hour")
    member = wire.item(job.id)
    if place == "again":
        member = entry_of(job.id, due=1_900_000_000_000, attempt=1).encode()
        client.delete(f"{name}:next")
        client.zadd(f"{name}:again", {member: now_ms() + HOUR})
    admin.run(job)
    ((stands, due),) = client.zrange(f"{name}:{place}", 0, -1, withscores=True)
    assert stands == member
    assert abs(due - now_ms()) < 5000
    admin.run(job)
    assert client.zscore(f"{name}:{place}", member) == due  # never later than it was
    client.delete(f"{name}:{place}")
    with pytest.raises(NotFound, match="no longer waits"):
        admin.run(job)


def test_run_beside_a_listener_whose_name_is_no_utf_8(
    s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin
) -> None:
    job = schedule.add(s, "app:note", every="hour")
    client.zadd(f"{name}:listeners", {b"host:\xff\xd3:1": client.time()[0] * 1000})
    assert admin.run(job).id == job.id


def test_missed_says_the_last_one_first(client: Any, name: str, inspector: Inspector) -> None:
    assert list(inspector.missed()) == []
    for n in range(1201):
        fields = {"id": "a" * 40, "name": "n" if n else "", "fn": "f", "due": n, "reason": "late", "times": n + 1}
        client.xadd(f"{name}:missed", fields)
    missed = list(inspector.missed())
    assert [m.times for m in missed] == [*range(1201, 0, -1)]
    last = missed[-1]
    assert (last.name, last.due, last.reason) == (None, datetime(1970, 1, 1, tzinfo=UTC), "late")


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
    admin.pause(f"job:{paused}", Pause(reason="migration", until_ms=round(until.timestamp() * 1000)))
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


@pytest.mark.parametrize("target", ["schedule", "fn:#'app/note"])
def test_what_waits_under_a_pause_shows_it(
    s: schedule.Schedule, target: str, inspector: Inspector, admin: NativeAdmin
) -> None:
    schedule.add(s, "app:note", in_="1 hour")
    schedule.add(s, "app:other", in_="1 hour")
    admin.pause(target, Pause(reason="why not"))
    states = {job.fn: job.state for job in inspector.jobs()}
    assert states == {"#'app/note": "paused", "#'app/other": "paused" if target == "schedule" else "waiting"}
    assert all(job.why == "paused: why not" for job in inspector.jobs(state="paused"))
    assert len(list(inspector.jobs(state="waiting"))) == (0 if target == "schedule" else 1)


# What the checkup finds.


def test_a_job_that_is_only_parked_is_no_orphan(
    server: Server, s: schedule.Schedule, name: str, admin: NativeAdmin, doctor: Doctor
) -> None:
    broker = registered(server, name)
    admin.pause(f"job:{schedule.add(s, 'app:note', every='hour').id}", Pause())
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
    admin.pause(f"job:{job.id}", Pause())
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
    admin.pause("schedule", Pause(reason="migration"))
    admin.pause("fn:#'app/other", Pause())
    assert found(doctor) == []
    client.zadd(f"{name}:next", dict.fromkeys(client.zrange(f"{name}:next", 0, -1), now_ms() - HOUR))
    told = only(doctor, "paused")
    assert told.what == f"{name} is paused: migration; 1 job has been due for more than a minute"
    assert told.remedy == f"workkit resume {name}"
    admin.resume("schedule")
    id = schedule.add(s, "app:other", every="hour").id
    client.delete(f"{name}:next")
    client.hdel(f"{name}:jobs", *(key for key in client.hkeys(f"{name}:jobs") if key.decode() != id))
    park(client, name, "paused:fn:#'app/other", id, entry_of(id, due=now_ms() - HOUR))
    assert only(doctor, "paused").what == "app.other is paused; 1 job has been due for more than a minute"
    broker.close()
