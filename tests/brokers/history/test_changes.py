"""The stream of changes: its bytes, its bound, and that it stops no change."""

from __future__ import annotations

import msgpack

from tests import handlers
from tests.servers import Server
from workkit import schedule
from workkit.brokers.native.changes import Act, packed_change, read_change
from workkit.contract.admin import Author

MOST, NODE = 10_000, 100  # entries; of one node of a stream, which is removed as a whole
WHO = Author(by="alice", via="cli")


def test_an_entry_has_the_fields_of_the_spec() -> None:
    packed = packed_change(WHO, Act(verb="sync", target="schedule", after={"added": ["a"]}, reason="x" * 300, times=2))
    fields = msgpack.unpackb(packed, raw=True)
    assert fields[:10] == [
        b"by",
        b"alice",
        b"via",
        b"cli",
        b"verb",
        b"sync",
        b"target",
        b"schedule",
        b"reason",
        b"x" * 200,
    ]
    said = dict(zip(fields[::2], fields[1::2], strict=True))
    assert said.keys() == {b"by", b"via", b"verb", b"target", b"reason", b"times", b"after"}
    assert packed_change(None, Act(verb="sync", target="schedule")) == b""
    read = read_change(b"1000-7", {**said, b"later": b"1"})
    assert read is not None
    assert (read.at.timestamp(), read.by, read.after, read.times) == (1.0, "alice", {"added": ["a"]}, 2)


def test_an_entry_of_any_bytes_is_none_or_a_change_without_them() -> None:
    whole = {b"verb": b"pause", b"target": b"schedule"}
    assert read_change(b"1-0", {b"verb": b"pause"}) is None
    assert read_change(b"99999999999999999-0", whole) is None
    assert read_change(b"1-0", {**whole, b"times": b"x"}) is None
    for state in (b"\xff", b"\xc1", msgpack.packb({"until": 1e300, "due": 2**63, 7: b"\xff"}), msgpack.packb([1, 2])):
        read = read_change(b"1-0", {**whole, b"before": state, b"by": b"\xff"})
        assert read is not None
        assert set(read.before) <= {"7"}


def test_changes_stay_within_their_bound(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    client, key = server.client(), f"{name}:changes"
    fields = {
        "by": "somebody@some-machine",
        "via": "cli",
        "verb": "pause",
        "target": "job:nightly",
        "reason": "migration",
    }
    with client.pipeline(transaction=False) as pipe:
        for _ in range(MOST + 5 * NODE):
            pipe.xadd(key, fields)
        pipe.execute()
    schedule.pause(s, by="alice")
    assert MOST <= client.xlen(key) <= MOST + NODE
    assert client.memory_usage(key, samples=0) < 2_000_000
    assert len(schedule.changes(s, limit=20_000)) == client.xlen(key)


def test_a_key_of_another_type_stops_no_change(server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url)
    job = schedule.add(s, handlers.note, every="hour", name="nightly")
    server.client().set(f"{name}:changes", "x")
    schedule.pause(s)
    schedule.resume(s)
    schedule.skip(s, job)
    schedule.run(s, job)
    schedule.cancel(s, job)
    assert server.client().get(f"{name}:changes") == b"x"
