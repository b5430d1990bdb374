"""The page Changes: who changed what, its filters, pages and export; and what acts of the browser leave there."""

from __future__ import annotations

import json
import logging

import pytest

from tests import handlers
from tests.servers import Server
from tests.web.actions.test_jobs import act, add_nightly
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.contract.admin import Author, NextRun
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of
from workkit.web.auth import Local


def test_nobody_has_changed_anything(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/changes")
    assert headline(answer) == f"Nobody has changed {s.name}, as far as is kept."
    assert "Changes</a></li>" in browser.get(f"/s/{s.name}/").text


def test_an_act_is_there_with_who_did_it_and_what_differs(browser: Browser, s: Schedule) -> None:
    add_nightly(s)
    act(browser, s, "pause", which="nightly", reason="password=hunter2", until="tomorrow at 14:00")
    act(browser, s, "skip", which=schedule.add(s, handlers.note, every="day at 1am", name="early").id)
    answer = browser.get(f"/s/{s.name}/changes")
    assert headline(answer).startswith("The last change is skip, by ")
    said = text_of(answer)
    assert "web, editor, 127.0.0.1 pause nightly until tomorrow 14:00" in said
    assert "hunter2" not in answer.text
    first, second = browser.json(f"/s/{s.name}/changes.json")["changes"]
    assert (first["verb"], first["via"], first["role"], first["address"]) == ("skip", "web", "editor", "127.0.0.1")
    assert set(first["before"]) == set(first["after"]) == {"due"}
    assert second["reason"] == "password=••••••"


def test_filters_leave_what_matches(browser: Browser, s: Schedule) -> None:
    id = add_nightly(s)
    schedule.pause(s, by="Ada")
    schedule.resume(s, by="bob")
    schedule.skip(s, "nightly", by="bob")

    def verbs(query: str) -> list[str]:
        return [one["verb"] for one in browser.json(f"/s/{s.name}/changes.json?{query}")["changes"]]

    assert verbs("who=ada") == ["pause"]
    assert verbs("what=SKIP") == verbs("job=nightly") == verbs(f"job={id[:6]}") == ["skip"]
    assert verbs("who=bob&what=pause") == []
    assert headline(browser.get(f"/s/{s.name}/changes?who=eve")) == "No change matches who eve."
    assert browser.get(f"/s/{s.name}/changes?after=x").status_code == 400


@pytest.mark.parametrize("shards", [1, 3])
def test_pages_follow_one_another_without_a_gap_and_the_export_has_all(
    opened: Open, server: Server, name: str, shards: int
) -> None:
    s = schedule.create(name, redis=server.url, shards=shards)
    admin = producer_of(s).admin.by(Author(by="ada"))
    jobs = [schedule.add(s, handlers.note, every="day", args=(number,), name=f"job-{number}") for number in range(7)]
    for number in range(120):
        admin.reschedule([jobs[number % 7]], NextRun())[0]
    browser, found, at = opened(s), [], f"/s/{s.name}/changes.json"
    while at:
        page = browser.json(at)
        found += page["changes"]
        at = page["next"] and f"/s/{s.name}/changes.json{page['next']}"
    assert len(found) == len({(one["target"], json.dumps(one["after"])) for one in found}) == 120
    answer = browser.get(f"/s/{s.name}/changes.jsonl?job=job-3")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert len(answer.text.splitlines()) == len([one for one in found if one["target"] == "job:job-3"])


def test_each_act_is_a_line_of_the_log(browser: Browser, s: Schedule, caplog: pytest.LogCaptureFixture) -> None:
    add_nightly(s)
    with caplog.at_level(logging.INFO, "workkit.web"):
        act(browser, s, "skip", which=["nightly", "nowhere"])
        act(browser, s, "pause", until="yesterday")
    first, second = (json.loads(one.message) for one in caplog.records if one.name == "workkit.web")
    assert first.pop("who")
    assert first == {
        "role": "editor", "address": "127.0.0.1", "schedule": s.name, "verb": "skip", "which": ["nightly", "nowhere"],
        "done": ["nightly"], "refused": ["nowhere"],
    }  # fmt: skip
    assert (second["verb"], second["done"], second["error"]) == ("pause", [], "PhraseError")


def test_an_editor_purges_the_history_and_nobody_else(opened: Open, s: Schedule, server: Server) -> None:
    add_nightly(s)
    schedule.skip(s, "nightly")
    assert len(schedule.runs(s)) == 1
    operator = opened(s, way=Local(role="operator"))
    assert "Purge" not in operator.get(f"/s/{s.name}/changes").text
    fields = {"token": operator.token(f"/s/{s.name}/changes")}
    assert operator.post(f"/s/{s.name}/do/purge", fields).status_code == 403
    editor = opened(s)
    assert "This cannot be undone." in editor.get(f"/s/{s.name}/changes").text
    act(editor, s, "purge")
    assert schedule.runs(s) == []
    assert schedule.changes(s, limit=1)[0].verb == "forget history"
