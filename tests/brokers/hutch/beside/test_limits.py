"""Limits and rates over all listeners that name the same Redis."""

from __future__ import annotations

import json
import time

import pytest

from tests import handlers
from tests.brokers.hutch.beside.pair import Pair, admitted, meet, taken, wanted
from workkit import schedule
from workkit.brokers.hutch.beside import gate
from workkit.contract.listener import Claim
from workkit.jobs.outcome import Done
from workkit.jobs.run_options import RunOptions

TWO = RunOptions(limit=2)


def publish(pair: Pair, n: int, **body: object) -> None:
    for number in range(n):
        pair.on.publish("note", json.dumps({"n": number, **body}).encode(), message_id=f"m{number}")


def numbers(claims: list[Claim]) -> list[int]:
    return sorted(claim.args[0]["n"] for claim in claims)


def test_a_limit_holds_over_two_listeners_and_a_freed_slot_starts_the_next(pair: Pair) -> None:
    first, second = pair.listener(options=TWO), pair.listener(options=TWO)
    publish(pair, 2)
    running = admitted(first, taken(first, 2, limit=2), TWO)  # no more is pushed to it
    assert numbers(running) == [0, 1]
    pair.on.publish("note", b'{"n":2}', message_id="m2")
    waiting = taken(second, 1)
    turn = second.admit([(claim, wanted(claim, TWO)) for claim in waiting])
    assert turn.claims == []
    assert turn.wake_in_ms is not None
    assert 0 < turn.wake_in_ms <= 200
    assert second.claim(5).claims == []
    first.claim(0, ends=[(running[0], Done())])
    (started,) = taken(second, 1)
    assert started.args == ({"n": 2},)
    assert admitted(second, [started], TWO) == [started]
    assert pair.client.zcard(pair.keys.slots) == 2
    first.claim(0, ends=[(running[1], Done())])
    second.claim(0, ends=[(started, Done())])
    assert pair.client.zcard(pair.keys.slots) == 0


def test_claims_that_wait_take_no_room_from_others(pair: Pair) -> None:
    """A queue whose limit is full is not read for ever, and a value of `limit_key` does not hold up another one."""
    options = RunOptions(limit=1, limit_key=lambda body: body["who"])
    listener = pair.listener(options=options)
    publish(pair, 6, who="a")
    (running,) = admitted(listener, taken(listener, 6), options)
    pair.on.publish("note", b'{"n":9,"who":"b"}', message_id="b")
    (other,) = admitted(listener, taken(listener, 1, limit=1), options)
    assert other.args[0]["who"] == "b"
    left, n = [running, other], 0
    while left:
        listener.claim(0, ends=[(left.pop(), Done())])
        n += 1
        left += admitted(listener, list(listener.claim(5).claims), options)
    assert n == 7


def test_a_listener_stops_reading_a_queue_of_which_too_much_waits(pair: Pair) -> None:
    listener = pair.listener(options=TWO)
    publish(pair, 60)
    found: list[Claim] = []
    running: list[Claim] = []

    def settled() -> bool:
        claims = list(listener.claim(10).claims)
        found.extend(claims)
        running.extend(admitted(listener, claims, TWO))
        return pair.on.count(pair.on.names.queue("note")) > 0 and not claims

    meet(settled)
    assert len(running) == 2
    assert len(found) < 60, "it took all that it could not run"
    seen = set()
    while running:
        claim = running.pop()
        seen.add(claim.args[0]["n"])
        listener.claim(0, ends=[(claim, Done())])
        while not running and len(seen) < 60:
            running += admitted(listener, list(listener.claim(2).claims), TWO)
    assert seen == set(range(60))


def test_a_slot_of_a_dead_listener_comes_free(pair: Pair) -> None:
    dies, lives = pair.listener(options=TWO, patience=1.0), pair.listener(options=TWO, patience=1.0)
    publish(pair, 2)
    assert len(admitted(dies, taken(dies, 2), TWO)) == 2
    dies._in.close()  # the process is gone: it says nothing to Redis
    held = taken(lives, 2)
    assert admitted(lives, held, TWO) == []
    started: list[Claim] = []
    reaped: list[tuple[str, int]] = []

    def both_run() -> bool:
        lives.beating()()
        reaped.extend(lives.maintain())
        started.extend(admitted(lives, list(lives.claim(5).claims), TWO))
        return len(started) == 2

    meet(both_run)
    assert [jobs for _, jobs in reaped] == [2]
    assert numbers(started) == [0, 1]


