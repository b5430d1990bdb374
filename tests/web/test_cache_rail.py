"""What the rail counts: what pages have counted, and the rest for who stays."""

from __future__ import annotations

import re
from typing import Any

from tests import handlers
from tests.processes import until
from tests.web.conftest import Browser
from workkit import schedule
from workkit.contract.limit_use import LimitUse
from workkit.errors import Unsupported
from workkit.schedule import Schedule
from workkit.web.cache_rail import FRESH_S, Rail


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
    return Rail(inspector=lambda: inspector, **how)


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
    rail._counts["limits"] = (1, rail._counts["limits"][1] - FRESH_S)  # a minute later
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
