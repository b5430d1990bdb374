"""A checkup that is not in a hurry: between two pages it rests, and finds the same."""

from __future__ import annotations

import pytest

from tests.brokers.checkups import payload
from tests.servers import Server
from workkit import schedule
from workkit.brokers.redis_server import pages
from workkit.brokers.redis_server.doctor import Unhurried
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of


class Clock:
    """A clock of a thread that works for a second between any two looks at it."""

    def __init__(self) -> None:
        self.now, self.rested = 0.0, 0.0

    def thread_time(self) -> float:
        self.now += 1
        return self.now

    def sleep(self, seconds: float) -> None:
        self.rested += seconds


def test_it_rests_between_pages_and_finds_the_same(server: Server, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(pages, "time", clock)
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    s: Schedule = schedule.create(name, redis=server.url)
    id, data = payload()
    server.client().hset(f"{name}:jobs", id, data)
    schedule.add_many(s, ({"fn": "app:f", "in_": "1 hour", "args": [n]} for n in range(1_500)))
    doctor = producer_of(s).doctor
    kinds = {one.kind for one in doctor.checkup(patience_ms=1000)}
    assert clock.rested == 0, "who waits for it is in a hurry"
    assert {one.kind for one in Unhurried(doctor).checkup(patience_ms=1000)} == kinds >= {"no-item"}
    assert clock.rested >= 6 * pages.REST, "1,500 jobs and 1,500 items are some pages"
    rested = clock.rested
    list(doctor.checkup(patience_ms=1000))
    assert clock.rested == rested
