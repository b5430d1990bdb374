"""What a page does when the web process falls silent, what `r` does, and how long the line after an act stays."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.seen import Looks
from tests.browser.web_thread import WebThread
from tests.processes import Processes
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web import works

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


@pytest.fixture
def site(s: Schedule) -> Iterator[WebThread]:
    with closing(WebThread(s)) as found:
        yield found


def is_live(page: Any) -> None:
    expect(page.locator("#pill.live")).to_have_text(re.compile(r"^Live \d\d:\d\d:\d\d$"))


def test_a_page_that_hears_nothing_for_12_s_is_dim_says_since_when_and_comes_back(
    s: Schedule, server: Server, pages: Looks, processes: Processes
) -> None:
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    web = processes.workkit("web", s.name, "--redis", server.url, "--bind", "127.0.0.1:0")
    address = web.wait_for(r"^listening .* on (\S+/),")[1]
    with pages.page() as page:
        page.clock.install()
        page.goto(address)
        is_live(page)
        os.kill(web.pid, signal.SIGSTOP)
        try:
            page.clock.run_for(8_000)
            expect(page.locator("main.stale")).to_have_count(0)
            page.clock.run_for(5_000)
            expect(page.locator("main.stale")).to_have_count(1)
            expect(page.locator("#away")).to_have_text(
                re.compile(r"^No answer since \d\d:\d\d:\d\d\. What you see is as of then")
            )
            expect(page.locator("#pill.away")).to_have_text(re.compile(r"^As of \d\d:\d\d:\d\d$"))
            page.locator("#next summary").evaluate("n => n.click()")
            page.evaluate("document.querySelector('#next form').requestSubmit()")
            expect(page.locator("#did")).to_contain_text("nothing was sent")
        finally:
            os.kill(web.pid, signal.SIGCONT)
        page.clock.resume()
        is_live(page)
        expect(page.locator("main.stale")).to_have_count(0)
        expect(page.locator("#away")).to_be_empty()


def test_r_asks_first_and_only_with_a_row_in_focus(site: WebThread, s: Schedule, pages: Looks) -> None:
    for name in ("first", "second"):
        schedule.add(s, handlers.note, every="day at 5am", name=name)

    def runs() -> list[str | None]:
        return [job.name for job in schedule.jobs(s) if job.state == "due"]

    with pages.page() as page:
        page.goto(f"{site.address}jobs/first")
        is_live(page)
        page.keyboard.press("r")
        expect(page.locator("#did")).to_be_empty()  # no row is in focus
        page.goto(f"{site.address}recurring")
        is_live(page)
        page.keyboard.press("r")
        expect(page.locator("#did")).to_be_empty()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("r")
        expect(page.locator("#did")).to_contain_text(re.compile("second.*Run now"))
        page.keyboard.press("Escape")
        expect(page.locator("#did")).to_be_empty()
        assert runs() == []
        page.locator("tbody a.name", has_text="second").focus()
        page.keyboard.press("r")
        expect(page.locator("#did button").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#did")).to_contain_text("Running second")
        expect(page.locator("#did")).not_to_contain_text("first")


def test_what_was_done_stays_for_who_did_it(
    site: WebThread, s: Schedule, pages: Looks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(works, "SHOWN_S", 8.0)
    for n in range(24):
        schedule.add_now(s, handlers.fail, args=[f"disk {n} full"])
    schedule.drain(s, raise_errors=False, **HOW)
    with pages.page() as mine, pages.page() as other:
        for page in (mine, other):
            page.goto(f"{site.address}dead")
        mine.get_by_role("button", name="Retry all 24").click()
        for page in (mine, other):
            expect(page.locator("[id^=work-]")).to_contain_text("Retr")
        expect(other.locator("[id^=work-]")).to_have_count(0)
        expect(other.locator("#did")).to_be_empty()
        expect(mine.locator("[id^=work-]")).to_have_count(0)
        expect(mine.locator("#did")).to_contain_text("Retried 24.")
        mine.evaluate("again()")
        is_live(mine)
        schedule.add(s, handlers.note, in_="1 hour")  # the page is written again
        expect(mine.locator("#pages a", has_text="Jobs")).to_contain_text("25")
        expect(mine.locator("#did")).to_contain_text("Retried 24.")
        mine.get_by_role("link", name="Dismiss").click()
        expect(mine.locator("#did")).to_be_empty()


def test_what_was_done_is_dismissed_without_the_script(site: WebThread, s: Schedule, pages: Looks) -> None:
    schedule.add(s, handlers.note, every="day at 5am", name="nightly")
    with pages.page(java_script_enabled=False) as page:
        page.goto(f"{site.address}jobs/nightly")
        page.get_by_role("button", name="Skip next").click()
        expect(page.locator("#did")).to_contain_text("Skipped nightly")
        page.reload()
        expect(page.locator("#did")).to_contain_text("Skipped nightly")
        page.get_by_role("link", name="Dismiss").click()
        expect(page.locator("#did")).to_be_empty()
        assert page.url == f"{site.address}jobs/nightly"
