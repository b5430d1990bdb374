"""The page Timeline: its lanes, its window, and its marks."""

from __future__ import annotations

import gzip
import html
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.schedule import Schedule

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}


def path_of(s: Schedule, query: str = "") -> str:
    return f"/s/{s.name}/timeline{query}"


def lanes_of(browser: Browser, s: Schedule, query: str = "") -> dict[str, Any]:
    return {one["name"]: one for one in browser.json(path_of(s, f".json{query}"))["lanes"]}


@pytest.fixture
def ran(s: Schedule) -> Schedule:
    """A schedule with two jobs that recur and have run, one of which failed, and two that run once."""
    schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.add(s, handlers.fail, every="day at 2am", name="nightly", retries=0)
    for name in ("hourly", "nightly"):
        schedule.run(s, name)
    schedule.add_now(s, handlers.note, args=(1,))
    schedule.drain(s, **HOW)
    schedule.add(s, handlers.note, args=(2,), in_="3 hours")
    return s


def test_lanes_show_what_ran_and_what_is_planned(browser: Browser, ran: Schedule) -> None:
    found = lanes_of(browser, ran)
    assert list(found) == ["nightly", "hourly"]  # trouble first
    (failed,) = found["nightly"]["runs"]
    assert (failed["ending"], failed["error"]) == ("dead", "OSError: disk full")
    assert [run["ending"] for run in found["hourly"]["runs"]] == ["done"]
    assert (len(found["hourly"]["planned"]), len(found["nightly"]["planned"])) == (24, 1)
    answer = browser.get(path_of(ran))
    assert headline(answer) == f"Timeline of {ran.name}, 24 hours back and 24 hours ahead"
    assert "hourly: every hour. 1 run; 24 planned." in answer.text
    assert re.search(r"<title>Due [^<]*, dead: OSError: disk full</title>", answer.text)
    assert "Nothing unusual in the next 24 hours." in text_of(answer)


@pytest.mark.parametrize("by", ["job", "fn", "listener"])
def test_a_part_of_a_lane_leads_to_its_runs_and_a_mark_to_its_run(browser: Browser, ran: Schedule, by: str) -> None:
    until(lambda: len(browser.json(f"/s/{ran.name}/runs.json")["runs"]) >= 2, what="the runs")
    answer = browser.get(path_of(ran, f"?by={by}"))
    found = [html.unescape(one) for one in re.findall(r'<a href="([^"]+)" tabindex="-1"><rect', answer.text)]
    assert len(found) >= (1 if by == "listener" else 2)
    listed = [browser.json(one.replace("/runs?", "/runs.json?"))["runs"] for one in found]
    assert all(listed)
    assert {run["ending"] for runs in listed for run in runs} == {"done", "dead"}
    (mark,) = re.findall(r'<a href="([^"]+/runs/[^"]+)" tabindex="-1"><path', answer.text)
    assert headline(browser.get(mark)).startswith("Dead after ")


def test_runs_that_are_dense_are_a_band_and_are_counted(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="minute", name="poll")
    schedule.add(s, handlers.note, args=(1,), every="second", name="tick")
    found = lanes_of(browser, s)
    assert re.search(r"poll: every minute\. 0 runs; 1,4(39|40|41) planned\.", found["poll"]["says"])
    first, second = (datetime.fromisoformat(at) for at in found["poll"]["planned"][:2])
    assert second - first == timedelta(minutes=1)
    assert len(found["poll"]["planned"]) == 200
    count = re.search(r"; ([\d,]+) planned", found["tick"]["says"])
    assert count is not None
    assert 86_000 < int(count[1].replace(",", "")) < 86_800
    bands = re.findall(r'<path class="p" d="([^"]*)"/>', browser.get(path_of(s)).text)
    assert [band.count("M") for band in bands] == [1, 1]


def test_the_table_says_the_same(browser: Browser, ran: Schedule) -> None:
    table = text_of(browser.get(path_of(ran))).partition("The same as a table")[2]
    assert "nightly every day at 2:00" in table
    assert "1 run, 1 failed; 1 planned." in table
    assert "dead: OSError: disk full" in table


def test_jobs_that_run_once_are_the_last_lane(browser: Browser, ran: Schedule) -> None:
    found = browser.json(path_of(ran, ".json"))
    assert re.fullmatch(r"One-time jobs: 1 ran; 1 waits, most until .*\.", found["one_time"])
    assert browser.get(path_of(ran)).text.index(">hourly<") < browser.get(path_of(ran)).text.index(">One-time jobs<")


@pytest.mark.parametrize("span", ["2h", "24h", "7d", "90d"])
@pytest.mark.parametrize("by", ["job", "fn", "listener"])
def test_every_span_shows_every_kind_of_lane(browser: Browser, ran: Schedule, span: str, by: str) -> None:
    with schedule.listener(ran, imports=["tests.handlers"], folder=None):
        answer = browser.get(path_of(ran, f"?span={span}&by={by}"))
        found = lanes_of(browser, ran, f"?span={span}&by={by}")
    assert answer.status_code == 200
    assert answer.text.count('class="tl-row"') == len(found) + (by == "job")
    if by == "fn":
        assert list(found) == ["tests.handlers.fail", "tests.handlers.note"]
    assert all(one["says"] in answer.text or by == "listener" for one in found.values())


