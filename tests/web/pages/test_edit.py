"""The answer below a When? box."""

from __future__ import annotations

import html
import re
import signal
from datetime import datetime
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open
from workkit import schedule
from workkit.schedule import Schedule


def test_words_are_answered_as_a_fragment(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="weekday at 9am", tz="Europe/Paris", name="digest")
    when = "every weekday at 9am, 1pm and 5pm"
    answer = browser.get(f"/s/{s.name}/say?when={quote(when)}&tz=Europe/Paris&job=digest&fragment=1")
    assert "<html" not in answer.text
    assert "every weekday at 9:00, 13:00 and 17:00 Europe/Paris" in answer.text
    assert "0 9,13,17 * * 1-5" in answer.text
    assert answer.text.count("<time") == 6
    assert "15 runs a week instead of 5." in answer.text
    assert 'class="new"' in answer.text
    assert 'class="ds"' in answer.text


def test_it_is_a_whole_page_when_no_fragment_is_asked_for(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/say?when=every+day+at+9am&tz=Asia/Tokyo")
    assert ">When?</h1>" in answer.text
    assert 'value="every day at 9am"' in answer.text
    assert "<option>Asia/Tokyo</option>" in answer.text
    assert "every day at 9:00 Asia/Tokyo" in answer.text


def test_what_it_suggests_is_taken_at_a_click(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/say?when=every+wekday+at+9am&suggested=every+weekday+at+9am")
    assert 'name="when" value="every weekday at 9am"' in answer.text
    assert "every weekday at 9:00" in answer.text


def test_a_misread_text_shows_where_and_what_was_meant(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/say?when=every+wekday+at+9am")
    assert "every <u>wekday</u> at 9am" in answer.text
    assert "“wekday” is not understood." in answer.text
    assert 'value="every weekday at 9am"' in answer.text
    record = browser.json(f"/s/{s.name}/say.json?when=every+wekday+at+9am")
    assert (record["understood"], record["position"]) == (False, 6)
    assert (record["given"], record["suggestion"]) == ("every wekday at 9am", "every weekday at 9am")


def test_a_herd_is_remarked_with_what_helps(browser: Browser, s: Schedule) -> None:
    for number in range(60):
        schedule.add(s, handlers.note, every="day at 9am", name=f"job-{number}")
    record = browser.json(f"/s/{s.name}/say.json?when=every+day+at+9am")
    assert record["remarks"][0] == {"sentence": "60 other jobs start at 09:00:00.", "spread": "5 minutes"}
    assert len(browser.json(f"/s/{s.name}/say.json?when=every+day+at+10am")["remarks"]) == 0


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ("every 2 seconds", "It runs every 2 s"),
        ("every feb 29", "days"),
        ("every 15 minutes between 9am and 5pm", "The last run of the day is at 17:45."),
    ],
)
def test_what_is_unusual_is_remarked(browser: Browser, s: Schedule, when: str, says: str) -> None:
    remarks = browser.json(f"/s/{s.name}/say.json?when={quote(when)}")["remarks"]
    assert any(says in one["sentence"] for one in remarks), remarks


@pytest.mark.parametrize(
    "when", ["0 0 31 2 *", "\x00\x07‮", "<b>9am</b>", "* * * * * * * * *", "every day" * 100, "9" * 900]
)
def test_nothing_that_is_typed_breaks_it(browser: Browser, s: Schedule, when: str) -> None:
    answer = browser.get(f"/s/{s.name}/say?when={quote(when)}")
    assert answer.status_code == 200
    assert "<b>9am" not in answer.text
    assert "‮" not in answer.text
    assert not browser.json(f"/s/{s.name}/say.json?when={quote(when)}")["understood"]


def test_a_text_of_a_hundred_kilobytes_is_refused_at_once(browser: Browser, s: Schedule) -> None:
    token = browser.token(f"/s/{s.name}/")
    long = browser.post(f"/s/{s.name}/say", {"when": "x" * 60_000, "token": token})
    assert "The time has 60,000 characters. Accepted: at most 1,000." in long.text
    assert browser.post(f"/s/{s.name}/say", {"when": "x" * 100_000, "token": token}).status_code == 413
    assert browser.get(f"/s/{s.name}/say?when={'x' * 50_000}").status_code == 200


def test_a_plan_that_owns_a_job_is_named(browser: Browser, s: Schedule) -> None:
    schedule.sync(s, {"digest": {"fn": handlers.note, "every": "weekday at 9am"}}, by="ada")
    text = browser.get(f"/s/{s.name}/jobs/digest/edit").text
    assert "A plan owns this job." in text
    assert "sync of ada" in text
    assert "[digest]\nfn = &#34;tests.handlers:note&#34;" in text


def test_a_namespace_of_pools_has_the_form_and_says_what_it_cannot(opened: Open, server: Server, name: str) -> None:
    pools = schedule.create(name, redis=server.url, layout="gocraft")
    browser = opened(pools)
    record = browser.json(f"/s/{name}/new.json?when=in+5+minutes&fn=send_email")
    assert (record["listeners"], record["answer"]["understood"]) == (None, True)
    token = browser.token(f"/s/{name}/new")
    fields = {"token": token, "when": "in 5 minutes", "fn": "send_email", "kwargs": '{"to": "a@b.c"}', "tz": "UTC"}
    json = {"accept": "application/json"}
    assert browser.post(f"/s/{name}/do/add", fields, headers=json).status_code == 200
    assert next(schedule.jobs(pools)).kwargs == {"to": "a@b.c"}
    refused = browser.post(f"/s/{name}/do/add", fields | {"when": "every day at 9am"}, headers=json)
    assert refused.status_code in (400, 501)
    assert browser.json(f"/s/{name}/-/jump.json?q=7pm+tomorrow")["hits"]


def test_what_somebody_has_typed_is_shown_to_nobody_else(opened: Open, own_server: Server, name: str) -> None:
    browser = opened(schedule.create(name, redis=own_server.url))
    token = browser.token(f"/s/{name}/new")
    fields = {"token": token, "laid": "", "when": "every hour", "fn": "f", "kwargs": '{"pin": "sesame1"}'}
    assert "sesame1" in browser.post(f"/s/{name}/new", fields).text
    own_server.end(signal.SIGKILL)
    answer = browser.get(f"/s/{name}/new")
    assert answer.status_code == 503
    assert "sesame1" not in answer.text


def test_the_end_of_a_pause_is_answered_as_pause_reads_it(opened: Open, server: Server, name: str) -> None:
    paris = schedule.create(name, redis=server.url, tz="Europe/Paris")
    browser = opened(paris)
    found = browser.json(f"/s/{name}/say.json?until=tomorrow+at+9am")
    (at,) = found["next"]
    assert datetime.fromisoformat(at).astimezone(ZoneInfo("Europe/Paris")).hour == 9
    said = browser.get(f"/s/{name}/say?until=tomorrow+at+9am&fragment=1").text
    assert re.search(r"until \w+ \d+ \w+ \d{4} at 09:00 Europe/Paris = 0[78]:00 UTC, in ", said)
    for text, trouble in (
        ("tomorow", "is not understood"), ("yesterday at 9am", ""), ("every day", "recurs"),
        ("2020-01-01T09:00Z", "has passed"),
    ):  # fmt: skip
        answer = browser.get(f"/s/{name}/say?until={quote(text)}&fragment=1")
        assert 'class="no"' in answer.text, text
        assert trouble in answer.text
        assert browser.json(f"/s/{name}/say.json?until={quote(text)}")["error"], text
    assert 'class="no"' not in browser.get(f"/s/{name}/say?until=&fragment=1").text


def test_a_job_with_long_arguments_gets_another_time_and_keeps_them(browser: Browser, s: Schedule) -> None:
    long = "0123456789 " * 10_000
    schedule.add(s, handlers.note, every="day at 9am", name="long", args=["short", long], kwargs={"more": [long]})
    page = browser.get(f"/s/{s.name}/jobs/long/edit")
    fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page.text)}
    assert len(page.text) < 100_000
    assert "short" in fields["args"]
    fields |= {"which": "long", "when": "every day at 10am"}
    answer = browser.post(f"/s/{s.name}/do/edit", fields, headers={"accept": "application/json"})
    assert answer.status_code == 200, answer.text
    job = schedule.job(s, "long")
    assert (job.args, job.kwargs) == (("short", long), {"more": [long]})
    assert job.due is not None
    assert job.due.hour == 10
