"""Undo of a skip, a run and a cancellation: the keys of the server are as before, or the undo is refused."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.actions.test_jobs import act, contents, undone
from tests.web.conftest import Browser, text_of
from workkit import schedule
from workkit.contract.admin import NextRun, Undo
from workkit.errors import ChangedMeanwhile
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of
from workkit.web.actions.action import Order, Result, Results

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}


def add_recurring(s: Schedule) -> str:
    """One that has every mark a job can have: a name, a unique key, a priority, a kept result, runs in its ring."""
    given: dict[str, Any] = {"unique": True, "priority": 3, "keep": "1 day"}
    return schedule.add(s, handlers.note, every="hour", name="nightly", args=(1,), **given).id


def add_once(s: Schedule) -> str:
    return schedule.add(s, handlers.note, in_="1 hour", name="nightly", args=(2,), priority=1, keep="1 day").id


def add_paused(s: Schedule) -> str:
    id = add_recurring(s)
    schedule.pause(s, "nightly", reason="migration")
    return id


def add_plain(s: Schedule) -> str:
    return schedule.add(s, handlers.note, in_="1 hour", args=(3,)).id


@pytest.mark.parametrize(
    ("verb", "added"),
    [
        ("skip", add_recurring),
        *(("run", added) for added in (add_recurring, add_once, add_plain)),
        *(("cancel", added) for added in (add_recurring, add_once, add_paused, add_plain)),
    ],
)
def test_an_undo_leaves_every_key_as_it_was(
    browser: Browser, s: Schedule, server: Server, verb: str, added: Any
) -> None:
    id = added(s)
    before = contents(server, s)
    done = act(browser, s, verb, which=id)
    assert contents(server, s) != before
    answer = undone(browser, s, done)
    assert contents(server, s) == before
    assert {"skip": "again", "run": "does not run now", "cancel": "is back"}[verb] in text_of(answer)
    assert schedule.changes(s, limit=1)[0].verb == f"undo {verb}"


def test_an_undone_skip_takes_its_entry_out_of_a_full_ring(browser: Browser, s: Schedule, server: Server) -> None:
    add_recurring(s)
    for _ in range(61):
        schedule.skip(s, "nightly")
    before = contents(server, s)
    done = act(browser, s, "skip", which="nightly")
    undone(browser, s, done)
    assert contents(server, s) == before


def test_a_run_since_a_skip_stays_in_the_ring_when_the_skip_is_undone(
    browser: Browser, s: Schedule, server: Server
) -> None:
    id = add_recurring(s)
    skipped = act(browser, s, "skip", which="nightly")
    schedule.run(s, "nightly")
    schedule.drain(s, **HOW)
    undone(browser, s, skipped)
    assert [run.ending for run in schedule.runs(s, id)] == ["done"]


def test_an_undo_takes_its_place_only_once(browser: Browser, s: Schedule) -> None:
    add_recurring(s)
    cancelled = act(browser, s, "cancel", which="nightly")
    undone(browser, s, cancelled)
    assert "can no longer be undone" in undone(browser, s, cancelled).text


@pytest.mark.parametrize(
    ("verb", "meanwhile", "said"),
    [
        ("skip", lambda s: schedule.skip(s, "nightly"), "nightly has another next run by now. Now: "),
        ("skip", lambda s: schedule.pause(s, "nightly"), "a listener has its next run. Now: "),
        ("run", lambda s: schedule.drain(s, **HOW), "nightly has begun its run, or has ended it. Now: "),
        (
            "cancel",
            lambda s: schedule.add(s, handlers.fail, every="day", name="nightly"),
            "nightly is the name of another job by now. Now: ",
        ),
        ("cancel", add_recurring, "nightly was added again meanwhile, and is as it was added. Now: "),
    ],
)
def test_an_undo_is_refused_where_the_job_is_another_by_now(
    browser: Browser, s: Schedule, server: Server, verb: str, meanwhile: Any, said: str
) -> None:
    add_recurring(s)
    token = browser.token(f"/s/{s.name}/")
    accept = {"accept": "application/json"}
    done = browser.post(f"/s/{s.name}/do/{verb}", {"token": token, "which": "nightly"}, headers=accept).json()
    meanwhile(s)
    before = contents(server, s)
    answer = browser.post(f"/s/{s.name}/do/undo", {"token": token, "of": done["undo"]}, headers=accept)
    assert answer.status_code == 409
    assert said in answer.json()["refused"][0]["error"]
    assert contents(server, s) == before


def test_no_form_can_ask_to_put_something_back(browser: Browser, s: Schedule) -> None:
    fields = {"token": browser.token(f"/s/{s.name}/"), "which": "nightly"}
    assert browser.post(f"/s/{s.name}/do/put back", fields).status_code == 404


def test_several_acts_with_undos_of_their_own_are_undone_together(
    browser: Browser, s: Schedule, server: Server
) -> None:
    add_recurring(s)
    plain = add_plain(s)
    for number in range(3):
        schedule.add(s, handlers.note, every="day", name=f"job-{number}", args=(number,))
    before = contents(server, s)
    which = ["nightly", plain, "job-0", "job-1", "job-2"]
    done = act(browser, s, "cancel", which=[*which, "nowhere"])
    assert "Cancelled 5 of 6; 1 is over." in text_of(done)
    assert 'no job "nowhere"' in text_of(done)
    undone(browser, s, done)
    assert contents(server, s) == before


def test_a_time_that_has_passed_is_not_put_back(s: Schedule, server: Server) -> None:
    add_recurring(s)
    admin, undos = producer_of(s).admin, list[Undo]()
    admin.by(None, undos=undos).reschedule([schedule.job(s, "nightly")], NextRun())[0]
    before = contents(server, s)
    with pytest.raises(ChangedMeanwhile, match="nightly is past the time that was left out"):
        admin.steer(replace(undos[0], until_ms=1_000))
    assert contents(server, s) == before


@pytest.mark.parametrize(
    ("until", "is_kept"), [(None, False), (timedelta(minutes=5), False), (timedelta(hours=2), True)]
)
def test_a_skip_can_be_undone_for_longer_than_other_acts(
    monkeypatch: pytest.MonkeyPatch, until: timedelta | None, is_kept: bool
) -> None:
    now, results = datetime.now(UTC), Results()
    order = Order(verb="undo", which=("nightly",), until=None if until is None else now + until)
    results.keep("session", "7", Result(done=("nightly",), lines=("Skipped.",), undo=(order,)), now=now)
    assert results.result("session", "7") is not None
    later = time.monotonic() + 700
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert (results.result("session", "7") is not None) is is_kept
