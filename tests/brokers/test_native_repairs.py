"""What cannot be read, items that cannot be claimed, and marks that nothing refers to: found, and repaired."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from typing import Any

import msgpack
import pytest

from tests.brokers.checkups import fixed, found, keys, only, payload, ran, repaired
from tests.servers import Server
from workkit import schedule, wire
from workkit.brokers.connect import open_broker
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.broker import Doctor

pytestmark = pytest.mark.usefixtures("second_look_at_once")


@pytest.fixture
def client(server: Server) -> Any:
    return server.client()


# What cannot be read.

ERROR = msgpack.packb(["E", "m", None, "", 0])
BAD = {
    "cut": b'{"job":"a:b","cron":"* * * *',
    "not an object": b"[1]",
    "not UTF-8": b'{"job":"\xff\xfe","cron":"* * * * * * 0"}',
    "no function": b'{"args":[],"cron":"* * *"}',
    "empty": b"",
    "NaN": b'{"args":[NaN],"cron":"* * * * * * 0","job":"a:b"}',
}


@pytest.mark.parametrize("place", ["with an item", "spaced item", "without an item"])
@pytest.mark.parametrize("kind", BAD)
def test_an_unreadable_payload_goes_to_the_dead_set_with_its_bytes(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, kind: str, place: str
) -> None:
    id = wire.job_id(BAD[kind])
    client.hset(f"{name}:jobs", id, BAD[kind])
    item = wire.item(id).replace(b":", b" : ") if place == "spaced item" else wire.item(id)
    if place != "without an item":
        client.zadd(f"{name}:next", {item: 9_000_000_000_000})
    finding = only(doctor, "unreadable")
    assert finding.about == (id,)
    repaired(doctor, finding)
    (grave,) = client.hvals(f"{name}:graves")
    kept = msgpack.unpackb(grave)
    assert (kept["id"], kept["payload"], kept["reason"]) == (id.encode(), BAD[kind], "corrupt")
    assert kept["member"] == (b"" if place == "without an item" else item)
    assert set(keys(client, name)) == {"dead", "graves", "ends"}
    only(doctor, "dead")


def test_a_listener_and_a_repair_bury_alike(server: Server, name: str) -> None:
    graves = []
    for s in (schedule.create(f"{name}-{n}", redis=server.url) for n in (1, 2)):
        client, id = server.client(), wire.job_id(BAD["cut"])
        client.hset(f"{s.name}:jobs", id, BAD["cut"])
        client.zadd(f"{s.name}:next", {wire.item(id): 5, "nonsense": 6})
        if s.name.endswith("1"):
            ran(s)
        else:
            doctor = open_broker(s.name, redis=server.url).doctor
            for finding in found(doctor):
                assert doctor.repair(finding) == (finding.kind in ("unreadable", "item"))
        assert set(keys(client, s.name)) == {"dead", "graves", "ends"}
        assert client.zcard(f"{s.name}:dead") == 2
        graves.append({key: msgpack.unpackb(kept) for key, kept in client.hgetall(f"{s.name}:graves").items()})
    assert graves[0] == graves[1]


def test_an_unreadable_item_goes_to_the_dead_set(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    items = [b"nonsense", b"", b"\xff\xfe\x00", b'{"ID":"x"}', b'{"id":5}', b'{"id":"\\ud800"}', b"[" * 5000]
    client.zadd(f"{name}:next", dict.fromkeys(items, 9e12))
    findings = found(doctor)
    assert [f.kind for f in findings] == ["item"] * len(items)
    for finding in findings:
        repaired(doctor, finding)
    members = {msgpack.unpackb(kept, raw=True)[b"member"] for kept in client.hvals(f"{name}:graves")}
    assert members == set(items)
    assert set(client.zrange(f"{name}:dead", 0, -1)) == {sha1(item).hexdigest().encode() for item in items}
    assert not client.exists(f"{name}:next")


def test_a_payload_that_was_replaced_meanwhile_is_left_alone(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    client.hset(f"{name}:jobs", "a" * 40, b"{")
    client.zadd(f"{name}:next", {wire.item("a" * 40): 9e12})
    finding = only(doctor, "unreadable")
    client.hset(f"{name}:jobs", "a" * 40, payload()[1])
    assert not doctor.repair(finding)
    assert set(keys(client, name)) == {"jobs", "next"}


# Items.


def test_an_item_without_a_job_is_taken_out(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    client.zadd(f"{name}:next", {wire.item("b" * 40): 9e12})
    finding = only(doctor, "no-job")
    assert finding.about == ("b" * 40,)
    repaired(doctor, finding)
    assert keys(client, name) == {}


def test_an_item_whose_job_came_meanwhile_stays(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    id, data = payload()
    client.zadd(f"{name}:next", {wire.item(id): 9e12})
    finding = only(doctor, "no-job")
    client.hset(f"{name}:jobs", id, data)
    assert not doctor.repair(finding)
    assert client.zcard(f"{name}:next") == 1


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        ("inf", "score"),
        ("-inf", "score"),
        ("1e308", "score-range"),
        ("-5", "score-range"),
        ("1900000000000.5", "score"),
    ],
)
def test_an_item_without_a_usable_due_time_gets_that_of_its_job(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, score: str, kind: str
) -> None:
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    client.zadd(f"{name}:next", {wire.item(id): score})
    finding = only(doctor, kind)
    assert finding.about == (id,)
    repaired(doctor, finding)
    ((_, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert datetime.fromtimestamp(due / 1000, UTC).hour == 9
    assert found(doctor) == []


def test_a_passed_one_shot_that_would_never_be_due_runs_at_once(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    id, data = payload(fixed(-timedelta(days=3))[0])
    client.hset(f"{name}:jobs", id, data)
    client.zadd(f"{name}:next", {wire.item(id): "inf"})
    repaired(doctor, only(doctor, "score"))
    ((_, due),) = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert abs(due / 1000 - time.time()) < 5


# What is kept beside the jobs.


def test_marks_that_nothing_refers_to_are_swept(doctor: Doctor, client: Any, name: str, peer: NativeBroker) -> None:
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    client.sadd(f"{name}:ended", id, "c" * 40)
    client.hset(f"{name}:counts", id, 2)
    client.zadd(f"{name}:slots", {f"run:{id}\0{id}@5": 0, f"run:{id}\0{id}@6#ab": 0})
    client.hset(f"{name}:errors", f"{id}@5", ERROR)
    findings = found(doctor)
    assert sorted(f.kind for f in findings) == ["ended", "error", "slot", "slot"]
    for finding in findings:
        repaired(doctor, finding)
    assert keys(client, name) == {}  # with the last run closed, the ended job went too


def test_a_job_marked_as_over_without_an_open_run_leaves(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    id, data = payload(fixed(-timedelta(minutes=1))[0])
    client.hset(f"{name}:jobs", id, data)
    client.sadd(f"{name}:ended", id)
    repaired(doctor, only(doctor, "ended"))
    assert keys(client, name) == {}


@pytest.mark.parametrize("where", ["again", "held"])
def test_marks_of_what_waits_or_runs_stay(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, where: str
) -> None:
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    client.sadd(f"{name}:ended", id)
    client.zadd(f"{name}:slots", {f"run:{id}\0{id}@1900000000000#ab": 0})
    client.hset(f"{name}:errors", f"{id}@1900000000000#ab", ERROR)
    entry = b"o 1900000000000 1 0 -#ab " + wire.item(id)
    if where == "again":
        client.zadd(f"{name}:again", {entry: 1900000000000})
    else:
        client.hset(f"{name}:running:{peer.listener}", b"7." + entry, entry)
    assert found(doctor, patience_ms=0) == []


def test_the_records_of_a_listener_that_is_not_listed_come_back(doctor: Doctor, client: Any, name: str) -> None:
    lost, (id, data) = "web-1:77:0123456789ab", payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    for n in range(1_200):
        member = wire.item(id) if n == 0 else wire.item(f"{n:040x}")
        client.hset(f"{name}:running:{lost}", b"4." + member, b"1394012056000")
    client.hset(f"{name}:running:{lost}", "info", b"x" * 70)
    client.sadd(f"{name}:skip:{lost}", id)
    finding = next(f for f in found(doctor) if f.kind == "unlisted")
    assert finding.about == (lost,)
    repaired(doctor, finding)
    assert set(keys(client, name)) == {"jobs", "next", "crashed"}
    back = client.zrange(f"{name}:next", 0, -1, withscores=True)
    assert len(back) == 1_200
    assert (wire.item(id), 1394012056000.0) in back
    assert client.hget(f"{name}:crashed", f"{id}@1394012056000") == b"1"
    assert not client.exists(f"{name}:listeners", f"{name}:running:{lost}")


def test_a_listed_listener_without_records_is_taken_off(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker
) -> None:
    client.zadd(f"{name}:listeners", {"web-1:77:0123456789ab": time.time() * 1000 // 1})
    repaired(doctor, only(doctor, "half-listed"))
    assert client.zrange(f"{name}:listeners", 0, -1) == [peer.listener.encode()]


@pytest.mark.parametrize("nonce", ["", "#", "#5a"])
def test_marks_whose_run_came_back_meanwhile_stay(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, nonce: str
) -> None:
    id, data = payload("* * * * 9 0 0")
    client.hset(f"{name}:jobs", id, data)
    client.zadd(f"{name}:next", {wire.item(id): 9e12})
    client.zadd(f"{name}:slots", {f"run:{id}\0{id}@1900000000000{nonce}": 0})
    client.hset(f"{name}:errors", f"{id}@1900000000000{nonce}", ERROR)
    findings = found(doctor)
    assert sorted(f.kind for f in findings) == ["error", "slot"]
    client.zadd(f"{name}:again", {f"o 1.9e+12 1 0 -{nonce} ".encode() + wire.item(id): 1900000000000})
    before = keys(client, name)
    assert [doctor.repair(finding) for finding in findings] == [False, False]
    assert keys(client, name) == before


@pytest.mark.parametrize("what", ["no-job", "unreadable", "item"])
def test_a_repair_takes_an_item_out_of_the_index_of_its_priority_too(
    doctor: Doctor, client: Any, name: str, peer: NativeBroker, what: str
) -> None:
    id, data = payload("2050 1 1 * 9 0 0")
    item = b"[1]" if what == "item" else wire.item(id)
    if what == "unreadable":
        client.hset(f"{name}:jobs", id, data[:-9])
    client.zadd(f"{name}:next", {item: 9_000_000_000_000})
    client.zadd(f"{name}:first:2", {item: 9_000_000_000_000})
    repaired(doctor, only(doctor, what))
    assert not client.exists(f"{name}:next", f"{name}:first:2")