def test_its_links_have_keys(browser: Browser, s: Schedule) -> None:
    keys = {
        key: href.replace("&amp;", "&")
        for href, key in re.findall(r'href="([^"]*)"[^>]* aria-keyshortcuts="([^"])"', browser.get(path_of(s)).text)
    }
    assert set(keys) - {"z"} == {"[", "]", "n", "+", "-"}
    assert ("span=2h" in keys["+"], "span=7d" in keys["-"]) == (True, True)
    widest = browser.get(path_of(s, "?span=90d")).text
    assert 'aria-keyshortcuts="-"' not in widest
    assert 'aria-keyshortcuts="+"' in widest


def test_a_window_elsewhere_shows_what_is_planned_there(browser: Browser, ran: Schedule) -> None:
    day = (datetime.now(UTC) + timedelta(days=3)).date()
    found = browser.json(path_of(ran, f".json?span=2h&at={day}T02:00"))
    assert (found["from"], found["to"]) == (f"{day}T00:00:00.000Z", f"{day}T04:00:00.000Z")
    planned = {one["name"]: one["planned"] for one in found["lanes"]}
    assert planned["nightly"] == [f"{day}T02:00:00.000Z"]
    assert not any(one["runs"] for one in found["lanes"])
    past = browser.json(path_of(ran, ".json?span=2h&at=yesterday at 9am"))
    assert not any(one["planned"] or one["runs"] for one in past["lanes"])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("at=foo", '"foo" is not understood. Say for example'),
        ("at=2999-01-01", 'at="2999-01-01" is too far off. Accepted: an instant within ten years.'),
        ("span=3h", 'span="3h" is not accepted. Accepted: 24h, 2h, 7d, 90d.'),
        ("by=queue", 'by="queue" is not accepted. Accepted: job, fn, listener.'),
        ("q=late:soon", "late:"),
    ],
)
def test_a_bad_value_is_refused_with_what_is_accepted(browser: Browser, s: Schedule, query: str, sentence: str) -> None:
    answer = browser.get(path_of(s, f"?{query}"))
    assert answer.status_code == 400
    assert sentence in text_of(answer)


def test_a_filter_chooses_lanes(browser: Browser, ran: Schedule) -> None:
    assert list(lanes_of(browser, ran, "?q=night")) == ["nightly"]
    assert list(lanes_of(browser, ran, "?q=fn:note")) == ["hourly"]
    assert list(lanes_of(browser, ran, "?q=state:failing")) == ["nightly"]
    assert list(lanes_of(browser, ran, "?by=fn&q=FAIL")) == ["tests.handlers.fail"]
    answer = browser.get(path_of(ran, "?q=foo"))
    assert 'No recurring job matches "foo". All : 2.' in text_of(answer)
    assert "One-time jobs" not in text_of(answer)


def test_a_function_without_recurring_jobs_says_so(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="hour", name="hourly")
    schedule.add_now(s, handlers.fail, retries=0)
    schedule.drain(s, **HOW)
    lanes = lanes_of(browser, s, "?by=fn")
    assert lanes["tests.handlers.fail"]["words"] == "jobs that run once"
    assert lanes["tests.handlers.note"]["words"] == "1 recurring job"


def test_forty_lanes_are_a_page(browser: Browser, s: Schedule) -> None:
    for n in range(45):
        schedule.add(s, handlers.note, args=(n,), every="day at 9am", name=f"job-{n:02}")
    first = browser.json(path_of(s, ".json"))
    assert (len(first["lanes"]), first["next"], first["total"]) == (40, "job-39", 45)
    further = browser.json(path_of(s, f".json?after={first['next']}"))
    assert [one["name"] for one in further["lanes"]] == [f"job-{n}" for n in range(40, 45)]
    assert further["next"] is None
    answer = browser.get(path_of(s))
    assert "timeline?after=job-39" in answer.text
    assert "One-time jobs" not in text_of(answer)
    assert "One-time jobs" in text_of(browser.get(path_of(s, "?after=job-39")))


def test_a_page_of_busy_lanes_is_small(browser: Browser, s: Schedule) -> None:
    for n in range(40):
        schedule.add(s, handlers.note, args=(n,), every=f"{2 + n} minutes", name=f"job-{n:02}")
    answer = browser.get(path_of(s))
    assert len(gzip.compress(answer.content)) < 60_000


