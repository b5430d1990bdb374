"""What happened, on the Timeline and on Now: marks by hand, syncs of a plan, a new version among listeners."""

from __future__ import annotations

import re

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from tests.web.pages.test_timeline import path_of
from workkit import schedule
from workkit.schedule import Schedule


def test_without_a_mark_nothing_is_drawn(browser: Browser, s: Schedule) -> None:
    schedule.pause(s)
    page = browser.get(path_of(s)).text
    assert 'class="ev"' not in page
    assert ">Marks<" not in page
    assert browser.json(path_of(s, ".json"))["marks"] == []


def test_marks_stand_with_syncs_and_are_masked(browser: Browser, s: Schedule) -> None:
    schedule.sync(s, {"hourly": {"fn": handlers.note, "every": "hour"}}, by="alice")
    schedule.pause(s, by="bob")
    schedule.mark(s, "release 41 <b> password=hunter2", by="deploy")
    answer = browser.get(path_of(s))
    drawings = re.findall(r'<svg viewBox="0 0 2880 [^"]*"[^>]*role="img".*?</svg>', answer.text)
    assert len(drawings) == 3  # the load, the lane, the jobs that run once
    assert all(drawing.count('class="ev"') == 1 for drawing in drawings)
    assert re.search(
        r'class="tx-\d+ event" title="Marked: release 41 &lt;b&gt; password=••••••, by deploy">', answer.text
    )
    said = text_of(answer)
    assert "release 41 <b> password=•••••• marked by deploy" in said
    assert "A plan was synced by alice" in said
    assert "hunter2" not in answer.text
    found = browser.json(path_of(s, ".json"))["marks"]
    assert [(one["kind"], one["says"], one["by"]) for one in found] == [
        ("mark", "release 41 <b> password=••••••", "deploy"),
        ("sync", "A plan was synced", "alice"),
    ]
    assert "Marked: release 41 &lt;b&gt; password=••••••, by deploy" in browser.get(f"/s/{s.name}/").text


def test_a_window_without_the_mark_does_not_have_it(browser: Browser, s: Schedule) -> None:
    schedule.mark(s, "release 41")
    assert len(browser.json(path_of(s, ".json?span=90d"))["marks"]) == 1
    assert browser.json(path_of(s, ".json?span=2h&at=yesterday+14:00"))["marks"] == []
    assert browser.json(path_of(s, ".json?span=2h&at=tomorrow+14:00"))["marks"] == []


def test_changes_lists_a_mark_and_the_timeline_leads_there(browser: Browser, s: Schedule) -> None:
    schedule.mark(s, "release 41", by="deploy")
    (link,) = re.findall(r'href="([^"]+what=mark)"', browser.get(path_of(s)).text)
    answer = browser.get(link)
    assert headline(answer).startswith("The last change is mark, by deploy, ")
    assert "mark the schedule text release 41" in text_of(answer)


def test_shards_have_one_list_of_marks(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    for n in range(3):
        schedule.mark(s, f"release {n}")
    assert [one["says"] for one in opened(s).json(path_of(s, ".json"))["marks"]] == [f"release {n}" for n in (2, 1, 0)]


def test_a_layout_that_keeps_no_changes_has_no_marks(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add(s, "note", in_="3 hours")
    found = opened(s).json(path_of(s, ".json"))
    assert found["marks"] == []
    assert "history is not kept in this layout" in found["unknown"]["history"]


def test_a_mark_of_another_program_may_be_anything(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.mark(s, "release 41")
    client, key = server.client(), f"{s.name}:changes"
    for packed in (b"", b"\xc1", b"\x81\xa4text\x93\x01\x02\x03", b"\x81\xa4text\xda\x40\x00" + b"\x07" * 0x4000):
        client.xadd(key, {"verb": "mark", "target": "schedule", "after": packed})
    said = [one["says"] for one in browser.json(path_of(s, ".json"))["marks"]]
    assert said == ["\x07" * 200, "something", "something", "something", "release 41"]
    answer = browser.get(path_of(s))
    assert "\x07" not in answer.text
    assert len(answer.content) < 200_000
