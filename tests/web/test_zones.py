"""The zone in which times are shown: mine, the schedule's or UTC; and the one in which typed times are read."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import httpx
import pytest

from tests import handlers
from tests.servers import Server
from tests.web.conftest import Browser, Open, text_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.text.glance import OtherZone, at_moment, clock_at, full_moment, moment
from workkit.verbs.opening import producer_of

TOKYO, PARIS = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
CLOCK = re.compile(r"(?<![\d:T])\d\d:\d\d(?::\d\d)?(?! Asia/Tokyo| UTC)(?![\d:])")


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url, tz="Europe/Paris")


def choose(browser: Browser, s: Schedule, zone: str) -> httpx.Response:
    """Press a button of the switch."""
    return browser.post("/-/look", {"token": browser.token(f"/s/{s.name}/"), "zone": zone, "back": "/"})


def foot(browser: Browser, path: str) -> str:
    return browser.get(path).text.partition('id="looks"')[2].partition("</form>")[0]


def pressed(browser: Browser, path: str) -> list[str]:
    return re.findall(r'<button[^>]* name="zone"[^>]* aria-pressed="true"[^>]*>([^<]*)<', foot(browser, path))


def test_the_foot_switches_between_mine_the_schedules_and_utc(browser: Browser, s: Schedule) -> None:
    path = f"/s/{s.name}/"
    assert pressed(browser, path) == ["the schedule’s"]
    assert re.search(r'name="zone" value="UTC"', foot(browser, path))
    assert re.search(r"<button[^>]* data-mine data-script hidden[^>]*>mine<", foot(browser, path))
    assert choose(browser, s, "Asia/Tokyo").status_code == 303
    assert pressed(browser, path) == ["mine"]
    assert "Times in Asia/Tokyo" in browser.get(path).text
    choose(browser, s, "UTC")
    assert pressed(browser, path) == ["UTC"]
    assert "Times in UTC" in browser.get(path).text
    choose(browser, s, "schedule")
    assert pressed(browser, path) == ["the schedule’s"]
    assert "Times in Europe/Paris" in browser.get(path).text


@pytest.mark.parametrize("zone", ["Asia/Tokio", "localtime", "../etc/passwd", "Etc/Unknown", "x" * 5000])
def test_a_zone_that_is_none_is_refused_and_not_kept(browser: Browser, s: Schedule, zone: str) -> None:
    answer = choose(browser, s, zone)
    assert answer.status_code == 400
    assert "is not a zone" in text_of(answer) or "names no place" in text_of(answer)
    assert "workkit_zone" not in browser.cookies


def test_a_kept_zone_that_is_none_is_as_if_there_was_none(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/", headers={"cookie": "workkit_zone=Nowhere/At_all"})
    assert "Times in Europe/Paris" in answer.text


def test_times_name_their_zone_only_where_it_is_not_the_schedules() -> None:
    at = NOW + timedelta(days=1, hours=3)
    assert moment(at, NOW, TOKYO) == "tomorrow 22:15:30"
    assert moment(at, NOW, OtherZone("Asia/Tokyo")) == "tomorrow 22:15:30 Asia/Tokyo"
    assert at_moment(at, NOW, OtherZone("Asia/Tokyo")) == "tomorrow at 22:15:30 Asia/Tokyo"
    assert at_moment(NOW, NOW, OtherZone("UTC")) == "at 10:15:30 UTC"
    assert clock_at(NOW.astimezone(OtherZone("UTC"))) == "10:15:30 UTC"
    assert full_moment(at, NOW, OtherZone("Asia/Tokyo")) == full_moment(at, NOW, TOKYO)


def test_every_time_of_every_page_names_a_zone_that_is_not_the_schedules(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 5:30", name="nightly")
    schedule.add(s, handlers.note, every="minute", name="often")
    schedule.add(s, handlers.note, in_="3 hours", name="once")
    schedule.add(s, handlers.note, in_="3 hours", name="stopped")
    schedule.pause(s, "stopped", until=datetime.now(UTC) + timedelta(hours=2), reason="a move")
    schedule.skip(s, "nightly")
    schedule.run(s, "nightly")
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    choose(browser, s, "Asia/Tokyo")
    dead = next(iter(schedule.jobs(s, state="dead"))).id
    seen = 0
    for path in ("", "timeline", "recurring", "jobs", "jobs?state=paused", "jobs/nightly", "jobs/once", f"jobs/{dead}",
                 "dead", "runs", "listeners", "limits", "doctor", "changes", "-/jump?q=tomorrow at 9am"):  # fmt: skip
        answer = browser.get(f"/s/{s.name}/{path}")
        assert answer.status_code == 200, path
        text = answer.text
        for passed in (  # drawings say their zone beside them, the list of next runs is on the job's own clock
            r'<div class="ticks.*?</div>', r'<div class="tl-x".*?</div>', r'<ol class="lines next">.*?</ol>',
            r'<pre.*?</pre>', r'datetime="[^"]*"', r'title="[^"]*"', r'data-\w+="[^"]*"', r'href="[^"]*"',
            r'value="[^"]*"',
        ):  # fmt: skip
            text = re.sub(passed, " ", text, flags=re.DOTALL)
        unnamed = [text[max(0, at.start() - 60) : at.end() + 20] for at in CLOCK.finditer(text)]
        assert unnamed == [], path
        seen += text.count("Asia/Tokyo")
    assert seen > 20


def test_a_time_in_the_schedules_zone_is_not_named(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="3 hours", name="once")
    choose(browser, s, "Europe/Paris")
    said = text_of(browser.get(f"/s/{s.name}/jobs"))
    assert re.search(r"\d\d:\d\d(:\d\d)? (?!Europe)", said)


def test_typed_times_are_read_in_the_schedules_zone_and_the_boxes_say_so(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="minute", name="often")
    choose(browser, s, "Asia/Tokyo")
    base = f"/s/{s.name}/"
    for path in ("", "jobs", "recurring", "jobs/often"):
        found = re.findall(r"<label>(Until.*?)<input", browser.get(base + path).text)
        assert found, path
        assert all("Europe/Paris" in one for one in found), path
    assert re.search(r"<label>From.*?Europe/Paris.*?<input", browser.get(f"{base}runs").text)
    browser.post(f"{base}do/pause", {"token": browser.token(base), "which": "often", "until": "tomorrow at 9am"})
    until = producer_of(s).inspector.control().paused["job:often"].until
    assert until is not None
    assert until.astimezone(PARIS).hour == 9
    assert "17:00 Asia/Tokyo" in text_of(browser.get(f"{base}jobs?state=paused")) or (
        "16:00 Asia/Tokyo" in text_of(browser.get(f"{base}jobs?state=paused"))  # in summer
    )


def test_runs_and_jump_read_what_is_typed_in_the_schedules_zone(browser: Browser, s: Schedule) -> None:
    choose(browser, s, "Asia/Tokyo")
    at = browser.json(f"/s/{s.name}/-/jump.json?q=tomorrow at 9am")["at"]
    assert datetime.fromisoformat(at).astimezone(PARIS).hour == 9
    assert "tz=Europe/Paris" in browser.get(f"/s/{s.name}/-/jump?q=tomorrow at 9am").text


def test_the_list_of_schedules_is_on_the_chosen_clock(opened: Open, server: Server, name: str) -> None:
    schedules = [schedule.create(f"{name}-{zone[-3:]}", redis=server.url, tz=zone) for zone in ("UTC", "Europe/Paris")]
    for one in schedules:
        schedule.pause(one, until=datetime.now(UTC) + timedelta(hours=2))
    browser = opened(*schedules)
    with schedule.listener(schedules, imports=["tests.handlers"], folder=None):
        assert "Asia/Tokyo" not in text_of(browser.get("/"))
        choose(browser, schedules[0], "Asia/Tokyo")
        assert text_of(browser.get("/")).count("Asia/Tokyo") == 3  # the first thing stands above too
