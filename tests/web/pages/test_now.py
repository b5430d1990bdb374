from __future__ import annotations

from typing import Any

from tests import handlers
from tests.web.conftest import Browser, headline, text_of
from workkit import schedule
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def test_an_empty_schedule_shows_the_first_steps(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/")
    assert answer.status_code == 200
    assert headline(answer) == f"Nothing in {s.name} yet, and nobody listens."
    assert f"workkit listen {s.name}" in answer.text


def test_a_schedule_without_listeners_says_so_first(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, args=(1,), in_="1 hour", name="nightly")
    answer = browser.get(f"/s/{s.name}/")
    assert headline(answer) == "Nobody listens."
    assert "nightly" in text_of(answer)
    assert "59 min" in text_of(answer) or "1 h" in text_of(answer)


def test_a_schedule_whose_jobs_run_is_on_time(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note, args=(1,))
    with schedule.listener(s, **HOW):
        answer = browser.get(f"/s/{s.name}/")
        assert headline(answer) == "All on time."
        assert "Nothing needs you." in text_of(answer)


def test_a_pause_is_the_headline(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="1 hour")
    schedule.pause(s, reason="migration")
    found = browser.json(f"/s/{s.name}.json")
    assert [need["sentence"] for need in found["needs"]] == [
        "Nobody listens.",
        f'{s.name} is paused: "migration". 1 job waits.',
    ]
