from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from urllib.parse import quote

import httpx
import msgpack
import pytest

from tests import handlers
from tests.contract.layouts import Gocraft
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, main_of, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule
from workkit.web.pages import jobs as page

FAR = "2030-01-01T00:00:00Z"


def links(text: str) -> list[str]:
    return [one.replace("&amp;", "&") for one in re.findall(r'href="([^"]+)"', text)]


def rows(browser: Browser, s: Schedule, query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = browser.json(f"/s/{s.name}/jobs.json?{query}")["jobs"]
    return found


def test_nothing_is_there(browser: Browser, s: Schedule) -> None:
    empty = browser.get(f"/s/{s.name}/jobs")
    assert headline(empty) == "No job here."
    assert f"/s/{s.name}/new" in links(empty.text)
    assert headline(browser.get(f"/s/{s.name}/jobs?state=held")) == "No job is held."


def test_tabs_have_counts_and_rows_lead_to_their_jobs(browser: Browser, s: Schedule) -> None:
    one = schedule.add_now(s, handlers.note, args=["secret stays"], name="digest")
    other = schedule.add(s, handlers.note, at=FAR, kwargs={"token": "abc123456"})
    answer = browser.get(f"/s/{s.name}/jobs")
    said = text_of(answer)
    assert "All 2 Running 0 Due 1 Waiting 1" in said
    assert 'tests.handlers.note ("secret stays")' in said
    assert "abc123456" not in answer.text
    for which in ("digest", other.id):
        assert f"/s/{s.name}/jobs/{which}" in links(answer.text)
    assert [job["id"] for job in rows(browser, s, "state=waiting")] == [other.id]
    assert [job["id"] for job in rows(browser, s, "state=due")] == [one.id]
    assert browser.get(f"/s/{s.name}/jobs?state=lost").status_code == 400


def test_a_pause_is_said_on_the_clock_of_the_page(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, at=FAR, name="digest")
    until = datetime(2031, 1, 1, 12, tzinfo=UTC)
    schedule.pause(s, "digest", reason="the partner moves, token=hunter2", until=until)
    for path in ("jobs", "jobs/digest"):
        said = text_of(browser.get(f"/s/{s.name}/{path}", headers={"cookie": "workkit_zone=Asia/Tokyo"}))
        assert re.search(r"aused until Wed 1 Jan 2031 21:00 Asia/Tokyo: the partner moves, token=••••••", said), path


def test_a_filter_with_qualifiers(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, at=FAR, args=["ada"])
    schedule.add(s, handlers.fail, at=FAR)
    named = schedule.add(s, handlers.welcome, at=FAR, args=["bob"], name="hello")

    def found(q: str) -> list[object]:
        return [job["fn"] for job in rows(browser, s, f"q={quote(q)}")]

    assert found("fn:fail") == [handlers_name("fail")]
    assert found("ada") == [handlers_name("note")]
    assert found(f"id:{named.id[:8]}") == found("name:hello") == [handlers_name("welcome")]
    assert found("name:hello fn:note") == []
    assert found("due:<1h") == []
    answer = browser.get(f"/s/{s.name}/jobs?q={quote('fn:nobody')}")
    assert headline(answer).startswith('No job here: function is "nobody". A filter may say id:, name:, ')
    refused = browser.get(f"/s/{s.name}/jobs.json?q=fnn:x")
    assert (refused.status_code, refused.json()["suggestion"]) == (400, "fn:")


def handlers_name(name: str) -> str:
    return f"#'tests.handlers/{name}"


def test_an_exact_filter_is_one_lookup(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, at=FAR, name="hello")
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': 5_000 + n for n in range(5_000)})
    found = browser.json(f"/s/{s.name}/jobs.json?q=name:hello")
    assert (len(found["jobs"]), found["looked"], found["next"]) == (1, 0, None)


def test_looking_ends_in_time_and_goes_on(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LOOK_MS", 0.0)
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': 2_000_000_000_000 + n for n in range(120)})
    wanted = schedule.add(s, handlers.note, at="2040-01-01T00:00:00Z")
    path = f"/s/{s.name}/jobs?q=fn:note"
    answer = browser.get(path)
    assert "Looked at 50 of 121, due until Wed 18 May 2033 03:33:20. Look further" in text_of(answer)
    following = next(link for link in links(answer.text) if "after=" in link)
    assert "Looked at 100 of 121" in text_of(browser.get(following))
    found = [browser.json(f"/s/{s.name}/jobs.json?q=fn:note")]
    while (path := found[-1]["next"]) is not None:
        found.append(browser.json(f"/s/{s.name}/{path}"))
    assert [job["id"] for page in found for job in page["jobs"]] == [wanted.id]
    assert len(found) == 3


def test_a_filter_does_not_tell_what_is_masked(opened: Open, s: Schedule) -> None:
    browser = opened(s)
    schedule.add(s, handlers.note, at=FAR, kwargs={"token": "abc123456"})
    assert rows(browser, s, "q=abc123456") == []
    assert len(rows(browser, s, "q=token")) == 1


def test_a_bar_acts_on_those_chosen(browser: Browser, s: Schedule) -> None:
    jobs = [schedule.add(s, handlers.note, at=FAR, args=[n]) for n in range(3)]
    answer = browser.get(f"/s/{s.name}/jobs")
    for verb in ("run", "resume", "pause", "cancel"):
        assert f'formaction="/s/{s.name}/do/{verb}"' in answer.text
    token = browser.token(f"/s/{s.name}/jobs")
    fields = {"token": token, "which": [job.id for job in jobs[:2]], "back": f"/s/{s.name}/jobs"}
    assert browser.post(f"/s/{s.name}/do/cancel", fields).status_code == 303
    assert [job["id"] for job in rows(browser, s, "")] == [jobs[2].id]


def test_who_may_only_look_sees_no_boxes(opened: Open, s: Schedule) -> None:
    schedule.add(s, handlers.note, at=FAR)
    answer = opened(s, read_only=True).get(f"/s/{s.name}/jobs")
    assert "checkbox" not in main_of(answer)
    assert "formaction" not in answer.text


def test_records_that_cannot_be_read_are_rows_that_say_so(browser: Browser, s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    broken = "ab" * 20
    client.hset(keys.jobs, broken, b"\xff{")
    client.zadd(keys.next, {f'{{"id":"{broken}"}}': 1, b"\xff\x00": 2, f'{{"id":"{"cd" * 20}"}}': 3})
    client.zadd(keys.next, {b'{"id":"<script>alert(1)</script>"}': 4})
    client.zadd(keys.dead, {b"\xff\xfe": 5})
    client.hset(keys.graves, b"\xff\xfe", msgpack.packb({"id": b"\xff"}))
    answer = browser.get(f"/s/{s.name}/jobs")
    assert answer.status_code == 200
    assert "its payload is missing" in text_of(answer)
    assert "<script>alert" not in answer.text
    assert len(rows(browser, s, "")) == 5
    for link in links(answer.text):
        if "/jobs/" in link:
            assert browser.get(link).status_code in (200, 404), link


def test_a_layout_that_has_only_a_start_counts_its_places(opened: Open, server: Server, name: str) -> None:
    s = Gocraft().create(server, name)
    browser = opened(s)
    assert headline(browser.get(f"/s/{s.name}/jobs")) == "No job here."
    for n in range(60):
        schedule.add_now(s, "note", kwargs={"n": n})
    found = browser.json(f"/s/{s.name}/jobs.json?state=due")
    assert (len(found["jobs"]), found["next"]) == (50, "jobs.json?state=due&after=50")
    assert len(browser.json(f"/s/{s.name}/{found['next']}")["jobs"]) == 10


def test_the_rail_and_the_tab_of_all_jobs_have_one_number(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, at=FAR)
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, raise_errors=False, imports=["tests.handlers"], folder=None)
    answer = browser.get(f"/s/{s.name}/jobs")
    assert "All 2 " in text_of(answer)
    rail = answer.text.partition("<main")[0]
    assert re.search(r"Jobs\s+2\b", re.sub(r"<[^>]*>", " ", rail))


def onward(answer: httpx.Response) -> str | None:
    """Where a page goes by itself, without a script too."""
    found = re.search(r'<meta http-equiv="refresh" content="1;url=([^"]+)">', answer.text)
    return None if found is None else html.unescape(found[1])


def test_a_search_goes_on_by_itself_to_a_definite_answer(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how far it is, and never "No job" before it has looked at all."""
    monkeypatch.setattr(page, "LOOK_MS", 0.0)
    client, keys = server.client(), Keys(s.name)
    client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': 2_000_000_000_000 + n for n in range(120)})
    schedule.add(s, handlers.note, at="2040-01-01T00:00:00Z")
    for word, end in (("nobody", 'No job here: function is "nobody".'), ("note", f"Jobs of {s.name}")):
        answer = browser.get(f"/s/{s.name}/jobs?q=fn:{word}")
        said = [headline(answer)]
        while (path := onward(answer)) is not None:
            answer = browser.get(path)
            said.append(headline(answer))
        assert said[:2] == ["Not found yet, 41 % looked at.", "Not found yet, 82 % looked at."]
        assert said[2].startswith(end)
        assert len(said) == 3
    assert browser.json(f"/s/{s.name}/jobs.json?q=fn:nobody")["sentence"] == "Not found yet, 41 % looked at."


def test_a_search_among_jobs_that_move_ends(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that recur each second get a time behind the place of the search, again and again."""
    monkeypatch.setattr(page, "LOOK_MS", 0.0)
    client, keys = server.client(), Keys(s.name)
    path: str | None = f"/s/{s.name}/jobs?q=fn:nobody"
    answer, said = None, list[str]()
    while path is not None and len(said) < 20:
        since = 2_000_000_000_000 + 1000 * len(said)
        client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': since + n for n in range(120)})
        answer = browser.get(path)
        said.append(headline(answer))
        path = onward(answer)
    assert answer is not None
    assert said[-2:] == ["Not found yet, 200 jobs looked at.", "Not found. 250 jobs were looked at, and they move."]
    assert any("looked=250" in link for link in links(answer.text))  # to look further


def test_a_search_goes_on_while_jobs_end(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LOOK_MS", 0.0)
    client, keys = server.client(), Keys(s.name)
    items = [f'{{"id":"{n:040x}"}}' for n in range(220)]
    client.zadd(keys.next, {item: 2_000_000_000_000 + n for n, item in enumerate(items)})
    path: str | None = f"/s/{s.name}/jobs?q=fn:nobody"
    said = list[str]()
    while path is not None:
        answer = browser.get(path)
        said.append(headline(answer))
        path = onward(answer)
        if len(said) == 3:
            client.zrem(keys.next, *items[:150])
    assert len(said) == 5
    assert said[-1].startswith('No job here: function is "nobody".')


def test_a_search_whose_later_pages_have_none_does_not_deny_the_former(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "LOOK_MS", 0.0)
    client, keys = server.client(), Keys(s.name)
    schedule.add(s, handlers.note, at="2027-01-01T00:00:00Z")
    client.zadd(keys.next, {f'{{"id":"{n:040x}"}}': 2_000_000_000_000 + n for n in range(120)})
    answer = browser.get(f"/s/{s.name}/jobs?q=fn:note")
    assert onward(answer) is None
    answer = browser.get(next(link for link in links(answer.text) if "after=" in link))
    assert headline(answer) == "No other found yet, 82 % looked at."
    path = onward(answer)
    assert path is not None
    assert headline(browser.get(path)).startswith('No other job here: function is "note".')
