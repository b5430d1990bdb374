"""A page that is open in a real browser, while the schedule goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.seen import Looks
from tests.browser.web_thread import WebThread
from tests.processes import until
from tests.servers import Server
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.text.glance import away

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 3}


Open = Callable[..., Any]


@pytest.fixture
def opened(pages: Looks) -> Iterator[Open]:
    """Open a page. What it says in its console, errors of the policy among it, is nothing."""
    with ExitStack() as ends:
        said: list[str] = []

        def page(address: str, **how: Any) -> Any:
            found = ends.enter_context(pages.page(**how))
            found.on("pageerror", lambda error: said.append(str(error)))
            found.on("console", lambda line: said.append(line.text) if "ERR_" not in line.text else None)
            found.goto(address)
            return found

        yield page
        assert [line for line in said if "Failed to load resource" not in line] == []


@pytest.fixture
def site(s: Schedule) -> Iterator[WebThread]:
    with closing(WebThread(s)) as found:
        yield found


@contextmanager
def held() -> Iterator[None]:
    """Hold the runs that wait for the gate, until the end."""
    handlers.calls.clear()
    handlers.gate.clear()
    try:
        yield
    finally:
        handlers.gate.set()


def is_live(page: Any) -> None:
    expect(page.locator("#pill.live")).to_have_text(re.compile(r"^Live \d\d:\d\d:\d\d$"))


def test_a_job_begins_and_ends_while_the_page_is_open(site: WebThread, s: Schedule, opened: Open) -> None:
    with held(), schedule.listener(s, **HOW):
        page = opened(site.address)
        page.evaluate("window.same = true")
        is_live(page)
        schedule.add_now(s, handlers.wait_for_gate)
        expect(page.locator("#running")).to_contain_text("tests.handlers.wait_for_gate")
        handlers.gate.set()
        expect(page.locator("#running")).to_contain_text("Nothing runs.")
        assert page.evaluate("window.same")


def test_focus_typed_text_and_what_is_open_survive_a_patch(site: WebThread, s: Schedule, opened: Open) -> None:
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    page = opened(site.address)
    is_live(page)
    page.locator("#next summary", has_text="Pause all").click()
    box = page.locator("#next input[name=reason]")
    box.press_sequentially("migra")
    box.evaluate("box => box.setSelectionRange(1, 3)")
    for n in range(3):
        schedule.add(s, handlers.note, in_="1 minute", name=f"other-{n}")
        expect(page.locator("#next")).to_contain_text(f"other-{n}")
        assert page.evaluate("[document.activeElement.name, document.activeElement.value]") == ["reason", "migra"]
    assert box.evaluate("box => [box.selectionStart, box.selectionEnd]") == [1, 3]
    box.press("End")
    box.press_sequentially("tion")
    box.press("Enter")
    expect(page.locator("#did")).to_contain_text("Paused")
    expect(page.locator("#needs")).to_contain_text("migration")


def test_an_act_answers_in_place_and_is_undone_in_place(site: WebThread, s: Schedule, opened: Open) -> None:
    page = opened(site.address)
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    page.evaluate("window.same = true")
    is_live(page)
    expect(page.locator("#next")).to_contain_text("nightly")
    page.locator("#next summary", has_text="Pause all").click()
    page.locator("#next input[name=until]").fill("the day after")
    page.locator("#next button", has_text="Pause").click()
    expect(page.locator("#did")).to_contain_text("the day after")  # refused, in place
    page.locator("#next input[name=until]").fill("tomorrow at 9am")
    page.locator("#next button", has_text="Pause").click()
    expect(page.locator("#needs")).to_contain_text("is paused")
    page.locator("#did button", has_text="Undo").click()
    expect(page.locator("#needs")).not_to_contain_text("is paused")
    assert page.evaluate("window.same")
    assert page.url == site.address


def test_the_server_goes_away_and_comes_back(own_server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=own_server.url)
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    with closing(WebThread(s)) as site:
        page = opened(site.address)
        page.evaluate("window.same = true")
        for leave, come in ((own_server.freeze, own_server.thaw), (own_server.kill, own_server.start)):
            is_live(page)
            leave()
            expect(page.locator("#away")).to_contain_text("this page goes on by itself")
            expect(page.locator("#pill.away")).to_have_text(re.compile("^Server away "))
            expect(page.locator("main.stale")).to_have_count(1)
            page.locator("#next summary").click(force=True)
            page.evaluate("document.querySelector('#next form').requestSubmit()")
            expect(page.locator("#did")).to_contain_text("nothing was sent")
            come()
            is_live(page)
            expect(page.locator("#away")).to_be_empty()
            expect(page.locator("main.stale")).to_have_count(0)
        assert page.evaluate("window.same")


def test_a_stream_that_ends_is_opened_again(site: WebThread, s: Schedule, opened: Open) -> None:
    page = opened(site.address)
    is_live(page)
    site.stop()
    expect(page.locator("#pill.away")).to_have_text(re.compile(r"^As of \d\d:\d\d:\d\d$"))
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    site.start()
    is_live(page)
    expect(page.locator("#next")).to_contain_text("nightly")


def test_an_act_goes_on_with_a_new_token_after_a_restart(site: WebThread, s: Schedule, opened: Open) -> None:
    schedule.add(s, handlers.note, every="day at noon", name="nightly")
    page = opened(f"{site.address}jobs/nightly")
    is_live(page)
    page.evaluate("window.same = true")
    site.stop()
    site.start(signer=asgi.signer("another"))
    for said in ("Skipped nightly of ", "Skipped nightly of "):
        page.get_by_role("button", name="Skip next").click()
        expect(page.locator("#did")).to_contain_text(said)
        page.evaluate("document.querySelector('#did').replaceChildren()")
    assert page.evaluate("window.same")
    assert len([one for one in schedule.changes(s) if one.verb == "skip"]) == 2


def test_a_page_asks_again_where_there_are_no_streams(s: Schedule, opened: Open) -> None:
    with closing(WebThread(s, live="poll")) as site:
        page = opened("about:blank")
        page.clock.install()
        page.goto(site.address)
        is_live(page)
        schedule.add(s, handlers.note, in_="1 hour", name="nightly")
        page.clock.fast_forward(5_000)
        expect(page.locator("#next")).to_contain_text("nightly")
        is_live(page)


def test_distances_are_told_as_the_server_tells_them(site: WebThread, opened: Open) -> None:
    page = opened(site.address)
    for seconds in (0, 1, 30, 72, 119, 120, 185, 3599, 3600, 3661, 24_240, 86_399, 86_400, 248_400, 86_400 * 400):
        assert page.evaluate("distance", seconds * 1000 + 300) == away(seconds * 1000 + 300)


def test_countdowns_tick(site: WebThread, s: Schedule, opened: Open) -> None:
    schedule.add(s, handlers.note, at=datetime.now(UTC) + timedelta(seconds=60), name="soon")
    page = opened(site.address)
    first = page.locator("#next time.cd").inner_text()
    expect(page.locator("#next time.cd")).not_to_have_text(first)
    expect(page.locator("#next time.cd")).to_have_text(re.compile(r"^\d+ s$"))


def test_what_a_form_is_about_is_patched_and_what_was_typed_is_not(site: WebThread, opened: Open) -> None:
    page = opened(site.address)
    page.evaluate("""() => {
        const form = (which, until, token) => `<main id="main" data-live><form><input type="hidden" name="token"
            value="${token}"><input type="hidden" name="which" value="${which}"><input type="checkbox" name="which"
            value="${which}"><input name="until" value="${until}"><progress max="9" value="${which}"></progress>`
            + "</form></main>";
        close(); data.stream = "";
        $("#main").outerHTML = form(1, "as it came", "mine");
        patch({ main: form(2, "other", "") });
    }""")
    found = page.evaluate("$$('main input, main progress').map((n) => [n.type, `${n.value}`])")
    assert [value for _, value in found] == ["mine", "2", "2", "as it came", "2"]


def test_rows_stay_where_they_are(site: WebThread, opened: Open) -> None:
    page = opened(site.address)
    page.evaluate("""() => {
        const table = (...names) => `<main id="main" data-live><table><tbody data-rows>${
            names.map((name) => `<tr><td><a href="/${name}">${name}</a></td></tr>`).join("")}</tbody></table></main>`;
        close(); data.stream = "";
        $("#main").outerHTML = table("a", "b", "c");
        patch({ main: table("new", "c", "b") });
    }""")
    rows = page.locator("tbody tr")
    assert rows.all_inner_texts() == ["a", "b", "c"]
    assert page.locator("tr.gone").all_inner_texts() == ["a"]
    page.get_by_role("button", name="1 new").click()
    assert rows.all_inner_texts() == ["new", "c", "b"]


def test_keys_lead_to_pages_rows_and_their_own_list(site: WebThread, s: Schedule, opened: Open) -> None:
    for n in range(3):
        schedule.add(s, handlers.note, in_=f"{n + 1} hours", name=f"job-{n}")
    page = opened(site.address)
    keys = page.locator("#keys")
    page.keyboard.press("?")
    expect(keys).to_be_visible()
    expect(keys).to_contain_text("Listeners")
    page.locator("#keys-on").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("?")
    expect(keys).to_be_hidden()  # switched off
    page.evaluate("localStorage.clear()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.textContent") == "job-1"
    page.keyboard.press("Shift+L")
    expect(page.locator("#pill")).to_have_text("Paused")
    page.keyboard.press("Shift+L")
    is_live(page)
    page.keyboard.press("Shift+T")
    expect(page.locator("html[data-theme=dark]")).to_have_count(1)
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.wait_for_url(re.compile("/listeners$"))


def test_a_page_that_is_not_seen_has_no_stream(site: WebThread, s: Schedule, opened: Open) -> None:
    page = opened("about:blank")
    page.clock.install()
    page.goto(site.address)
    is_live(page)
    hide = """is => {
        Object.defineProperty(document, "hidden", { value: is, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    page.clock.fast_forward(9_000)
    assert page.evaluate("source !== null")
    page.clock.fast_forward(2_000)
    until(lambda: len(site.app.state.hub) == 0, what="the end of the stream")
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    page.evaluate(hide, False)
    expect(page.locator("#next")).to_contain_text("nightly")
    assert len(site.app.state.hub) == 1


def test_what_is_typed_into_jump_is_answered_once(site: WebThread, opened: Open) -> None:
    page = opened(site.address)
    asked: list[str] = []

    def answer(route: Any) -> None:
        asked.append(route.request.url.partition("?")[2])
        route.fulfill(body='<div id="jump-found"><a href="/one">one</a><a href="/two">two</a></div>')

    page.route("**/-/jump?*", answer)
    page.keyboard.press("Control+k")
    page.evaluate("""() => {  // on a busy machine keyboard.type pauses between two keys
        for (const key of "mail poll") document.execCommand("insertText", false, key);
    }""")
    expect(page.locator("#jump-found a")).to_have_count(2)
    assert asked == ["q=mail+poll&fragment=1"]
    for key, at in (("ArrowDown", "one"), ("ArrowDown", "two"), ("ArrowDown", "two"), ("ArrowUp", "one")):
        page.keyboard.press(key)
        assert page.evaluate("document.activeElement.textContent") == at
    page.keyboard.press("Escape")
    expect(page.locator("#jump-found a")).to_have_count(0)


def test_a_form_is_answered_as_one_types_and_sent_to_where_its_button_says(site: WebThread, opened: Open) -> None:
    page = opened(site.address)
    save = f"{urlsplit(page.url).path}do/pause"
    page.route("**/x", lambda route: route.fulfill(
        content_type="text/html",
        body=f'<p id="heard">{route.request.post_data}</p><p id="save"><button formaction="{save}">Save</button></p>',
    ))  # fmt: skip
    page.evaluate("""() => $("#bar-end").insertAdjacentHTML("afterbegin", `
        <form id="edit" method="post" action="/x" data-input="#heard, #save">
        <input type="hidden" name="token"><input name="when"><input name="tz" value="UTC">
        <input type="hidden" name="back" value="${location.pathname}">
        <p id="heard"></p>
        <p id="save"><button formaction="${location.pathname}do/pause" disabled>Save</button></p></form>`)""")
    page.locator("#edit [name=when]").press_sequentially("every hour")
    expect(page.locator("#heard")).to_contain_text("when=every+hour&tz=UTC")
    page.locator("#edit button").click()
    expect(page.locator("#did")).to_contain_text("Paused")


def test_a_click_copies(site: WebThread, opened: Open) -> None:
    page = opened(site.address, permissions=["clipboard-read", "clipboard-write"])
    button = '<button data-copy="54111adf01">copy</button>'
    page.evaluate("button => $('#bar-end').insertAdjacentHTML('afterbegin', button)", button)
    page.get_by_role("button", name="copy").click()
    expect(page.locator("#did")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "54111adf01"


def test_keys_select_rows_and_act_on_them(site: WebThread, s: Schedule, opened: Open) -> None:
    for n in range(4):
        schedule.add(s, handlers.note, in_=f"{n + 1} hours", name=f"job-{n}")
    page = opened(site.address)
    page.evaluate("""() => { data.stream = ""; close(); for (const li of $$("#next .lines li"))
        li.insertAdjacentHTML("beforeend", '<input type="checkbox" name="which">'); }""")
    chosen = "$$('#next [type=checkbox]').map((box) => box.checked)"
    for keys, boxes in (
        ("jx", [1, 0, 0, 0]), ("jjX", [1, 1, 1, 0]), ("a", [1, 1, 1, 1]), ("a", [0, 0, 0, 0]), ("kx", [0, 1, 0, 0]),
    ):  # fmt: skip
        for key in keys:
            page.keyboard.press(key)
        assert page.evaluate(chosen) == [bool(box) for box in boxes], keys
    page.keyboard.press("p")  # it asks for a reason first
    assert page.evaluate("document.activeElement.name") == "until"


def test_it_works_without_the_script(site: WebThread, s: Schedule, opened: Open) -> None:
    schedule.add(s, handlers.note, in_="1 hour", name="nightly")
    page = opened(site.address, java_script_enabled=False)
    expect(page.locator("#pill")).to_have_text(re.compile("^As of "))
    expect(page.locator("[data-script]:visible")).to_have_count(0)
    page.locator("#next summary", has_text="Pause all").click()
    page.locator("#next button", has_text="Pause").click()
    expect(page.locator("#did")).to_contain_text("Paused")
    expect(page.locator("#did button")).to_have_text("Undo")
