from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, main_of, text_of
from tests.web.recurring_jobs import HOW, one_of_each, overdue
from workkit import schedule, wire
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule
from workkit.web.auth import Local


def titles(answer: httpx.Response) -> list[str]:
    return re.findall(r'<a class="name"[^>]*>([^<]*)</a>', answer.text)


def keys(browser: Browser, s: Schedule, query: str = "") -> list[str]:
    found = browser.json(f"/s/{s.name}/recurring.json{query}")["recurring"]
    return [one["name"] or "plain" for one in found]


def test_nothing_recurs(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="1 hour", name="once")
    answer = browser.get(f"/s/{s.name}/recurring")
    said = text_of(answer)
    assert f"Nothing recurs in {s.name}. New , or in Python:" in said
    assert f'<a class="link" href="/s/{s.name}/new">' in answer.text
    assert "schedule.add(s, every=" in said
    assert "Recurring" in browser.get(f"/s/{s.name}/").text


def test_trouble_comes_first_and_each_job_says_how_it_is(browser: Browser, s: Schedule, server: Server) -> None:
    plain = one_of_each(server, s)
    answer = browser.get(f"/s/{s.name}/recurring")
    assert titles(answer)[:3] == ["failing", "missed", "late"]
    assert titles(answer)[-1] == "tests.handlers.note", "below those with a name"
    said = text_of(answer)
    for words in (
        "failed 3 in a row", "late by 1 min", "missed", "paused the partner's API moves", "every 3 hours",
        "All 6", "Failing 1", "Late 1", "Missed 1", "Paused 1", '("plain")', "has not run", "p95",
    ):  # fmt: skip
        assert words in said, words
    assert said.count("Last 3 runs: 3 failed") == 0, "the sentence of a drawing is its label"
    assert 'aria-label="Last 3 runs: 3 failed' in answer.text
    assert f'href="/s/{s.name}/jobs/failing"' in answer.text
    found = {one["key"]: one for one in browser.json(f"/s/{s.name}/recurring.json")["recurring"]}
    assert (found["failing"]["trouble"], found["failing"]["failed_in_a_row"]) == (["failing"], 3)
    assert (found["missed"]["trouble"], found["late"]["trouble"], found["well"]["trouble"]) == (
        ["missed"],
        ["late"],
        [],
    )
    assert (found["paused"]["state"], found[plain.id]["last"]) == ("paused", None)


def test_tabs_filter_and_order(browser: Browser, s: Schedule, server: Server) -> None:
    one_of_each(server, s)
    assert keys(browser, s, "?show=failing") == ["failing"]
    assert keys(browser, s, "?show=late") == ["late"]
    assert keys(browser, s, "?show=missed") == ["missed"]
    assert keys(browser, s, "?show=paused") == ["paused"]
    assert keys(browser, s, "?sort=name") == ["failing", "late", "missed", "paused", "well", "plain"]
    assert keys(browser, s, "?sort=next&q=fn:fail") == ["failing"]
    assert keys(browser, s, "?q=every+2+hours") == ["late"]
    assert keys(browser, s, "?q=state:paused,failing&sort=name") == ["failing", "paused"]
    assert keys(browser, s, "?q=missed:%3E0") == ["missed"]
    assert keys(browser, s, "?q=late:%3E1min") == ["late"]
    assert set(keys(browser, s, "?sort=took")) == set(keys(browser, s))
    nothing = text_of(browser.get(f"/s/{s.name}/recurring?q=fn:nowhere&show=late"))
    assert 'No recurring job matches this filter: function is "nowhere" in the list late.' in nothing
    assert "zone:Europe" in nothing
    counted = browser.json(f"/s/{s.name}/recurring.json?q=fn:fail")["counts"]
    assert counted == {"all": 1, "failing": 1, "late": 0, "missed": 0, "paused": 0}


@pytest.mark.parametrize("query", ["?show=broken", "?sort=size", "?q=nothing:1", "?after=there"])
def test_what_is_not_accepted_is_refused(browser: Browser, s: Schedule, query: str) -> None:
    schedule.add(s, handlers.note, every="hour", name="hourly")
    answer = browser.get(f"/s/{s.name}/recurring.json{query}")
    assert answer.status_code == 400
    assert answer.json()["given"]


