"""Another time from the browser: everything else stays, it is said back, and Undo brings back what was."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.actions.test_editing import FULL
from tests.web.actions.test_jobs import act, contents, undone
from tests.web.conftest import Browser, Open, text_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local


def digest(s: Schedule, **more: Any) -> Any:
    return schedule.add(s, handlers.note, every="weekday at 9am", tz="Europe/Paris", name="digest", **more)


@pytest.mark.parametrize("more", [{}, FULL, {"count": 5, "unique_key": "k"}], ids=["plain", "options", "key"])
@pytest.mark.parametrize("paused", [False, True])
def test_another_time_is_undone_exactly(
    browser: Browser, s: Schedule, server: Server, more: dict[str, Any], paused: bool
) -> None:
    digest(s, **more)
    schedule.skip(s, "digest")
    if paused:
        schedule.pause(s, "digest", reason="a move")
    stood, before = schedule.job(s, "digest"), contents(server, s)
    answer = act(browser, s, "reschedule", which="digest", when="weekday at 8am", seen=stood.id)
    assert "Rescheduled digest: every weekday at 8:00 Europe/Paris" in text_of(answer), text_of(answer)
    after = schedule.job(s, "digest")
    assert (after.options, after.terms, after.args, after.state) == (
        stood.options,
        stood.terms,
        stood.args,
        stood.state,
    )
    assert "Put digest back: every weekday at 9:00 Europe/Paris" in text_of(undone(browser, s, answer))
    assert contents(server, s) == before
    assert [(change.verb, change.via) for change in schedule.changes(s)][:2] == [("reschedule", "web")] * 2


def test_a_job_without_a_name_gets_its_id_back(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, in_="1 hour")
    before = contents(server, s)
    answer = act(browser, s, "reschedule", which=job.id, when="2099-01-05 9am", tz="America/New_York")
    (after,) = schedule.jobs(s)
    assert after.due is not None
    assert (after.due.hour, after.due.year) == (14, 2099)
    undone(browser, s, answer)
    assert contents(server, s) == before


def test_what_somebody_else_has_changed_stays(browser: Browser, s: Schedule, server: Server) -> None:
    seen = digest(s)
    answer = act(browser, s, "reschedule", which="digest", when="every day at 8am")
    schedule.reschedule(s, "digest", every="day at 7am")
    before = contents(server, s)
    assert "digest changed meanwhile: it is now every day at 7:00" in text_of(undone(browser, s, answer))
    late = act(browser, s, "reschedule", which="digest", when="every day at 8am", seen=seen.id)
    assert "digest changed meanwhile" in text_of(late)
    assert "is not understood" in text_of(act(browser, s, "reschedule", which="digest", when="every weekdy at 8am"))
    assert contents(server, s) == before


def test_a_job_of_a_plan_says_so(browser: Browser, s: Schedule) -> None:
    schedule.sync(s, {"digest": {"fn": handlers.note, "every": "day at 9am"}})
    said = text_of(act(browser, s, "reschedule", which="digest", when="day at 8am"))
    assert "A plan owns it; the next sync sets it back." in said


def test_the_form_stands_beside_edit_for_those_who_may(opened: Open, s: Schedule) -> None:
    digest(s)
    once = schedule.add(s, handlers.note, in_="1 hour")
    for which in ("digest", once.id):
        for role, count in (("editor", 1), ("operator", 0)):
            page = opened(s, way=Local(role=role)).get(f"/s/{s.name}/jobs/{which}").text  # type: ignore[arg-type]
            assert len(re.findall(r'action="[^"]*/do/reschedule"', page)) == count
