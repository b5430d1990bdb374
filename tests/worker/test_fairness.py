"""How much work a listener claims: more than it has threads only while jobs are short."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests import handlers
from tests.metronome import Metronome
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.worker import counting

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def held(s: schedule.Schedule) -> list[int]:
    return [len(info.running) for info in schedule.listeners(s)]


def test_no_listener_holds_more_long_jobs_than_it_has_threads(s: schedule.Schedule) -> None:
    schedule.add_many(s, [{"fn": handlers.slow, "at": "now", "args": [0.3]}] * 24)
    most = 0
    with schedule.listener(s, threads=4, **HOW), schedule.listener(s, threads=4, **HOW):
        until(lambda: sum(held(s)) == 8)
        while schedule.counts(s).due or schedule.counts(s).running:
            most = max(most, *held(s))
    assert most == 4


def test_long_jobs_after_short_ones_spread_over_listeners(
    s: schedule.Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "FORGET", 0.1)
    with schedule.listener(s, threads=4, **HOW), schedule.listener(s, threads=4, **HOW):
        schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [n]} for n in range(500)])
        until(lambda: len(handlers.calls) == 500 and not schedule.counts(s).running)
        time.sleep(2 * counting.FORGET)
        schedule.add_many(s, [{"fn": handlers.slow, "at": "now", "args": [0.3]}] * 24)
        most = 0
        while schedule.counts(s).due or schedule.counts(s).running:
            most = max(most, *held(s))
    assert most == 4


def test_of_short_jobs_it_takes_many_at_once(server: Server, s: schedule.Schedule) -> None:
    with schedule.listener(s, threads=2, **HOW):
        schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [n]} for n in range(200)])
        until(lambda: len(handlers.calls) == 200)
        server.client().config_resetstat()
        schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [n]} for n in range(2000)])
        until(lambda: len(handlers.calls) == 2200)
        until(lambda: not schedule.counts(s).running)
    calls = server.client().info("commandstats")["cmdstat_evalsha"]["calls"]
    assert calls < 200, f"{calls} scripts for 2,000 jobs"
    assert sorted(n for (n,) in handlers.calls[200:]) == list(range(2000))


def test_when_jobs_turn_out_long_the_rest_goes_back_to_others(s: schedule.Schedule, machine: Metronome) -> None:
    with schedule.listener(s, threads=2, **HOW) as first:
        schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [n]} for n in range(500)])
        until(lambda: len(handlers.calls) == 500)
        schedule.add_many(s, [{"fn": handlers.wait_for_gate, "at": "now"}] * 12)
        until(lambda: schedule.counts(s).due == 10 and held(s) == [2])
        with schedule.listener(s, threads=10, **HOW):
            began = time.monotonic()
            until(lambda: handlers.calls.count("begun") == 12)
            assert time.monotonic() - began < 2 + machine.slack
            handlers.gate.set()
            until(lambda: not schedule.counts(s).running)
    handlers.gate.clear()
    assert first.wait().given_back == 0
    assert {job.attempt for job in schedule.jobs(s)} == set()
