"""Addresses, negotiation, errors, and what is shown while a server is away."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import msgpack
import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule
from workkit.web.pages.registry import PAGES
from workkit.web.response import environment
from workkit.web.sentences import Need

ADVICE = re.compile(r"Start a Redis|--\w|REDIS_URL|Try redis")
"""What a developer is told of a server, and who looks at a page is not."""

HOSTILE = "</a><script>alert(1)</script>\u202e\x1b[31m\"'"


def test_one_schedule_is_the_first_page(browser: Browser, s: Schedule) -> None:
    answer = browser.get("/")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/s/{s.name}/")
    assert browser.get(f"/s/{s.name}").headers["location"] == f"/s/{s.name}/"


def test_several_schedules_are_listed_the_worst_first(opened: Open, s: Schedule) -> None:
    well = schedule.create(f"{s.name}-a", redis=s.redis)
    schedule.add(s, handlers.note, in_="1 hour")
    gone = schedule.create(f"{s.name}-z", redis="redis://127.0.0.1:1/0")
    browser = opened(well, s, gone)
    answer = browser.get("/")
    assert headline(answer) == f"2 of 3 schedules need you: {gone.name}, {s.name}."
    assert f"First: {gone.name} : redis://127.0.0.1:1/0 does not answer: connection refused." in text_of(answer)
    assert not ADVICE.search(text_of(answer))
    found = browser.json("/schedules.json")["schedules"]
    assert [(line["schedule"], line["needs"]) for line in found] == [(gone.name, None), (s.name, 1), (well.name, 0)]
    assert browser.json("/", headers={"accept": "application/json"})["schedules"][1]["sentence"] == "Nobody listens."


def test_the_list_of_schedules_names_the_first_thing_that_needs_somebody(
    opened: Open, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = schedule.create(f"{s.name}-b", redis=s.redis)
    asides = (Need(said=("One job waits nowhere.",), is_aside=True),)
    monkeypatch.setattr("workkit.web.pages.now.needs", lambda facts: iter(asides if facts.schedule == s.name else ()))
    monkeypatch.setattr("workkit.web.pages.now.sentence", lambda facts: ("All on time.",))
    for one in (s, other):
        schedule.add(one, handlers.note, in_="1 hour")
    answer = opened(s, other).get("/")
    assert f"First: {s.name} : One job waits nowhere." in text_of(answer)
    assert f"{s.name} needs you One job waits nowhere." in text_of(answer)


def test_the_last_hour_of_each_schedule_is_drawn(opened: Open, s: Schedule) -> None:
    schedule.add_now(s, handlers.note, args=(1,))
    schedule.drain(s, folder=None, imports=["tests.handlers"])
    other = schedule.create(f"{s.name}-b", redis=s.redis)
    page = opened(s, other).get("/").text
    assert re.findall(r'aria-label="(The last hour[^"]+)"', page) == ["The last hour, by minute: 1 run."]


def test_a_page_answers_as_json_by_its_address_or_by_accept(browser: Browser, s: Schedule) -> None:
    by_address = browser.json(f"/s/{s.name}/listeners.json")
    by_accept = browser.json(f"/s/{s.name}/listeners", headers={"accept": "application/json"})
    assert by_address["sentence"] == by_accept["sentence"] == f"Nobody listens to {s.name}."
    assert browser.json(f"/s/{s.name}.json")["schedule"] == s.name
    both = {"accept": "text/html,application/json"}
    assert browser.get(f"/s/{s.name}/", headers=both).headers["content-type"].startswith("text/html")


def test_an_equal_answer_is_not_sent_again(browser: Browser) -> None:
    first = browser.get("/nowhere")
    assert "etag" not in first.headers  # an error is not kept
    tagged = browser.get("/schedules.json")
    again = browser.get("/schedules.json", headers={"if-none-match": tagged.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_static_files_are_kept_for_ever_under_their_hash(browser: Browser, s: Schedule) -> None:
    page = browser.get(f"/s/{s.name}/").text
    for name in re.findall(r'"(/-/static/[^"]+)"', page):
        answer = browser.get(name)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert len(answer.content) < (12_000 if name.endswith(".js") else 48_000)
    assert browser.get("/-/static/0000/workkit.css").status_code == 404
    assert browser.get("/-/static/x/../../users.toml").status_code == 404


def test_no_page_has_a_style_or_a_script_in_it(browser: Browser, s: Schedule) -> None:
    for path in (f"/s/{s.name}/", f"/s/{s.name}/listeners", "/nowhere"):
        page = browser.get(path).text
        assert not re.search(r"<style|style=|<script(?! src)| on[a-z]+=|javascript:", page)
        assert page.count("<h1") == 1


@pytest.mark.parametrize("path", ["/nowhere", "/s/other/", "/s/other.json", "/s/{s}/nowhere", "/s/{s}/listeners/x"])
def test_what_is_not_there_is_said_within_the_frame(browser: Browser, s: Schedule, path: str) -> None:
    answer = browser.get(path.format(s=s.name))
    assert answer.status_code == 404
    if path.endswith(".json"):
        assert answer.json()["error"] == 'No schedule "other" here.'
    else:
        assert headline(answer).startswith(("There is no such page", "No schedule", f"{s.name} has no page"))
        assert "<nav" in answer.text or "workkit" in answer.text
        assert "<title>Not found" in answer.text


def test_a_name_that_is_no_piece_of_a_path_has_an_address(opened: Open, server: Server) -> None:
    odd = schedule.create("a/b~c?.json", redis=server.url)
    browser = opened(odd)
    where = browser.get("/").headers["location"]
    assert where == "/s/a~2fb~7ec~3f~2ejson/"
    assert headline(browser.get(where)) == "Nothing in a/b~c?.json yet, and nobody listens."
    assert browser.json("/s/a~2fb~7ec~3f~2ejson.json")["schedule"] == "a/b~c?.json"


def test_health_is_of_the_process_and_ready_of_its_servers(opened: Open, s: Schedule) -> None:
    assert opened(s).get("/-/health?ready=1").status_code == 200
    away = opened(schedule.create("gone", redis="redis://127.0.0.1:1/0"))
    assert away.get("/-/health").text == "ok\n"
    assert away.get("/-/health?ready=1").status_code == 503


def test_nothing_is_asked_before_the_first_page(opened: Open, s: Schedule, server: Server) -> None:
    before = server.client().info("stats")["total_connections_received"]
    browser = opened(s)
    browser.get("/-/health")
    assert server.client().info("stats")["total_connections_received"] <= before + 1  # that of this question
    assert browser.get(f"/s/{s.name}/").status_code == 200


def test_a_server_that_is_away_leaves_the_last_look_and_comes_back(opened: Open, own_server: Server, name: str) -> None:
    s = schedule.create(name, redis=own_server.url)
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    browser = made = opened(s)
    assert "nightly" in text_of(browser.get(f"/s/{name}/"))
    seen = [browser.get(f"/s/{name}/{page}").status_code for page in ("jobs", "runs", "limits", "dead")]
    assert seen == [200, 200, 200, 200]
    own_server.stop()
    pages = ("", "listeners", "jobs", "runs", "limits", "jobs/nightly", "dead", f"dead/{'0' * 40}")
    for path in (f"/s/{name}/{page}" for page in pages):
        answer = browser.get(path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        assert headline(answer).startswith("The server ")
        assert "Listeners finish what they run and wait for the server" in answer.text
        said = text_of(answer)
        assert f"{s.redis} does not answer: " in said
        assert re.search(r", since \d\d:\d\d(:\d\d)?\. ", said), said
        assert not ADVICE.search(said), said
    token = made.token(f"/s/{name}/")
    act = browser.post(f"/s/{name}/do/pause", {"token": token})
    assert act.status_code == 503
    assert not ADVICE.search(text_of(act)), text_of(act)
    assert "nightly" in text_of(browser.get(f"/s/{name}/"))  # as it was last seen
    record = browser.get(f"/s/{name}.json")
    assert record.status_code == 503
    assert {"error", "away_ms"} <= record.json().keys()
    own_server.start()
    assert browser.get(f"/s/{name}/").status_code == 200


def test_what_the_server_holds_cannot_steer_a_page(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, args=(HOSTILE,), in_="1 hour", name=HOSTILE[:29])
    schedule.pause(s, reason=HOSTILE)
    keys, client = Keys(s.name), server.client()
    info = [HOSTILE, 1, HOSTILE, {HOSTILE: 1}, 10, HOSTILE, 0, HOSTILE]
    now_ms = int(client.time()[0]) * 1000
    for listener in (f"{HOSTILE}:1:0123456789ab", "host:1:0123456789ac"):
        client.zadd(keys.listeners, {listener: now_ms})
        client.hset(keys.running(listener), "info", msgpack.packb(info))
        client.hset(keys.running(listener), b"1.\xff\xfe", b"\xff")
        client.hset(keys.progress(listener), b"1.\xff\xfe", json.dumps(HOSTILE))
    client.zadd(keys.next, {b"\xff\x00<script>": now_ms})
    for path in (f"/s/{s.name}/", f"/s/{s.name}/listeners"):
        answer = browser.get(path)
        assert answer.status_code == 200, answer.text
        assert "<script>alert" not in answer.text
        assert "\u202e" not in answer.text
        assert "\x1b" not in answer.text
        assert "\\u202e" in answer.text or "\\x1b" in answer.text
        assert browser.get(f"{path.rstrip('/')}.json").status_code == 200
    assert headline(browser.get(f"/s/{s.name}/nowhere{HOSTILE[:4]}")).startswith(s.name)


def test_a_corrupt_server_is_an_error_with_a_sentence(browser: Browser, s: Schedule, server: Server) -> None:
    server.client().set(Keys(s.name).next, "a string")
    answer = browser.get(f"/s/{s.name}/")
    assert answer.status_code == 503
    assert headline(answer) == "The server refuses to answer."
    assert Keys(s.name).next in answer.text, re.findall(r"<b>.*?</b>", answer.text)


def fields_of(record: dict[str, Any]) -> set[str]:
    return set(record)


def test_the_keys_of_the_json_of_now_are_these(browser: Browser, s: Schedule) -> None:
    assert fields_of(browser.json(f"/s/{s.name}.json")) == {
        "schedule", "as_of", "sentence", "rest", "counts", "needs", "running", "lateness", "next", "unknown",
        "strip", "ran", "planned",
    }  # fmt: skip


def test_templates_are_compiled_when_it_starts(browser: Browser) -> None:
    environment.cache_clear()

    async def begin() -> None:
        async with browser.app.router.lifespan_context(browser.app):
            await asyncio.to_thread(lambda: until(lambda: set(templates()) <= compiled(), what="the templates"))

    def templates() -> list[str]:
        return [page.template for page in PAGES]

    def compiled() -> set[str]:
        return {name for _, name in environment().cache or ()}

    browser.run(begin())
