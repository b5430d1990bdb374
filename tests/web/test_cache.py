"""What is kept of a schedule between requests: what was read, the counts of the rail, listeners that died."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, text_of
from workkit import schedule
from workkit.brokers.native.codec import Codec
from workkit.brokers.native.keys import Keys
from workkit.contract.inspector import Counts, LimitUse, Pulse
from workkit.contract.listener import ListenerInfo
from workkit.errors import ServerUnreachable, Unsupported
from workkit.jobs.admission import Control
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.triggers import Trigger
from workkit.verbs.opening import producer_of
from workkit.web import cache as served_room
from workkit.web.cache import Deaths, Served
from workkit.web.pages.planned_jobs import read_planned_jobs
from workkit.web.works import COUNTED_S, Checkup, Rail, in_use

NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(served_room, "time", found)
    return found


@pytest.fixture
def served(s: Schedule) -> Served:
    checkup = Checkup(doctor=lambda: producer_of(s).doctor, patience="PT1M")
    return Served(s=s, zone=UTC, checkup=checkup)


def test_what_is_kept_is_given_while_a_thread_reads_it_again(clock: Clock, served: Served) -> None:
    may_end = Event()
    assert served.fresh("x", lambda: 1) == 1
    clock.now += 4
    assert served.fresh("x", lambda: 2) == 1
    clock.now += 2
    assert [served.fresh("x", lambda: may_end.wait(60) and 3) for _ in range(3)] == [1, 1, 1]
    may_end.set()
    until(lambda: served.fresh("x", lambda: 4) == 3, what="the thread to read")


def test_what_is_too_old_or_was_read_for_something_else_is_read_at_once(clock: Clock, served: Served) -> None:
    assert served.fresh("x", lambda: 1, given="a") == 1
    assert served.fresh("x", lambda: 2, given="b") == 2
    clock.now += 10
    assert served.fresh("x", lambda: 3, given="b") == 3


def test_what_is_known_of_many_jobs_is_given_while_it_is_read_again_and_its_age_is_told(
    clock: Clock, browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_room, "MANY", 1)
    page = f"/s/{s.name}/recurring"
    for n in range(2):
        schedule.add(s, handlers.note, every="hour", name=f"job-{n}")
    assert "It is being read again." not in text_of(browser.get(page))
    schedule.add(s, handlers.note, every="hour", name="new")
    clock.now += 90
    said = text_of(browser.get(page))
    assert "A part of this page was read 1 min 30 s ago. It is being read again." in said
    assert "All 2" in said
    until(lambda: "All 3" in text_of(browser.get(page)), what="the new job")
    assert "It is being read again." not in text_of(browser.get(page))
    schedule.cancel(s, "new")
    clock.now += 120
    assert "All 2" in text_of(browser.get(page)), "nothing so old is shown"


def test_what_was_read_while_somebody_acts_is_read_again(clock: Clock, served: Served) -> None:
    def read() -> int:
        served.forget()
        return 1

    assert (served.fresh("x", read), served.fresh("x", lambda: 2)) == (1, 2)


def test_a_thread_that_cannot_read_leaves_it_to_who_asks_later(clock: Clock, served: Served) -> None:
    asked = Event()

    def fail() -> int:
        asked.set()
        raise ServerUnreachable("the server does not answer")

    served.fresh("x", lambda: 1)
    clock.now += 6
    assert served.fresh("x", fail) == 1
    assert asked.wait(60)
    clock.now += 6
    with pytest.raises(ServerUnreachable):
        served.fresh("x", fail)


def counting(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[object]:
    """Count the calls of a method, which does what it did."""
    calls: list[object] = []
    method = getattr(owner, name)

    def counted(self: Any, *args: Any, **how: Any) -> Any:
        calls.append(args)
        return method(self, *args, **how)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_jobs_with_names_are_decoded_once_and_only_new_rows_are_looked_into(
    served: Served, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(20):
        schedule.add(s, handlers.note, args=(n,), every="hour", name=f"job-{n}")
    schedule.add(s, handlers.note, args=(20,), in_="1 hour", name="once")
    first = read_planned_jobs(served, Control(), {}, now=NOW)
    assert [row.next(NOW) for row in first] == [datetime(2030, 1, 1, 1, tzinfo=UTC)] * 20
    decoded, asked = counting(monkeypatch, Codec, "decode"), counting(monkeypatch, Trigger, "next_after")
    schedule.add(s, handlers.note, args=(21,), every="day", name="new")
    asked.clear()
    served.forget()
    second = read_planned_jobs(served, Control(), {}, now=NOW)
    old = {row.name: row for row in first}
    assert [row.name for row in second if row is not old.get(row.name)] == ["new"]
    for row in second:
        row.next(NOW)
    assert len(decoded) == 1
    assert len(asked) <= 3  # its period, and its next run
    assert "once" in served.named()
    assert len(decoded) == 1


SEEN_AT = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
RUNS = (Job(id="a" * 40, schedule="s", fn="f"), Job(id="b" * 40, schedule="s", fn="f"))


def pulse(seconds: int, *beats_ms: int, listeners: int | None = None) -> Pulse:
    """A pulse some seconds later, with listeners 0, 1, ... by the age of their beats; below 0: gone."""
    found = tuple(
        ListenerInfo(listener=f"batch-{n}", host="h", pid=1, version="1", schedules={"s": 1}, threads=4,
                     beat_ms=beat_ms, up_ms=60_000, state="listening", running=RUNS)
        for n, beat_ms in enumerate(beats_ms) if beat_ms >= 0
    )  # fmt: skip
    at = SEEN_AT + timedelta(seconds=seconds)
    count = len(found) if listeners is None else listeners
    return Pulse(now_ms=round(at.timestamp() * 1000), counts=Counts(listeners=count), listeners=found)


def told(*pulses: Pulse) -> list[tuple[str, datetime, int]]:
    deaths = Deaths()
    for one in pulses:
        deaths.note(one)
    return [(death.listener, death.at, death.jobs) for death in deaths.lately(SEEN_AT + timedelta(seconds=60))]


def test_one_that_was_silent_and_is_gone_has_died() -> None:
    seen = (pulse(0, 100, 100), pulse(8, 100, 8_000), pulse(15, 100, 15_000), pulse(16, 100, -1), pulse(17, 100, -1))
    assert told(*seen) == [("batch-1", SEEN_AT, 2)]


def test_one_that_ended_by_itself_or_is_there_again_has_not() -> None:
    assert told(pulse(0, 100, 100), pulse(1, 100, -1)) == []
    assert told(pulse(0, 6_000), pulse(1, 100), pulse(2, -1)) == []


def test_one_that_is_beyond_those_that_are_told_has_not() -> None:
    assert told(pulse(0, 100, 6_000), pulse(1, 100, -1, listeners=2)) == []


def test_it_is_told_for_an_hour() -> None:
    deaths = Deaths()
    for one in (pulse(0, 6_000), pulse(1, -1)):
        deaths.note(one)
    assert len(deaths.lately(SEEN_AT)) == 1
    assert not deaths.lately(SEEN_AT + timedelta(minutes=61))


def test_now_says_so(browser: Browser, s: Schedule, server: Server) -> None:
    keys, client = Keys(s.name), server.client()
    now_ms = int(client.time()[0]) * 1000
    client.zadd(keys.listeners, {"batch-1:7:0123456789ab": now_ms - 7000, "web-1:7:0123456789ab": now_ms})
    assert "batch-1:7:0123456789ab has been silent" in text_of(browser.get(f"/s/{s.name}/"))
    client.zrem(keys.listeners, "batch-1:7:0123456789ab")
    assert " died at " in text_of(browser.get(f"/s/{s.name}/")).partition("Needs you")[2]


class Looking:
    """An inspector that counts how often it is asked."""

    def __init__(self, *, recurs: bool = True) -> None:
        self.asked, self._recurs = 0, recurs

    def recurring(self) -> list[int]:
        self.asked += 1
        if not self._recurs:
            raise Unsupported("nothing recurs here")
        return [1, 2, 3]

    def limits(self) -> list[LimitUse]:
        return [LimitUse(key="schedule", used=1), LimitUse(key="over:a", used=1), LimitUse(key="over:b", waiting=1)]


def rail_of(inspector: Any, **how: Any) -> Rail:
    counts = {"recurring": lambda: len(inspector.recurring()), "limits": lambda: in_use(inspector.limits())}
    return Rail(counts=counts, **how)


def test_a_glance_counts_nothing_and_who_stays_has_it_counted_once() -> None:
    looking = Looking()
    rail = rail_of(looking, stays_s=3600)
    assert [rail.glance() for _ in range(3)] == [{}, {}, {}]
    rail.stays_s = 0
    rail.glance()
    until(lambda: rail.glance() == {"recurring": 3, "limits": 2}, what="the counts")
    assert looking.asked == 1


def test_what_a_page_has_counted_is_not_counted_again() -> None:
    looking = Looking()
    rail = rail_of(looking, stays_s=0)
    rail.note("recurring", 7)
    rail.note("limits", 1)
    assert [rail.glance() for _ in range(3)] == [{"recurring": 7, "limits": 1}] * 3
    rail._counts["limits"] = (1, rail._counts["limits"][1] - COUNTED_S)  # a minute later
    until(lambda: rail.glance() == {"recurring": 3, "limits": 2}, what="the counts")


def test_a_layout_that_cannot_count_is_asked_once_a_minute() -> None:
    looking = Looking(recurs=False)
    rail = rail_of(looking, stays_s=0)
    until(lambda: rail.glance() == {"limits": 2}, what="the count")
    until(lambda: not rail._is_counting, what="the end of the thread")
    assert rail.glance() == {"limits": 2}
    assert looking.asked == 1


def test_the_rail_shows_what_pages_have_counted(browser: Browser, s: Schedule) -> None:
    for n in range(3):
        schedule.add(s, handlers.note, every="day at noon", name=f"noon-{n}")
    browser.get(f"/s/{s.name}/limits")
    browser.get(f"/s/{s.name}/recurring")
    rail = browser.get(f"/s/{s.name}/dead").text.partition("<main")[0]
    for title, n in (("Recurring", 3), ("Limits", 0)):
        assert re.search(rf'{title}<span class="n">{n}</span>', rail), title