def test_starts_keep_a_rate_over_two_listeners(pair: Pair) -> None:
    options = RunOptions(rate_ms=200.0)
    listeners = [pair.listener(options=options), pair.listener(options=options)]
    publish(pair, 5)
    starts: list[float] = []

    def all_started() -> bool:
        for listener in listeners:
            for claim in admitted(listener, list(listener.claim(5).claims), options):
                starts.append(time.monotonic())
                listener.claim(0, ends=[(claim, Done())])
        return len(starts) == 5

    meet(all_started)
    assert starts[-1] - starts[0] >= 0.7, "4 turns of 200 ms, each at most 50 ms early"


def test_the_limit_of_a_schedule_holds_for_all_its_functions(pair: Pair) -> None:
    s = pair.create(limit=1)
    listener = pair.listener()
    schedule.add_now(s, "note", args=[{"n": 0}])  # says the limit
    listener.beating()()
    publish(pair, 2)
    turn = listener.claim(5)
    claims = [*turn.claims, *taken(listener, 3 - len(turn.claims))]
    control = listener._gate.control  # type: ignore[attr-defined]
    assert (control.limit, pair.broker().inspector.control().limit) == (1, 1)
    running = listener.admit([(claim, claim.admission(RunOptions(), control)) for claim in claims]).claims
    assert len(running) == 1


def test_programs_of_other_namespaces_have_limits_of_their_own(pair: Pair) -> None:
    here, there = pair.listener(options=TWO), pair.listener(options=TWO, namespace="billing")
    publish(pair, 2)
    assert len(admitted(here, taken(here, 2), TWO)) == 2
    assert len(admitted(there, taken(there, 2), TWO)) == 2
    pair.on.channel.queue_delete("billing:note")


def test_a_whole_listener_runs_everything_under_a_limit(pair: Pair) -> None:
    s = pair.create(limit=1, rate="200/second")
    pair.listener().leave()
    for n in range(6):
        schedule.add_now(s, "note", args=[{"n": n}])
    handlers.calls.clear()
    with schedule.listener(s, imports=["tests.handlers"], folder=None, jobs=["note"], threads=4):
        meet(lambda: len(handlers.calls) == 6)
    assert sorted(call[0]["n"] for call in handlers.calls) == list(range(6))
    assert pair.client.exists(pair.keys.slots, pair.keys.listeners, pair.keys.begun) == 0


def test_what_waits_too_long_goes_back_to_other_listeners(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "PATIENCE", 0.1)
    full, free = pair.listener(options=TWO), pair.listener(options=TWO)
    publish(pair, 3)
    running = admitted(full, taken(full, 3, limit=3), TWO)
    assert len(running) == 2

    def is_back() -> bool:
        full.beating()()
        return len(full._session._held) == 2

    meet(is_back, wait=lambda: time.sleep(0.02))
    (claim,) = taken(free, 1)
    assert (claim.args, claim.crashes) == (({"n": 2},), 0)


def test_a_value_under_its_limit_gets_a_chance_behind_many_that_wait(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "PATIENCE", 0.1)
    monkeypatch.setattr(gate, "MOST", 4)
    monkeypatch.setattr(gate, "AWAY_MS", 300)
    options = RunOptions(limit=1, limit_key=lambda body: body["who"])
    listener = pair.listener(options=options, threads=1)
    publish(pair, 12, who="a")
    pair.on.publish("note", b'{"n":99,"who":"b"}', message_id="b")
    running = admitted(listener, taken(listener, 1, limit=1), options)
    started: list[Claim] = []

    def other_started() -> bool:
        listener.beating()()
        started.extend(admitted(listener, list(listener.claim(1).claims), options))
        return bool(started)

    meet(other_started, wait=lambda: time.sleep(0.01))
    assert [claim.args[0]["who"] for claim in started] == ["b"]
    left = [*running, *started]
    seen: list[int] = []
    while len(seen) < 13:
        for claim in left:
            seen.append(claim.args[0]["n"])
            listener.claim(0, ends=[(claim, Done())])
        left = admitted(listener, list(listener.claim(1).claims), options)
    assert sorted(seen) == [*range(12), 99]
