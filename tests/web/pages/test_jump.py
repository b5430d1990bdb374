"""Jump: what a text finds, and what it means as a time."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local


def test_a_time_is_answered_with_what_may_be_done_then(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/-/jump?q=7pm+tomorrow")
    text = text_of(answer)
    assert " at 19:00 UTC, in " in text
    assert "Add a job at that time" in text
    assert f"Pause {s.name} until then…" in text
    assert 'href="/s/' + s.name + '/new?when=7pm%20tomorrow&amp;tz=UTC"' in answer.text
    until = browser.json(f"/s/{s.name}/-/jump.json?q=7pm+tomorrow")
    assert until["at"].endswith("T19:00:00.000Z")
    assert browser.json(f"/s/{s.name}/-/jump.json?q=every+weekday+at+9am")["words"] == "every weekday at 9:00 UTC"


def test_names_ids_pages_and_functions_are_found(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 9am", name="list-digest")
    once = schedule.add(s, handlers.note, at="tomorrow at 9am")
    with schedule.listener(s, imports=["tests.handlers"]):
        found = browser.json(f"/s/{s.name}/-/jump.json?q=list")["hits"]
        assert [hit["text"] for hit in found][:2] == ["list-digest", "Listeners"]  # then functions
        found = browser.json(f"/s/{s.name}/-/jump.json?q={once.id[:6]}")["hits"]
        assert [hit["path"] for hit in found] == [f"jobs/{once.id}"]
        found = browser.json(f"/s/{s.name}/-/jump.json?q=handlers:welcome")["hits"]
        assert [hit["path"] for hit in found] == ["new?fn=tests.handlers%3Awelcome"]
        form = browser.get(f"/s/{s.name}/{found[0]['path']}")
        assert 'name="p0"' in form.text


def test_jobs_are_found_by_their_arguments_as_far_as_these_are_shown(opened: Open, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, args=["customer-4711", "sk_live_abcdefghijkl"], in_="5 hours")
    schedule.add(s, handlers.note, kwargs={"x": "other-1"}, every="day at 9am", name="other-2")
    path = f"/s/{s.name}/-/jump.json"

    def paths(browser: Browser, q: str) -> list[str]:
        return [hit["path"] for hit in browser.json(path, params={"q": q})["hits"] if "jobs/" in hit["path"]]

    plain, viewer = opened(s), opened(s, way=Local(role="viewer"), mask_all=True)
    assert paths(plain, "CUSTOMER-47") == [f"jobs/{job.id}"]
    assert paths(plain, "arg:customer-4711") == [f"jobs/{job.id}"]
    assert paths(plain, "other-") == ["jobs/other-2"]
    for q in ("sk_live", "abcdefghijkl", "sk_live_abcdefghijkl"):
        assert paths(plain, q) == []
    assert paths(viewer, "customer") == []
    assert paths(viewer, "arg:customer-4711") == []
    assert paths(plain, 'arg:"') == []


def test_at_most_eight_are_found(browser: Browser, s: Schedule) -> None:
    for number in range(12):
        schedule.add(s, handlers.note, every="day at 9am", name=f"job-{number}")
    assert len(browser.json(f"/s/{s.name}/-/jump.json?q=job")["hits"]) == 8


@pytest.mark.parametrize("q", ["", "\x00‮", "x" * 900, "<script>alert(1)</script>", "zzzzzz", "deadbe" * 6])
def test_what_is_found_nowhere_is_said_so(browser: Browser, s: Schedule, q: str) -> None:
    answer = browser.get(f"/s/{s.name}/-/jump?q={quote(q)}")
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert browser.json(f"/s/{s.name}/-/jump.json?q={quote(q)}")["hits"] == []
    assert headline(answer)


def test_a_fragment_is_a_part_of_the_page(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/-/jump?q=now&fragment=1")
    assert answer.text.strip().startswith('<div id="jump-found">')
    assert 'id="jump-q"' in browser.get(f"/s/{s.name}/").text


def test_above_the_schedules_all_are_asked(opened: Open, s: Schedule, server: Server) -> None:
    other = schedule.create(f"{s.name}-low", redis=server.url)
    schedule.add(s, handlers.note, every="day at 9am", name="digest")
    schedule.add(other, handlers.note, every="day at 9am", name="digest")
    browser = opened(s, other, way=Local(role="viewer"))
    found = browser.json("/-/jump?q=digest", headers={"accept": "application/json"})["hits"]
    assert [(hit["schedule"], hit["text"]) for hit in found] == [(s.name, "digest"), (other.name, "digest")]
    page = browser.get("/-/jump?q=low")
    assert f'href="/s/{other.name}/"' in page.text
    assert "Pause" not in text_of(browser.get(f"/s/{s.name}/-/jump?q=7pm+tomorrow"))
    alone = opened(s)
    assert alone.get("/-/jump?q=digest").headers["location"] == f"/s/{s.name}/-/jump?q=digest"


@pytest.mark.parametrize("q", ["yesterday 3am", "2 hours ago", "yesterday", "2020-01-01T09:00Z"])
def test_a_time_that_has_passed_leads_to_the_timeline(browser: Browser, s: Schedule, q: str) -> None:
    found = browser.json(f"/s/{s.name}/-/jump.json?q={quote(q)}")
    at = datetime.fromisoformat(found["at"])
    assert at < datetime.now(UTC)
    assert [hit["text"] for hit in found["hits"]] == ["What ran then"]
    assert " ago" in text_of(browser.get(f"/s/{s.name}/-/jump?q={quote(q)}"))
    if "2020" not in q:  # else it lies further back than the Timeline reaches
        assert browser.get(f"/s/{s.name}/{found['hits'][0]['path']}").status_code == 200


def test_a_listener_is_found_by_its_name(browser: Browser, s: Schedule) -> None:
    with schedule.listener(s, imports=["tests.handlers"], folder=None, listener_name="batch-7"):
        (hit,) = browser.json(f"/s/{s.name}/-/jump.json?q=batch-7")["hits"]
    assert (hit["text"], hit["path"], hit["note"]) == ("batch-7", "listeners", "listener")


def test_the_fragment_says_that_nothing_is_found(browser: Browser, s: Schedule) -> None:
    assert "Nothing is called “zzzzzz”" in browser.get(f"/s/{s.name}/-/jump?q=zzzzzz&fragment=1").text
    assert "Nothing" not in browser.get(f"/s/{s.name}/-/jump?q=now&fragment=1").text


def test_an_error_of_the_dead_is_found_and_a_masked_text_is_not(browser: Browser, s: Schedule) -> None:
    for n in range(2):
        schedule.add_now(s, handlers.fail, args=[f"disk {n} is full, token=hunter2"])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    (hit,) = browser.json(f"/s/{s.name}/-/jump.json?q=is full")["hits"]
    assert hit["text"].startswith("OSError: disk ")
    assert hit["note"] == "2 dead"
    assert browser.get(f"/s/{s.name}/{hit['path']}").status_code == 200
    assert browser.json(f"/s/{s.name}/-/jump.json?q=hunter2")["hits"] == []
