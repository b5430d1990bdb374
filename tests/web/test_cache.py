"""What a schedule keeps of what was read: given while it is read again, never after an act; and read in part only."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.web.conftest import Browser, text_of
from workkit import schedule
from workkit.brokers.native.codec import Codec
from workkit.errors import ServerUnreachable
from workkit.jobs.admission import Control
from workkit.schedule import Schedule
from workkit.triggers import Trigger
from workkit.verbs.opening import producer_of
from workkit.web import cache as served_room
from workkit.web.cache import Served
from workkit.web.checkup import Checkup
from workkit.web.planning.recurring import read_rows

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
    return Served(name=s.name, zone=UTC, inspector=lambda: producer_of(s).inspector, checkup=checkup)


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
    first = read_rows(served, Control(), {}, now=NOW)
    assert [row.next(NOW) for row in first] == [datetime(2030, 1, 1, 1, tzinfo=UTC)] * 20
    decoded, asked = counting(monkeypatch, Codec, "decode"), counting(monkeypatch, Trigger, "next_after")
    schedule.add(s, handlers.note, args=(21,), every="day", name="new")
    asked.clear()
    served.forget()
    second = read_rows(served, Control(), {}, now=NOW)
    old = {row.name: row for row in first}
    assert [row.name for row in second if row is not old.get(row.name)] == ["new"]
    for row in second:
        row.next(NOW)
    assert len(decoded) == 1
    assert len(asked) <= 3  # its period, and its next run
    assert "once" in served.named()
    assert len(decoded) == 1
