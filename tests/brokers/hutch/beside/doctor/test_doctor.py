"""What the doctor finds in the Redis beside an exchange, and what it repairs there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest

from tests.brokers.hutch.beside.pair import Pair, admitted, taken
from tests.servers import Server
from workkit.brokers.hutch.beside.doctor import BesideDoctor
from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.beside.place import Beside
from workkit.brokers.redis_server.connecting import connect
from workkit.brokers.redis_server.control import write_info
from workkit.contract.doctor import Finding
from workkit.contract.listener import ListenerInfo
from workkit.jobs.run_options import RunOptions

OF_REDIS = {"no-append-file"}  # of a server for tests
TWO = RunOptions(limit=2)
GONE = b"gone:1:0123456789ab"  # a listener that nobody knows


class Ward:
    """The keys of one exchange on a Redis, and the doctor there. No RabbitMQ."""

    def __init__(self, server: Server, name: str) -> None:
        self.keys, self.client = Keys("/", name), server.client()
        self.beside = Beside(connect(server.url, schedule=self.keys.prefix), self.keys)
        self.doctor = BesideDoctor(beside=self.beside, exchange=name)

    def found(self) -> list[Finding]:
        return [finding for finding in self.doctor.findings() if finding.kind not in OF_REDIS]

    def repaired(self) -> list[bool]:
        return [self.doctor.repair(finding.subject) for finding in self.found()]

    def listed(self, name: str = "me:1:0123456789ab") -> str:
        """List a listener that holds one message and lives."""
        info = ListenerInfo(listener=name, host="host", pid=1, version="1", schedules={}, threads=1)
        record = [b"q", b"m0", b"note", 0, 1, 1, b"{}"]
        fields = {"@": 0, "info": write_info(info, began_ms=1), "1": msgpack.packb(record)}
        self.client.hset(self.keys.running(name), mapping=fields)
        self.client.zadd(self.keys.listeners, {name: time.time() * 1000})
        return name


@pytest.fixture
def ward(server: Server, name: str) -> Iterator[Ward]:
    made = Ward(server, name)
    yield made
    made.beside.server.close()


def dies(pair: Pair) -> str:
    """A listener that runs one message under a limit, and whose process is gone. Returns its name."""
    listener = pair.listener(options=TWO)
    pair.on.publish("note", b"{}", message_id="m1")
    assert len(admitted(listener, taken(listener, 1), TWO)) == 1
    name = listener.listener
    listener._in.close()
    listener._out.close()
    return name


def of_keys(pair: Pair) -> list[Finding]:
    doctor = pair.broker().doctor
    return [finding for finding in doctor.checkup(patience_ms=0) if finding.schedule and finding.kind != "unchecked"]


@pytest.mark.parametrize("kind", ["stale", "unlisted"])
def test_what_a_dead_listener_holds_is_named_and_taken_back(pair: Pair, kind: str) -> None:
    name = dies(pair)
    if kind == "stale":
        pair.client.zadd(pair.keys.listeners, {name: 1})
    else:
        pair.client.zrem(pair.keys.listeners, name)
    (finding,) = of_keys(pair)
    assert (finding.kind, finding.about, finding.repairs) == (kind, (name,), True)
    assert finding.remedy == f"workkit doctor {pair.on.names.exchange} --fix"
    assert pair.broker().doctor.repair(finding)
    assert pair.client.zcard(pair.keys.slots) == pair.client.zcard(pair.keys.listeners) == 0
    assert not pair.client.exists(pair.keys.running(name), pair.keys.begun)
    assert list(pair.client.hvals(pair.keys.crashes)) == [b"1"]
    assert of_keys(pair) == []
    assert not pair.broker().doctor.repair(finding)


def test_a_listener_that_lives_is_no_finding(pair: Pair) -> None:
    listener = pair.listener(options=TWO)
    pair.on.publish("note", b"{}", message_id="m1")
    assert len(admitted(listener, taken(listener, 1), TWO)) == 1
    assert of_keys(pair) == []
    (known,) = pair.client.zrange(pair.keys.listeners, 0, -1)
    pair.client.zadd(pair.keys.listeners, {known: 1})
    (finding,) = of_keys(pair)
    listener.beating()()
    assert not pair.broker().doctor.repair(finding), "it sends heartbeats again"


def test_slots_and_marks_of_runs_without_a_record_are_named_and_removed(ward: Ward) -> None:
    me = ward.listed()
    runs = {GONE + b"/1": "slot begun counted", f"{me}/1".encode(): "", f"{me}/2".encode(): "slot begun counted"}
    for number, run in enumerate(runs):
        ward.client.zadd(ward.keys.slots, {b"ns fn:note\0" + run: 0})
        ward.client.hset(ward.keys.begun, f"q\0m{number}", run)
        ward.client.hset(ward.keys.counted, run, 1)
    ward.client.expire(ward.keys.counted, 100)
    found = ward.found()
    assert sorted(one.kind for one in found) == ["begun", "begun", "counted", "counted", "slot", "slot"]
    (slot,) = (one for one in found if one.kind == "slot" and GONE.decode() in one.what)
    assert slot.what == f"a slot of ns fn:note is taken by a run ({GONE.decode()}/1) that no listener has"
    assert ward.repaired() == [True] * 6
    assert ward.client.zrange(ward.keys.slots, 0, -1) == [b"ns fn:note\0" + me.encode() + b"/1"]
    assert ward.client.hgetall(ward.keys.begun) == {b"q\0m1": me.encode() + b"/1"}
    assert ward.client.hkeys(ward.keys.counted) == [me.encode() + b"/1"]
    assert ward.found() == []
    assert not any(ward.doctor.repair(one.subject) for one in found)


def test_a_mark_that_another_run_has_taken_meanwhile_stays(ward: Ward) -> None:
    me = ward.listed()
    ward.client.hset(ward.keys.begun, "q\0m", GONE + b"/1")
    (finding,) = ward.found()
    ward.client.hset(ward.keys.begun, "q\0m", f"{me}/1")
    assert not ward.doctor.repair(finding.subject)
    assert ward.client.hlen(ward.keys.begun) == 1


def test_a_listed_listener_without_records_is_named_and_removed(ward: Ward) -> None:
    ward.client.zadd(ward.keys.listeners, {GONE: 5})
    (finding,) = ward.found()
    assert finding.kind == "half-listed"
    assert ward.repaired() == [True]
    assert ward.client.zcard(ward.keys.listeners) == 0


def test_counts_of_crashes_without_an_expiry_get_one(ward: Ward) -> None:
    ward.client.hset(ward.keys.crashes, "q\0m", 1)
    (finding,) = ward.found()
    assert (finding.kind, finding.about) == ("own-expiry", (ward.keys.crashes,))
    assert ward.repaired() == [True]
    assert 0 < ward.client.ttl(ward.keys.crashes) <= 604_800
    assert not ward.doctor.repair(finding.subject)


FAR = 9e17
UNREAD: dict[str, tuple[str, str, Any]] = {
    "control": ("hash", "paused:fn:x", b"\xff"),
    "slots": ("zset", "no run", 0),
    "rates": ("zset", "start:x", FAR),
    "begun": ("hash", "q\0m", "no run"),
    "counted": ("hash", "no run", 2),
    "crashes": ("hash", "q\0m", "x"),
    "unique_until": ("zset", "key", FAR),
    "unique": ("hash", "key", "m1"),
}


@pytest.mark.parametrize("key", UNREAD)
def test_what_cannot_be_read_is_named_and_removed(ward: Ward, key: str) -> None:
    kind, name, value = UNREAD[key]
    place = getattr(ward.keys, key)
    put(ward.client, place, kind, name, value)
    (finding,) = (one for one in ward.found() if one.kind != "own-expiry")
    assert (finding.kind, finding.about, finding.repairs) == ("unread", (name,), True)
    assert finding.what.startswith(f"{place} holds ")
    put(ward.client, place, kind, name, 1)
    assert not ward.doctor.repair(finding.subject), "it is another value now"
    put(ward.client, place, kind, name, value)
    assert ward.doctor.repair(finding.subject)
    assert not ward.client.exists(place)


def put(client: Any, place: str, kind: str, name: str, value: Any) -> None:
    if kind == "hash":
        client.hset(place, name, value)
    else:
        client.zadd(place, {name: value})


def test_what_cannot_be_read_of_a_listener_is_named_and_removed(ward: Ward) -> None:
    me = ward.listed()
    ward.client.hset(ward.keys.running(me), mapping={"2": "x", "info": "x"})
    ward.client.hset(ward.keys.progress(me), "1", "{")
    ward.client.zadd(ward.keys.slots, {f"ns fn:note\0{me}/1": 7})
    assert [one.kind for one in ward.found()] == ["unread"] * 4
    assert ward.repaired() == [True] * 4
    assert set(ward.client.hkeys(ward.keys.running(me))) == {b"@", b"1"}
    assert ward.client.zscore(ward.keys.slots, f"ns fn:note\0{me}/1") == 0, "the slot itself is right"
    assert ward.found() == []


def test_a_key_of_a_wrong_type_is_named(ward: Ward) -> None:
    ward.client.set(ward.keys.slots, "x")
    (finding,) = ward.found()
    assert (finding.kind, finding.about, finding.repairs) == ("wrong-type", (ward.keys.slots,), False)


def test_a_redis_that_does_not_answer_is_a_finding(server: Server, name: str) -> None:
    keys = Keys("/", name)
    nobody = Beside(connect("redis://127.0.0.1:1/", schedule=keys.prefix), keys)
    (finding,) = BesideDoctor(beside=nobody, exchange=name).findings()
    assert (finding.kind, finding.about) == ("unchecked", ("redis",))


def test_a_checkup_changes_nothing(ward: Ward) -> None:
    ward.listed()
    for key, (kind, name, value) in UNREAD.items():
        put(ward.client, getattr(ward.keys, key), kind, name, value)
    before = {key: ward.client.dump(key) for key in ward.client.scan_iter(f"{ward.keys.prefix}*")}
    assert ward.found()
    assert {key: ward.client.dump(key) for key in ward.client.scan_iter(f"{ward.keys.prefix}*")} == before
