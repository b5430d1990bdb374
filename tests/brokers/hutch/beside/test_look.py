"""What the Redis beside tells of running jobs and listeners."""

from __future__ import annotations

import threading
from typing import Any

import msgpack

from tests.brokers.hutch.beside import progress_handlers
from tests.brokers.hutch.beside.pair import Pair, meet, taken
from workkit import schedule
from workkit.brokers.hutch.beside.place import listeners, running
from workkit.jobs.outcome import DONE


def test_what_a_listener_holds_is_told_until_it_ends(pair: Pair) -> None:
    listener, beside = pair.listener(), pair.beside()
    pair.on.publish("note", b'{"n":1}', message_id="m1", headers={"workkit-due": 1_700_000_000_000})
    (claim,) = taken(listener, 1)
    listener.tell({claim.receipt: "[3, 10]"})
    (one,) = running(beside, pair.on.names)
    assert (one.queue, one.listener) == (pair.on.names.queue("note"), listener.listener)
    assert (one.job.id, one.job.fn, one.job.args, one.job.state) == ("m1", "note", ({"n": 1},), "running")
    assert (one.job.progress, one.job.attempt) == ((3, 10), 0)
    assert one.job.due is not None
    assert one.job.due.timestamp() == 1_700_000_000
    assert abs(one.began_ms - listener.now_ms()) < 60_000
    (info,) = listeners(beside, pair.on.names)
    assert (info.listener, info.host, info.threads, info.running) == (listener.listener, "here", 4, (one.job,))
    listener.claim(0, ends=[(claim, DONE)])
    assert running(beside, pair.on.names) == []
    assert not pair.client.exists(pair.keys.progress(listener.listener))
    listener.leave()
    assert listeners(beside, pair.on.names) == []
    assert pair.client.dbsize() == 0


def test_bytes_of_another_program_are_left_out(pair: Pair) -> None:
    listener, beside = pair.listener(), pair.beside()
    key = pair.keys.running(listener.listener)
    pair.client.hset(key, mapping={"7": b"\xc1", "8": msgpack.packb([1, 2]), "info": b"x"})
    listener.beating()()
    assert running(beside, pair.on.names) == []
    assert len(listeners(beside, pair.on.names)) == 1


def test_a_listener_with_a_heartbeat_at_no_time_is_listed(pair: Pair) -> None:
    listener, beside = pair.listener(), pair.beside()
    for beat in ("inf", "-inf", "1e300"):
        pair.client.zadd(pair.keys.listeners, {listener.listener: beat})
        (info,) = listeners(beside, pair.on.names)
        assert info.beat_ms is not None
        assert info.beat_ms >= 0


def test_a_run_tells_its_progress_and_its_check_in(pair: Pair) -> None:
    pair.listener().leave()
    go: threading.Event = progress_handlers.go
    go.clear()

    def told() -> Any:
        found = running(pair.beside(), pair.on.names)
        return found[0].job.progress if found else None

    s = pair.create()
    schedule.add_now(s, "note", args=[{}])
    how: dict[str, Any] = {
        "imports": ["tests.brokers.hutch.beside.progress_handlers"],
        "folder": None,
        "jobs": ["beside.tells"],
    }
    with schedule.listener(s, threads=1, **how):
        schedule.add_now(s, "beside.tells", args=[{}])
        meet(lambda: told() == (1, 2))
        go.set()
        meet(lambda: pair.client.hlen(pair.keys.begun) == 0)
    pair.on.channel.queue_delete(pair.on.names.queue("beside.tells"))
