"""Pauses, runs left out or run once now, the schedule's limits, what did not run: by what the keys hold."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgpack
import pytest

from tests.brokers.checkups import keys
from tests.brokers.parking import HOUR, entry_of, now_ms, park
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.native.change.admin import NativeAdmin
from workkit.brokers.native.change.runs import Pauses
from workkit.brokers.native.entry import read_parked
from workkit.contract.admin import Limited, NextRun, Paused, Resumed
from workkit.contract.broker import Inspector
from workkit.errors import InvalidOptions, NotFound
from workkit.jobs.admission import Control, Pause

pytestmark = pytest.mark.usefixtures("second_look_at_once")


@pytest.fixture
def s(server: Server, name: str) -> schedule.Schedule:
    return schedule.create(name, redis=server.url)


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


# Pauses.


def test_a_paused_job_is_parked_as_it_stands(s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin) -> None:
    id = schedule.add(s, "app:note", every="hour").id
    ((item, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    client.zadd(f"{name}:first:2", {item: due})
    for _ in range(2):
        admin.steer(Paused(f"job:{id}", Pause(reason="migration", until_ms=5)))
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
    admin.steer(Paused(f"job:{id}", Pause()))
    assert admin.steer(Resumed(f"job:{id}"))
    assert not admin.steer(Resumed(f"job:{id}"))
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
    skipped = admin.reschedule([job], NextRun())[0]
    admin.steer(Paused(f"job:{job.id}", Pause()))
    admin.steer(Resumed(f"job:{job.id}"))
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
    admin.steer(Paused(f"job:{added.id}", Pause()))
    assert client.zcard(f"{name}:next") == 0
    admin.steer(Resumed(f"job:{added.id}"))
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
    admin.steer(Paused(f"job:{id}", Pause()))
    assert client.zrange(f"{name}:again", 0, -1) == [other]
    assert client.zcard(f"{name}:waiting") == 1
    admin.steer(Resumed(f"job:{id}"))
    assert keys(client, name)["again"] == {again: 1_900_000_000_000, other: 6}
    assert client.zcard(f"{name}:next") == 0


def test_a_job_that_cannot_be_read_or_is_gone_goes_back_as_it_was(client: Any, name: str, admin: NativeAdmin) -> None:
    bad, gone = "a" * 40, "b" * 40
    client.hset(f"{name}:jobs", bad, "{")
    for id in (bad, gone):
        park(client, name, "paused:job:x", id, entry_of(id, due=7))
    client.hset(f"{name}:control", "paused:job:x", msgpack.packb([None, None]))
    assert admin.steer(Resumed("job:x"))
    assert dict(client.zrange(f"{name}:next", 0, -1, withscores=True)) == {wire.item(bad): 7, wire.item(gone): 7}
    assert not client.exists(f"{name}:waiting", f"{name}:again")


def test_what_is_parked_of_a_function_comes_back_whole_however_much_it_is(
    client: Any, name: str, admin: NativeAdmin
) -> None:
    target = "fn:#'app/note"
    admin.steer(Paused(target, Pause()))
    for n in range(1201):
        id = f"{n:040x}"
        park(client, name, f"paused:{target}", id, entry_of(id, due=1000 + n, kind="o" if n % 2 else "r"))
    park(client, name, f"paused:{target}s", "f" * 40, entry_of("f" * 40, due=5))
    assert admin.steer(Resumed(target))
    again = client.zrange(f"{name}:again", 0, -1, withscores=True)
    assert [due for _, due in again] == [1000 + n for n in range(1, 1201, 2)]
    assert again[0][0] == entry_of(f"{1:040x}", due=1001, kind="o").encode()
    unbegun = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert unbegun == [(wire.item(f"{n:040x}"), 1000 + n) for n in range(0, 1201, 2)]
    assert client.zcard(f"{name}:waiting") == 1


def test_a_resume_that_was_cut_off_is_gone_on_with(client: Any, name: str, admin: NativeAdmin) -> None:
    park(client, name, "paused:fn:x", "a" * 40, entry_of("a" * 40, due=5))
    assert admin.steer(Resumed("fn:x"))
    assert client.zcard(f"{name}:next") == 1


def test_a_pause_ends_by_itself_only_when_its_time_has_passed(client: Any, name: str, admin: NativeAdmin) -> None:
    for until, ends in ((None, False), (now_ms() + HOUR, False), (now_ms() - 1000, True)):
        admin.steer(Paused("schedule", Pause(until_ms=until)))
        park(client, name, "paused:schedule", "a" * 40, entry_of("a" * 40, due=5))
        assert admin.steer(Resumed("schedule", lapsed=True)) is ends
        assert client.hexists(f"{name}:control", "paused:schedule") is not ends
        assert client.exists(f"{name}:waiting") == (0 if ends else 1)


def test_what_is_paused_anew_is_not_put_back(client: Any, name: str, admin: NativeAdmin) -> None:
    admin.steer(Paused("fn:x", Pause()))
    park(client, name, "paused:fn:x", "a" * 40, entry_of("a" * 40, due=5))
    assert not Pauses(server=admin.server, keys=admin.keys, codec=admin.codec).put_back("fn:x")
    assert client.zcard(f"{name}:waiting") == 1


def test_control_says_what_holds(client: Any, name: str, inspector: Inspector, admin: NativeAdmin) -> None:
    assert inspector.control() == Control()
    admin.steer(Paused("fn:#'app/note", Pause(reason="a")))
    admin.steer(Paused("job:nightly", Pause(until_ms=now_ms() - 1)))
    admin.steer(Limited(limit=5, turn_ms=0.1))
    assert inspector.control() == Control(paused={"fn:#'app/note": Pause(reason="a")}, limit=5, turn_ms=0.1)
    version = client.hget(f"{name}:control", "v")
    admin.steer(Limited(limit=5, turn_ms=0.1))
    assert client.hget(f"{name}:control", "v") == version
    admin.steer(Limited(limit=None, turn_ms=600))
    assert (inspector.control().limit, inspector.control().turn_ms) == (None, 600.0)
    assert client.hget(f"{name}:control", "v") != version


@pytest.mark.parametrize("verb", ["resume", "skip"])
def test_a_spread_job_keeps_its_part(s: schedule.Schedule, verb: str, inspector: Inspector, admin: NativeAdmin) -> None:
    for n in range(3):
        job = schedule.add(s, "app:note", every="day at 9am", args=[n], spread="1 hour")
        assert job.due is not None
        if verb == "skip":
            assert admin.reschedule([job], NextRun())[0].due == job.due + timedelta(days=1)
        else:
            admin.steer(Paused(f"job:{job.id}", Pause()))
            admin.steer(Resumed(f"job:{job.id}"))
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
        skipped = admin.reschedule([inspector.job(job.id)], NextRun())[0]
        assert skipped.due == job.due + timedelta(hours=hours)
    score = (job.due + timedelta(hours=2)).timestamp() * 1000
    assert client.zrange(f"{name}:next", 0, -1, withscores=True) == [(wire.item(job.id), score)]
    assert client.zrange(f"{name}:first:3", 0, -1, withscores=True) == [(wire.item(job.id), score)]


def test_skip_of_what_a_listener_has(s: schedule.Schedule, client: Any, name: str, admin: NativeAdmin) -> None:
    job = schedule.add(s, "app:note", every="hour")
    client.delete(f"{name}:next")
    with pytest.raises(NotFound, match="no longer waits in"):
        admin.reschedule([job], NextRun())[0]


def test_skip_of_a_last_run(s: schedule.Schedule, admin: NativeAdmin) -> None:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    job = schedule.add(s, "app:note", every="hour", end=hour + timedelta(minutes=1))
    assert job.due == hour
    with pytest.raises(InvalidOptions, match=r"has no run after the next one\. Take it out: workkit cancel"):
        admin.reschedule([job], NextRun())[0]


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
    assert list(inspector.history.missed()) == []
    for n in range(1201):
        fields = {"id": "a" * 40, "name": "n" if n else "", "fn": "f", "due": n, "reason": "late", "times": n + 1}
        client.xadd(f"{name}:missed", fields)
    missed = list(inspector.history.missed())
    assert [m.times for m in missed] == [*range(1201, 0, -1)]
    last = missed[-1]
    assert (last.name, last.due, last.reason) == (None, datetime(1970, 1, 1, tzinfo=UTC), "late")
