"""Which listeners have died, as pulses show it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.servers import Server
from tests.web.conftest import Browser, text_of
from workkit.brokers.native.keys import Keys
from workkit.contract.inspector import Counts, Pulse
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.web.cache_deaths import Deaths

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
RUNS = (Job(id="a" * 40, schedule="s", fn="f"), Job(id="b" * 40, schedule="s", fn="f"))


def pulse(seconds: int, *beats_ms: int, listeners: int | None = None) -> Pulse:
    """A pulse some seconds later, with listeners 0, 1, ... by the age of their beats; below 0: gone."""
    found = tuple(
        ListenerInfo(listener=f"batch-{n}", host="h", pid=1, version="1", schedules={"s": 1}, threads=4,
                     beat_ms=beat_ms, up_ms=60_000, state="listening", running=RUNS)
        for n, beat_ms in enumerate(beats_ms) if beat_ms >= 0
    )  # fmt: skip
    at = NOW + timedelta(seconds=seconds)
    count = len(found) if listeners is None else listeners
    return Pulse(now_ms=round(at.timestamp() * 1000), counts=Counts(listeners=count), listeners=found)


def told(*pulses: Pulse) -> list[tuple[str, datetime, int]]:
    deaths = Deaths()
    for one in pulses:
        deaths.note(one)
    return [(death.listener, death.at, death.jobs) for death in deaths.lately(NOW + timedelta(seconds=60))]


def test_one_that_was_silent_and_is_gone_has_died() -> None:
    seen = (pulse(0, 100, 100), pulse(8, 100, 8_000), pulse(15, 100, 15_000), pulse(16, 100, -1), pulse(17, 100, -1))
    assert told(*seen) == [("batch-1", NOW, 2)]


def test_one_that_ended_by_itself_or_is_there_again_has_not() -> None:
    assert told(pulse(0, 100, 100), pulse(1, 100, -1)) == []
    assert told(pulse(0, 6_000), pulse(1, 100), pulse(2, -1)) == []


def test_one_that_is_beyond_those_that_are_told_has_not() -> None:
    assert told(pulse(0, 100, 6_000), pulse(1, 100, -1, listeners=2)) == []


def test_it_is_told_for_an_hour() -> None:
    deaths = Deaths()
    for one in (pulse(0, 6_000), pulse(1, -1)):
        deaths.note(one)
    assert len(deaths.lately(NOW)) == 1
    assert not deaths.lately(NOW + timedelta(minutes=61))


def test_now_says_so(browser: Browser, s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    now_ms = int(client.time()[0]) * 1000
    client.zadd(keys.listeners, {"batch-1:7:0123456789ab": now_ms - 7000, "web-1:7:0123456789ab": now_ms})
    assert "batch-1:7:0123456789ab has been silent" in text_of(browser.get(f"/s/{s.name}/"))
    client.zrem(keys.listeners, "batch-1:7:0123456789ab")
    assert " died at " in text_of(browser.get(f"/s/{s.name}/")).partition("Needs you")[2]
