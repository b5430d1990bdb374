from __future__ import annotations

import re
from typing import Any

import pytest

from tests import handlers
from tests.brokers.checkups import payload
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, headline, text_of
from tests.web.recurring_jobs import overdue
from workkit import schedule
from workkit.brokers.native.history.ring import entry_of
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def test_an_empty_schedule_shows_the_first_steps(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/")
    assert answer.status_code == 200
    assert headline(answer) == f"Nothing in {s.name} yet, and nobody listens."
    assert "Or try words here" in text_of(answer)
    assert f"workkit listen {s.name}" in answer.text
    assert f'<form action="/s/{s.name}/say"' in answer.text  # the third step: words to try


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


def test_a_run_is_told_beside_the_last_ones_of_its_job(browser: Browser, s: Schedule, server: Server) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    job = schedule.add(s, handlers.wait_for_gate, every="2 hours", name="gate", overlap="skip")
    ended = int(server.client().time()[0]) * 1000
    ring = (entry_of(ended - k, late_ms=4, took_ms=10_000 + k, ending="dead").encode() for k in range(60))
    server.client().hset(Keys(s.name).lately, "gate", bytes(16) + b"".join(ring))
    overdue(server, s, job, by_ms=65_000)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            (run,) = browser.json(f"/s/{s.name}.json")["running"]
            assert (run["usual_ms"], run["p95_ms"], run["done"]) == (10_029, 10_056, None)
            assert run["for_ms"] >= 65_000
            text = text_of(browser.get(f"/s/{s.name}/"))
            assert "· usually 10" in text
            assert "1 min" in text
            assert "longer than ever" in text
            assert 'A run of it has not ended. With overlap "skip", a run now is left out.' in text
            assert "Run now…" in text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_a_pause_is_the_headline(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="1 hour")
    schedule.pause(s, reason="migration")
    found = browser.json(f"/s/{s.name}.json")
    assert [need["sentence"] for need in found["needs"]] == [
        "Nobody listens.",
        f'{s.name} is paused: "migration". 1 job waits.',
    ]


def test_what_a_checkup_found_needs_somebody_and_is_not_the_headline(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    id, data = payload()
    server.client().hset(f"{s.name}:jobs", id, data)
    with schedule.listener(s, **HOW):
        until(lambda: browser.json(f"/s/{s.name}/doctor.json?older_than=1s")["is_over"], what="the checkup")
        found = browser.json(f"/s/{s.name}.json")
        assert found["sentence"] == "All on time."
        (fault,) = (need for need in found["needs"] if id[:8] in need["sentence"])
        assert fault["why"]


def test_a_function_that_each_listener_gave_back_is_named(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, "gone:away")
    with schedule.listener(s, **HOW):

        def said() -> bool:
            found = browser.json(f"/s/{s.name}.json")
            said = [need["sentence"] for need in found["needs"] if "gone.away" in need["sentence"]]
            return said == ["No listener can run gone.away."] or bool(
                len(said) == 1 and re.fullmatch(r"1 job is overdue by \d+ s: no listener can run gone\.away\.", said[0])
            )

        def checked() -> bool:
            browser.post(f"/s/{s.name}/do/checkup", {"token": token})
            return said()

        browser.get(f"/s/{s.name}/doctor")
        token = browser.token(f"/s/{s.name}/doctor")
        until(checked, what="the sentence")


def test_a_silent_listener_needs_somebody(browser: Browser, s: Schedule, server: Server) -> None:
    keys = Keys(s.name)
    client = server.client()
    with schedule.listener(s, **HOW):
        (name,) = client.zrange(keys.listeners, 0, -1)
        info = client.hget(keys.running(name.decode()), "info")
    assert info is not None
    client.zadd(keys.listeners, {name: int(client.time()[0]) * 1000 - 7_000})
    client.hset(keys.running(name.decode()), "info", info)
    (said,) = (need["sentence"] for need in browser.json(f"/s/{s.name}.json")["needs"] if "silent" in need["sentence"])
    assert said.startswith(f"{name.decode()} has been silent for 7")


def test_jobs_that_wait_for_their_turn_of_a_rate_are_held(browser: Browser, s: Schedule) -> None:
    ids = {schedule.add_now(s, handlers.rare).id for _ in range(4)}
    schedule.drain(s, **HOW)
    text = text_of(browser.get(f"/s/{s.name}/"))
    assert "3 held by a limit or a rate" in text
    assert "0 to be tried again" in text
    now = browser.json(f"/s/{s.name}/.json")
    assert (now["counts"]["held"], now["counts"]["retrying"]) == (3, 0)
    listed = browser.json(f"/s/{s.name}/jobs.json?state=held")["jobs"]
    assert {job["id"] for job in listed} < ids
    assert {job["why"] for job in listed} == {"tests.handlers.rare is held by its rate 1/minute"}
    assert len(browser.json(f"/s/{s.name}/jobs.json?q=state:held")["jobs"]) == 3
    page = text_of(browser.get(f"/s/{s.name}/jobs/{listed[1]['id']}"))
    assert "held by its rate 1/minute. 2nd in line. Its turn comes in about 1 min" in page