def test_an_overdue_run_and_one_that_is_going_on_are_never_next(browser: Browser, s: Schedule, server: Server) -> None:
    job = schedule.add(s, handlers.note, every="hour", name="hourly")
    overdue(server, s, job, by_ms=250_000)
    assert "overdue 4 min" in text_of(browser.get(f"/s/{s.name}/recurring"))


def test_a_run_that_goes_on(browser: Browser, s: Schedule, server: Server) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    job = schedule.add(s, handlers.wait_for_gate, every="hour", name="gate")
    overdue(server, s, job, by_ms=0)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            answer = browser.get(f"/s/{s.name}/recurring")
            assert "running" in text_of(answer)
            assert 'aria-label="One runs now."' in answer.text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_the_selected_jobs_are_paused_together(browser: Browser, s: Schedule) -> None:
    for name in ("a", "b", "c"):
        schedule.add(s, handlers.note, args=(name,), every="hour", name=name)
    address = f"/s/{s.name}/recurring"
    answer = browser.get(address)
    assert len(re.findall(r'<input class="pick" type="checkbox" form="chosen" name="which"', answer.text)) == 3
    form: dict[str, Any] = {"token": browser.token(address), "chosen": "1", "back": address, "reason": "a move"}
    done = browser.post(f"/s/{s.name}/do/pause", {**form, "which": ["a", "c"]})
    assert done.status_code == 303
    assert "Paused a. Paused c." in text_of(browser.get(done.headers["location"]))
    assert keys(browser, s, "?show=paused&sort=name") == ["a", "c"]


def test_nothing_selected_does_not_pause_the_schedule(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="hour", name="hourly")
    address = f"/s/{s.name}/recurring"
    answer = browser.post(f"/s/{s.name}/do/pause", {"token": browser.token(address), "chosen": "1", "back": address})
    assert (answer.status_code, "No job is selected" in answer.text) == (400, True)
    assert browser.json(f"/s/{s.name}.json")["counts"]["paused"] == 0


def test_a_viewer_has_no_boxes_and_no_acts(opened: Open, s: Schedule) -> None:
    schedule.add(s, handlers.note, args=({"password": "hunter2"},), every="hour")
    answer = opened(s, way=Local(role="viewer")).get(f"/s/{s.name}/recurring")
    assert "<form method" not in main_of(answer).replace('<form class="field" method="get"', "")
    assert "checkbox" not in main_of(answer)
    assert "hunter2" not in answer.text


def test_ten_thousand_jobs_cost_few_round_trips_and_come_in_pages(
    browser: Browser, s: Schedule, server: Server
) -> None:
    names, pipe = Keys(s.name), server.client().pipeline(transaction=False)
    for n in range(10_000):
        payload = wire.payload(
            cron="* * * * * 0 0", job="#'tests.handlers/note", args=(n,), extra={"opts": {"name": f"j{n:04}"}}
        )
        id = wire.job_id(payload)
        pipe.hset(names.jobs, id, payload)
        pipe.hset(names.names, f"j{n:04}", id)
        pipe.zadd(names.next, {f'{{"id":"{id}"}}': 4_000_000_000_000 + n})
    pipe.execute()
    client = server.client()

    def asked(path: str) -> int:
        before = sum(one["calls"] for one in client.info("commandstats").values())
        assert browser.get(path).status_code == 200
        return int(sum(one["calls"] for one in client.info("commandstats").values()) - before)

    address = f"/s/{s.name}/recurring"
    first = browser.json(f"{address}.json")
    assert (first["counts"]["all"], len(first["recurring"])) == (10_000, 50)
    assert first["recurring"][0]["key"] == "j0000"
    second = browser.json(f"{address}.json?after={first['next']}")
    assert [one["key"] for one in second["recurring"]][:2] == ["j0050", "j0051"]
    assert asked(address) < 60, "the pulse, and what the rows of the page need"
    assert "50 of 10,000" in text_of(browser.get(address))


def test_a_layout_that_does_not_list_them_says_so(opened: Open, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    answer = opened(s).get(f"/s/{s.name}/recurring")
    assert answer.status_code == 200
    assert "recurring jobs are known only to the pools" in text_of(answer)
    assert "recurring" in opened(s).json(f"/s/{s.name}/recurring.json")["unknown"]
