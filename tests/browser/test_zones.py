"""The switch of the zone in a real browser: mine is the browser's, the key z goes on to the next, and it is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.seen import NARROW, Looks
from tests.browser.web_thread import WebThread
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule


@pytest.fixture
def s(server: Server, name: str) -> Schedule:
    return schedule.create(name, redis=server.url, tz="Europe/Paris")


@pytest.fixture
def site(s: Schedule) -> Iterator[WebThread]:
    schedule.add(s, handlers.note, in_="3 hours", name="later")
    with closing(WebThread(s)) as found:
        yield found


def zone(page: Any) -> Any:
    return page.locator(".rail-foot > span").first


def test_mine_is_the_zone_of_the_browser_and_is_kept(site: WebThread, pages: Looks) -> None:
    with pages.page(timezone_id="Asia/Tokyo") as page:
        page.goto(site.address)
        expect(zone(page)).to_have_text("Times in Europe/Paris")
        page.get_by_role("button", name="mine", exact=True).click()
        expect(zone(page)).to_have_text("Times in Asia/Tokyo")
        expect(page.locator("#next .lines")).to_contain_text(re.compile(r"\d\d:\d\d(:\d\d)? Asia/Tokyo"))
        expect(page.locator("#pill.live")).to_have_text(re.compile(r"^Live \d\d:\d\d:\d\d Asia/Tokyo$"))
        page.reload()
        expect(page.locator("[name=zone][aria-pressed=true]")).to_have_text("mine")


def test_z_goes_on_to_the_next_zone_that_shows_other_times(site: WebThread, pages: Looks) -> None:
    with pages.page(timezone_id="Asia/Tokyo") as page:
        page.goto(site.address)
        for shown in ("Asia/Tokyo", "UTC", "Europe/Paris", "Asia/Tokyo"):
            expect(page.locator("#pill.live")).to_be_visible()
            page.keyboard.press("z")
            expect(zone(page)).to_have_text(f"Times in {shown}")
    with pages.page(timezone_id="UTC") as page:
        page.goto(site.address)
        for shown in ("UTC", "Europe/Paris", "UTC"):
            expect(page.locator("#pill.live")).to_be_visible()
            page.keyboard.press("z")
            expect(zone(page)).to_have_text(f"Times in {shown}")


def test_without_the_script_there_are_the_schedules_zone_and_utc(site: WebThread, pages: Looks) -> None:
    with pages.page(java_script_enabled=False) as page:
        page.goto(site.address)
        expect(page.get_by_role("button", name="mine", exact=True)).to_be_hidden()
        page.get_by_role("button", name="UTC", exact=True).click()
        expect(zone(page)).to_have_text("Times in UTC")
        expect(page.locator("#next .lines")).to_contain_text(re.compile(r"\d\d:\d\d(:\d\d)? UTC"))
        page.get_by_role("button", name="the schedule’s").click()
        expect(zone(page)).to_have_text("Times in Europe/Paris")


def test_a_narrow_page_has_the_switch_at_the_foot_of_its_menu(site: WebThread, pages: Looks) -> None:
    with pages.page() as page:
        page.set_viewport_size({"width": NARROW, "height": 900})
        page.goto(site.address)
        expect(zone(page)).to_be_hidden()
        page.locator(".menu > summary").click()
        page.get_by_role("button", name="UTC", exact=True).click()
        expect(page.locator("#next .lines")).to_contain_text(" UTC")
