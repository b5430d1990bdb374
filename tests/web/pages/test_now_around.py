"""The drawings of Now, and what it finds in the time around now, on a real server."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def needs_of(browser: Browser, s: Schedule) -> list[str]:
    return [need["sentence"] for need in browser.json(f"/s/{s.name}.json")["needs"]]


def test_the_strip_counts_what_ran_and_what_is_planned(browser: Browser, s: Schedule) -> None:
    for n in range(3):
        schedule.add_now(s, handlers.note, args=(n,), unique=False)
    schedule.add_now(s, handlers.fail, retries=0)
    schedule.drain(s, raise_errors=False, **HOW)
    schedule.add(s, handlers.note, in_="20 minutes")
    schedule.add(s, handlers.note, args=(1,), in_="2 hours")
    found = browser.json(f"/s/{s.name}.json")
    assert (found["ran"], found["planned"]) == (4, 1)
    assert sum(minute["failed"] for minute in found["strip"]) == 1
    assert len(found["strip"]) == 121
    answer = browser.get(f"/s/{s.name}/")
    assert "4 runs past, 1 planned" in text_of(answer)
    assert "4 ran, 1 of them failed" in answer.text


def test_each_minute_leads_to_its_place_on_the_timeline(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="20 minutes")
    links = re.findall(r'<a href="([^"]*timeline\?[^"]*)" tabindex="-1">', browser.get(f"/s/{s.name}/").text)
    assert len(links) == 121
    assert browser.get(links[0].replace("&amp;", "&")).status_code == 200


def test_the_lateness_of_a_day_is_drawn(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note)
    assert schedule.drain(s, **HOW).ran == 1
    answer = browser.get(f"/s/{s.name}/")
    assert "Lateness in the last 24 hours: half of all starts within" in answer.text
    assert "half within" in text_of(answer)


def test_ten_deaths_of_one_error_need_somebody(browser: Browser, s: Schedule) -> None:
    for n in range(10):
        schedule.add_now(s, handlers.fail, args=(f"no space on /dev/{n}",), retries=0)
    schedule.add_now(s, handlers.discard)
    schedule.drain(s, raise_errors=False, **HOW)
    (died,) = (one for one in needs_of(browser, s) if "died" in one)
    assert re.fullmatch(r"10 jobs died of one error since \d\d:\d\d(:\d\d)?\.", died)
    assert "OSError: no space on /dev/" in text_of(browser.get(f"/s/{s.name}/"))


def test_nine_deaths_of_one_error_do_not(browser: Browser, s: Schedule) -> None:
    for n in range(9):
        schedule.add_now(s, handlers.fail, args=(f"no space on {n}",), retries=0)
    schedule.add_now(s, handlers.fail, args=("another error",), retries=0)
    schedule.drain(s, raise_errors=False, **HOW)
    assert not [one for one in needs_of(browser, s) if "died" in one]


def test_a_herd_needs_somebody(opened: Open, browser: Browser, s: Schedule) -> None:
    at = datetime.now(UTC) + timedelta(minutes=25)
    for n in range(55):
        schedule.add(s, handlers.slow, args=(0.1 + n / 1e6,), cron=f"{at.minute} {at.hour} * * *", name=f"n{n}")
    with schedule.listener(s, threads=2, **HOW):
        assert needs_of(browser, s) == []  # nobody knows how long they take
    for n in range(55):
        schedule.run(s, f"n{n}")
    with schedule.listener(s, threads=55, **HOW):
        until(lambda: sum(run.times for run in schedule.runs(s)) >= 55)
    with schedule.listener(s, threads=1, **HOW):
        (herd,) = needs_of(opened(s), s)  # a new process, which has kept nothing
    assert re.fullmatch(r"55 jobs are due at one second, (tomorrow )?\d\d:\d\d\.", herd)


def test_what_a_layout_does_not_tell_is_left_out(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add(s, "note", in_="20 minutes")
    answer = opened(s).get(f"/s/{name}/")
    assert "1 planned" in text_of(answer)
    assert "runs past" not in text_of(answer)
    assert headline(answer) == "Nobody listens."