def test_a_pause_is_a_field_and_its_end_a_sentence(browser: Browser, ran: Schedule) -> None:
    schedule.pause(ran, "hourly", until="in 5 hours", reason="maintenance")
    answer = browser.get(path_of(ran))
    assert re.search(r'<rect class="pz"[^>]*><title>Paused from [^<]* until [^<]*: maintenance</title>', answer.text)
    assert re.search(
        r"hourly goes on after (5 h|4 h 59 min)\. 5 runs are due meanwhile, one is caught up\.", text_of(answer)
    )
    assert ">Resume now</button>" in answer.text
    schedule.pause(ran)
    assert f"{ran.name} is paused: nothing starts until it is resumed." in text_of(browser.get(path_of(ran)))


def test_a_crowd_of_jobs_is_a_sentence_and_a_mark(browser: Browser, s: Schedule) -> None:
    at = (datetime.now(UTC) + timedelta(hours=3)).replace(microsecond=0)
    for n in range(55):
        schedule.add(s, handlers.note, args=(n,), at=at)
    assert "55 jobs at one second. Nobody listens now." in text_of(browser.get(path_of(s)))
    assert re.search(
        r'<span class="tx-\d+ herd" title="55 jobs at one second[^"]*">55</span>', browser.get(path_of(s)).text
    )


def test_hostile_texts_are_escaped(browser: Browser, s: Schedule) -> None:
    name = "<script>alert(1)</script>"
    schedule.add(s, handlers.fail, args=("<img src=x onerror=1> password=hunter2",), every="hour", name=name, retries=0)
    schedule.run(s, name)
    schedule.drain(s, **HOW)
    for query in ("", "?span=90d", "?by=fn", f"?q={name}", "?q=<b>x"):
        text = browser.get(path_of(s, query)).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<b>x" not in text
        assert "hunter2" not in text
    assert "hunter2" not in browser.get(path_of(s, ".json")).text


def test_how_much_is_asked_does_not_grow_with_the_jobs(browser: Browser, s: Schedule, server: Server) -> None:
    asked = [commands(browser, s, server)]
    for n in range(30):
        schedule.add(s, handlers.note, args=(n,), every="hour", name=f"job-{n:02}")
    schedule.add_many(s, [{"fn": handlers.note, "args": (n,), "in_": "50 hours"} for n in range(300)])
    asked.append(commands(browser, s, server))
    assert asked[1] - asked[0] <= 12
    assert asked[1] < 1_000


def commands(browser: Browser, s: Schedule, server: Server) -> int:
    """How many commands a page asks, once what is kept is known."""
    client = server.client()
    browser.get(path_of(s))
    before = client.info("stats")["total_commands_processed"]
    browser.get(path_of(s))
    return int(client.info("stats")["total_commands_processed"]) - int(before)


def test_a_gocraft_namespace_shows_what_is_planned(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add(s, "note", in_="3 hours")
    browser = opened(s)
    answer = browser.get(path_of(s))
    assert "No job recurs." in text_of(answer)
    assert "history is not kept in this layout" in text_of(answer)
    assert "One-time jobs: 0 ran; 1 waits, most until" in answer.text
    assert browser.get(path_of(s, "?span=90d&by=fn")).status_code == 200


def test_sharded_schedules_show_all_their_shards(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, shards=3)
    for n in range(6):
        schedule.add(s, handlers.note, args=(n,), every="hour", name=f"job-{n}")
        schedule.add(s, handlers.note, args=(n,), in_="3 hours")
    browser = opened(s)
    assert len(lanes_of(browser, s)) == 6
    assert "6 wait" in browser.json(path_of(s, ".json"))["one_time"]


def test_a_recurring_job_without_a_name_has_a_lane(browser: Browser, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, args=["<secret>"], every="hour")
    schedule.add(s, handlers.note, every="hour", name="poll")
    lanes = lanes_of(browser, s)
    assert sorted(lanes) == ["poll", "tests.handlers.note"]
    page = browser.get(path_of(s)).text
    assert f"/jobs/{job.id}" in page
    assert "secret" not in page
    assert list(lanes_of(browser, s, "?q=-name:poll")) == ["tests.handlers.note"]


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


def test_a_date_is_typed_on_the_clock_of_the_schedule(opened: Open, server: Server, name: str) -> None:
    browser = opened(schedule.create(name, redis=server.url, tz="Europe/Paris"))
    tokyo = {"cookie": "workkit_zone=Asia/Tokyo"}
    page = browser.get(f"/s/{name}/timeline?span=2h&at=yesterday+3am", headers=tokyo)
    assert re.search(r"<label>At, in Europe/Paris <input[^>]* name=\"at\"", page.text)
    found = browser.json(f"/s/{name}/timeline.json?span=2h&at=yesterday+3am", headers=tokyo)
    start = datetime.fromisoformat(found["from"]).astimezone(ZoneInfo("Europe/Paris"))
    assert (start.hour, start.minute) == (1, 0)


def test_runs_are_in_the_rail(browser: Browser, s: Schedule) -> None:
    page = browser.get(f"/s/{s.name}/").text
    assert re.search(rf'<a href="/s/{s.name}/runs" data-g="u"', page)
    here = browser.get(f"/s/{s.name}/runs").text
    assert re.search(rf'<a href="/s/{s.name}/runs" data-g="u" aria-current="page"', here)
