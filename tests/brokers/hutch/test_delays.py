"""Our delays on a real broker: no message waits behind another."""

from __future__ import annotations

import json

from tests.brokers.hutch.opened import Opened, new
from workkit.brokers.hutch import compose

APART_MS = 300
DELAYS = (5, 1, 4, 0.5, 3, 2)  # in units of APART_MS; 0.5 comes first


def test_a_short_delay_does_not_wait_behind_a_long_one(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    broker.add([new({"n": 0}, due_ms=broker.now_ms() + 60_000)])  # the whole ladder is declared now
    long_ms = broker.now_ms() + 60_000
    broker.add([new({"n": n}, due_ms=long_ms) for n in range(50)])
    now_ms = broker.now_ms()
    due = {round(10 * delay): now_ms + round(delay * APART_MS) for delay in DELAYS}
    for n, due_ms in due.items():
        body = json.dumps({"n": n}).encode()
        on.publish_message(compose.new(on.names, "note", body, now_ms=now_ms, due_ms=due_ms))
    arrived = []
    for _ in due:
        n = json.loads(on.got(queue)[2])["n"]
        assert broker.now_ms() >= due[n], "before its time"
        arrived.append(n)
    assert arrived == sorted(due)
    assert broker.now_ms() < long_ms - 20_000, "only as late as a busy machine is"
    assert on.count(queue) == 0


def test_messages_that_no_queue_takes_block_no_others(on: Opened) -> None:
    queue, broker = on.bound("note"), on.broker()
    now_ms = broker.now_ms()
    broker.add([new({}, "nobody", due_ms=now_ms + 1000)])  # the ladder is declared now
    for key in [*["nobody"] * 100, "note"]:
        on.publish_message(compose.new(on.names, key, b"{}", now_ms=now_ms, due_ms=now_ms + 20))
    assert on.got(queue)[2] == b"{}"
