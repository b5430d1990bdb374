"""No secret leaves the server: in no page, JSON, stream, act, error or log; and with `mask_all` a viewer sees no
argument.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open
from tests.web.live.watching import Stream, first_sent
from tests.web.security.places import TABLE, Place, everything, live
from workkit import call, current_job, schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local
from workkit.web.pages.registry import PAGES

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.security.test_masked"], "folder": None}
SECRET, ARGUMENT = "hunter2", "opensesame"
GIVEN: dict[str, Any] = {
    "args": ({"api_key": SECRET, "headers": [["Authorization", f"Bearer {SECRET}"]], "note": ARGUMENT},),
    "kwargs": {"password": SECRET, "deep": {"a": [{"client_secret": SECRET}]}, "n": ARGUMENT},
}


def tell(*_: Any, **__: Any) -> None:
    current_job().checkin(f"password={SECRET}")
    handlers.wait_for_gate()


def explode(*_: Any, password: str, n: str, **__: Any) -> None:
    try:
        raise LookupError(f"token={SECRET}, {password}")
    except LookupError as error:
        raise ValueError(f"login of {n} failed, {{'api_key': '{SECRET}'}}") from error


def wrong(*_: Any, password: str, **__: Any) -> None:
    raise ValueError(f"no login with {password}")


def make(*_: Any, **__: Any) -> dict[str, str]:
    return {"token": SECRET, "say": ARGUMENT}


def fill(s: Schedule) -> None:
    """Put the secret wherever a job, a run, a change or a pause can have one."""
    schedule.add(s, handlers.note, every="day at 2:30am", name="nightly", **GIVEN)
    schedule.add(s, handlers.note, every="day at 3:30am", name="nightly", **GIVEN | {"args": ({"token": SECRET},)})
    schedule.sync(s, {"planned": {"fn": handlers.note, "every": "day at 4am", "kwargs": GIVEN["kwargs"]}})
    schedule.add(s, handlers.note, in_="1 hour", name="once", unique=True, **GIVEN)
    schedule.add(s, handlers.note, in_="2 hours", **GIVEN)
    with schedule.batch(s, "import", then=call(handlers.note, 1, **GIVEN["kwargs"])) as batch:
        for fn in (handlers.note, wrong):
            batch.add(fn, **GIVEN)
    schedule.add(s, handlers.note, in_="1 hour", after=batch, **GIVEN)
    schedule.add(s, make, in_="1 hour", name="kept", keep="1 day", **GIVEN)
    schedule.add(s, explode, every="1 hour", name="failing", **GIVEN)
    for _ in range(3):
        schedule.add_now(s, explode, **GIVEN)
    schedule.add(s, explode, in_="1 hour", name="tried", retries=5, base="1 hour", **GIVEN)
    for name in ("failing", "kept", "tried"):
        schedule.run(s, name)
    schedule.pause(s, "nightly", reason=f"token={SECRET}")


@pytest.fixture
def full(s: Schedule) -> Iterator[Schedule]:
    """A schedule of secrets, with one job that runs and says one."""
    handlers.calls.clear()
    handlers.gate.clear()
    fill(s)
    schedule.drain(s, raise_errors=False, **HOW)
    schedule.add_now(s, tell, **GIVEN)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls[-1:] == ["begun"], what="the run")
            schedule.pause(s, reason=f"token={SECRET}")
            yield s
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_every_page_has_its_addresses() -> None:
    assert set(TABLE) == {page.name for page in PAGES}


def told(stream: Stream) -> str:
    return json.dumps(stream.events)


async def streams(browser: Browser, s: Schedule) -> str:
    """What the stream of Now and that of the pulse send first."""
    pages, lines = await first_sent(browser.app, live(s.name, ""), f"/s/{s.name}/live")
    return told(pages) + told(lines)


def test_no_page_json_or_stream_has_a_masked_value(opened: Open, full: Schedule) -> None:
    plain = opened(full)
    viewer = opened(full, way=Local(role="viewer"), mask_all=True)
    until(lambda: "password=" in plain.get(f"/s/{full.name}/").text, what="the check-in")
    for browser, hidden in ((plain, (SECRET,)), (viewer, (SECRET, ARGUMENT))):
        place = Place(browser, full.name)
        assert place.prints
        assert place.runs
        assert len(place.dead) == 5  # one alone recurs
        found = [
            (where, word, answer.text[max(0, (at := answer.text.index(word)) - 60) : at + 60])
            for where, answer in everything(place)
            for word in hidden
            if word in answer.text
        ]
        assert not found
        sent = browser.run(streams(browser, full))
        assert "patch" in sent
        assert not [word for word in hidden if word in sent]
        assert SECRET not in browser.get(f"/s/{full.name}/next.ics").text
    assert ARGUMENT in plain.get(f"/s/{full.name}/jobs").text  # what is no secret is shown


def test_pages_of_several_schedules_hide_the_same(opened: Open, full: Schedule, name: str, server: Server) -> None:
    other = schedule.create(f"{name}-2", redis=server.url)
    viewer = opened(full, other, way=Local(role="viewer"), mask_all=True)
    ids = [job.id for job in schedule.jobs(full)]
    for path in ("/", "/schedules.json", *(f"/-/jump?q={id[:8]}" for id in ids)):
        answer = viewer.get(path, headers={"accept": "application/json"} if "jump" in path else {})
        assert answer.status_code == 200
        assert SECRET not in answer.text
        assert ARGUMENT not in answer.text


def test_a_filter_does_not_find_what_is_masked(opened: Open, full: Schedule) -> None:
    plain = opened(full)
    viewer = opened(full, way=Local(role="viewer"), mask_all=True)
    for browser, word, finds in ((plain, ARGUMENT, True), (plain, SECRET, False), (viewer, ARGUMENT, False)):
        for page, rows in (("jobs", "jobs"), ("dead", "jobs"), ("runs", "runs"), ("recurring", "recurring")):
            for q in (word, f"args:{word}", f"error:{word}"):
                answer = browser.get(f"/s/{full.name}/{page}.json", params={"q": q, "by": "job"})
                if answer.status_code == 400:  # no qualifier of this page
                    continue
                is_found = bool(answer.json()[rows])
                assert not is_found or finds, (page, q)
        assert bool(browser.json(f"/s/{full.name}/jobs.json?q={word}")["jobs"]) == finds
        assert bool(browser.json(f"/s/{full.name}/-/jump.json?q={word}")["hits"]) == finds


def test_acts_their_errors_and_their_log_have_no_masked_value(
    opened: Open, full: Schedule, caplog: pytest.LogCaptureFixture
) -> None:
    browser, name = opened(full), full.name
    id = schedule.job(full, "once").id
    dead = browser.json(f"/s/{name}/dead.json?by=job")["jobs"][0]["dead"]
    shown = {"fn": "tests.handlers:note", "when": "in 2 hours", "which": "once", "name": "once"}
    orders: list[tuple[str, dict[str, Any]]] = [
        ("pause", {"which": "planned", "reason": f"token={SECRET}"}), ("resume", {"which": "planned"}),
        ("run", {"which": "once"}), ("skip", {"which": "planned"}), ("edit", {**shown, "seen": "0" * 40}),
        ("arguments", {"which": "once", "kwargs": json.dumps({"password": SECRET})}),
        ("change-arguments", {"which": dead, "args": json.dumps({"password": SECRET})}),
        ("add", {**shown, "which": "", "args": f'[{{"token":"{SECRET}"}}]'}),
        ("retry", {"which": dead}), ("cancel", {"which": [id, "planned"]}), ("cancel", {"which": id[:6]}),
    ]  # fmt: skip
    token = browser.token(f"/s/{name}/")
    with caplog.at_level(logging.DEBUG, "workkit.web"):
        for verb, fields in orders:
            for accept in ("application/json", "text/html"):
                answer = browser.post(f"/s/{name}/do/{verb}", {"token": token, "number": verb, **fields},
                                      headers={"accept": accept})  # fmt: skip
                assert answer.status_code < 500
                assert SECRET not in answer.text + str(answer.headers)
    assert len(caplog.records) >= len(orders) - 3
    assert SECRET not in caplog.text
    assert SECRET not in browser.get(f"/s/{name}/changes.jsonl").text


def test_the_attempts_of_a_job_do_not_show_its_masked_values(opened: Open, s: Schedule) -> None:
    """History has no arguments; the page of the job has them, and hides what they hide."""
    id = schedule.add(s, wrong, in_="1 hour", retries=5, base="1 hour", kwargs=GIVEN["kwargs"]).id
    schedule.run(s, id)
    schedule.drain(s, raise_errors=False, **HOW)
    answer = opened(s).get(f"/s/{s.name}/jobs/{id}")
    assert "no login with" in answer.text
    assert SECRET not in answer.text + opened(s).get(f"/s/{s.name}/jobs/{id}.json").text


POSITIONAL, ISSUED = "correct horse battery", "sk_live_4eC39HqLyjWDarjtT1zdp7dc"


def login(user: str, password: str, *secrets: str) -> None:
    raise ValueError(f"no login of {user} with {ISSUED}")


def test_positional_arguments_are_masked_by_the_parameters_that_listeners_tell(opened: Open, s: Schedule) -> None:
    """Also once the listeners are gone, and no page waits for them."""
    given = ("ann@example.com", POSITIONAL, f"{POSITIONAL} staple")
    schedule.add(s, login, args=given, in_="1 hour", name="once")
    schedule.add(s, login, args=given, every="day at 9am", name="nightly")
    schedule.add(s, handlers.note, args=("note", ISSUED), in_="2 hours", name="issued")
    dead = schedule.add_now(s, login, args=given).id
    plain, pages = opened(s), (f"/s/{s.name}/", f"/s/{s.name}/jobs/once")
    assert any(POSITIONAL in plain.get(path).text for path in pages)  # nobody tells what it is
    with schedule.listener(s, **HOW):
        until(lambda: schedule.job(s, dead).state == "dead", what="the dead job")
        until(lambda: POSITIONAL not in plain.get(pages[1]).text, what="the names of the parameters")
    for browser in (plain,):
        place = Place(browser, s.name)
        assert (len(place.dead), len(place.jobs)) == (1, 4)
        found = [(where, word) for where, answer in everything(place, more=1)
                 for word in (POSITIONAL, ISSUED) if word in answer.text]  # fmt: skip
        assert not found
        sent = browser.run(streams(browser, s))
        assert "ann@example.com" in sent + browser.get(f"/s/{s.name}/jobs").text
        assert not [word for word in (POSITIONAL, ISSUED) if word in sent]
    for q in (ISSUED, ISSUED[:8], "correct", f"arg:{ISSUED}", f'arg:"{POSITIONAL}"', "arg:correct", 'args:"correct"'):
        for page in ("jobs", "dead", "recurring"):
            answer = plain.get(f"/s/{s.name}/{page}.json", params={"q": q, "by": "job"})
            if answer.status_code != 400:
                assert not answer.json()["jobs" if page != "recurring" else page], (page, q)
    assert len(plain.json(f"/s/{s.name}/jobs.json?q=ann@example.com")["jobs"]) == 3
