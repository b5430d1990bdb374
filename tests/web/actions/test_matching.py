"""Acts on all jobs of a list: those that its filter means, no more than were seen, and in portions."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests import handlers
from tests.processes import until
from tests.web.conftest import Browser, Open, text_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.actions import perform
from workkit.web.auth import Local

JSON = {"accept": "application/json"}


@pytest.fixture
def filled(s: Schedule) -> Schedule:
    for n in range(4):
        schedule.add(s, handlers.note, args=(n,), every="hour", name=f"report-{n}")
    schedule.add(s, handlers.note, args=("password", {"token": "hunter2"}), every="hour", name="other")
    return s


def post(browser: Browser, s: Schedule, verb: str, **fields: Any) -> httpx.Response:
    return browser.post(f"/s/{s.name}/do/{verb}", {"token": browser.token(f"/s/{s.name}/"), **fields}, headers=JSON)


def paused(s: Schedule) -> list[str]:
    return sorted(job.name or "" for job in schedule.jobs(s, state="paused"))


ALL = [f"report-{n}" for n in range(4)]


@pytest.mark.parametrize("chosen", ["recurring", "jobs"])
def test_all_that_a_filter_means_are_paused_and_resumed_by_undo(
    browser: Browser, filled: Schedule, chosen: str
) -> None:
    answer = post(browser, filled, "pause", all=chosen, q="name:report-*", seen="4", reason="a move")
    assert answer.status_code == 200, answer.text
    assert sorted(answer.json()["done"]) == ALL
    assert paused(filled) == ALL
    assert schedule.counts(filled).paused == 4
    assert post(browser, filled, "undo", of=answer.json()["undo"]).status_code == 200
    assert paused(filled) == []


def test_only_those_of_the_list_are_meant(browser: Browser, filled: Schedule) -> None:
    schedule.pause(filled, "report-1")
    answer = post(browser, filled, "resume", all="recurring", show="paused", seen="1")
    assert (answer.status_code, answer.json()["done"]) == (200, ["report-1"])
    answer = post(browser, filled, "run", all="jobs", state="paused")
    assert (answer.json()["done"], answer.json()["line"]) == ([], "No job matches any more.")
    assert post(browser, filled, "pause", all="jobs", q="hunter2").json()["done"] == []  # a masked value is not found
    assert paused(filled) == []


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"all": "recurring", "seen": "3"}, 409, "5 jobs match now, and 3 were seen"),
        ({"all": "recurring", "seen": "many"}, 409, "5 jobs match now"),
        ({"all": "everything"}, 400, 'all="everything" is no list'),
        ({"all": "jobs", "state": "asleep"}, 400, 'state="asleep" is not accepted'),
        ({"all": "recurring", "show": "x"}, 400, 'show="x" is not accepted'),
        ({"all": "recurring", "q": "late:x"}, 400, "late:"),
        ({"all": "", "chosen": "1"}, 400, "No job is selected"),
    ],
)
def test_what_is_not_meant_changes_nothing(
    browser: Browser, filled: Schedule, fields: dict[str, str], status: int, says: str
) -> None:
    answer = post(browser, filled, "pause", **fields)
    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.text
    assert paused(filled) == []
    assert not list(schedule.changes(filled))


def test_to_cancel_many_one_types_their_number(
    browser: Browser, filled: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perform, "MANY", 4)
    for typed in ("", "4", "all"):
        answer = post(browser, filled, "cancel", all="recurring", seen="5", typed=typed)
        assert (answer.status_code, "Type 5." in answer.json()["error"]) == (400, True)
    assert post(browser, filled, "cancel", all="recurring", seen="5", typed="5").status_code == 200
    assert schedule.counts(filled).waiting == 0


def test_more_than_a_portion_is_done_in_the_background(
    browser: Browser, filled: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perform, "PORTION", 2)
    answer = post(browser, filled, "pause", all="recurring")
    assert (answer.status_code, answer.json()["line"]) == (200, "Pausing 5.")
    until(lambda: len(paused(filled)) == 5, what="the pauses")
    until(lambda: "Paused 5." in text_of(browser.get(f"/s/{filled.name}/jobs")), what="the line")
    assert {change.via for change in schedule.changes(filled) if change.verb == "pause"} == {"web"}


def test_an_operator_cancels_none_that_recur(opened: Open, filled: Schedule) -> None:
    browser = opened(filled, way=Local(role="operator"))
    answer = post(browser, filled, "cancel", all="recurring", seen="5")
    assert answer.json()["done"] == []
    assert len(answer.json()["refused"]) == 5
    assert schedule.counts(filled).waiting == 5


def test_pages_offer_it_where_they_do_not_show_all(browser: Browser, s: Schedule) -> None:
    schedule.add_many(s, [{"fn": handlers.note, "args": [n], "every": "hour", "name": f"n-{n:02}"} for n in range(60)])
    for path in ("recurring", "jobs?state=waiting"):
        answer = browser.get(f"/s/{s.name}/{path}")
        assert "all 60 that match" in text_of(answer), path
        assert 'name="seen" value="60"' in answer.text
    assert "that match" not in text_of(browser.get(f"/s/{s.name}/recurring?q=name:n-0*"))
