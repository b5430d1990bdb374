"""The boxes of forms: many wrap, selects show that they open, and a typo in "until" is said while one types."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser import cast
from tests.browser.clicking import Desk, unfolded
from tests.browser.seen import NARROW, WIDE
from workkit import schedule

TYPO = "tomorow at 9am"
both = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
with_script = pytest.mark.parametrize("has_script", [True], ids=["script"])


@with_script
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_many_parameter_boxes_wrap(desk: Desk, width: int) -> None:
    page = desk.seen.page
    with schedule.listener(desk.s, imports=[cast.__name__], folder=None):
        desk.seen.show("light", width)
        desk.open(f"new?fn={cast.MANY}")
        expect(page.locator("#args .box")).to_have_count(9)
        assert desk.seen.troubles() == []
        inside = page.locator(".e-main").bounding_box()
        assert inside is not None
        for box in page.locator("#args .box").all():
            found = box.bounding_box()
            assert found is not None
            assert found["x"] + found["width"] <= inside["x"] + inside["width"] + 1
            assert found["width"] >= 100


@with_script
def test_every_select_has_an_arrow(desk: Desk) -> None:
    page = desk.seen.page
    desk.open("new")
    for select in page.locator("select").all():
        how = select.evaluate("n => [getComputedStyle(n).appearance, getComputedStyle(n).backgroundImage]")
        assert how[0] != "none" or how[1] != "none"
        assert how[0] != "none" or select.evaluate("n => parseFloat(getComputedStyle(n).paddingRight)") >= 16


@with_script
@pytest.mark.parametrize("path", ["", "recurring", "jobs/nightly"])
def test_until_is_answered_while_one_types(desk: Desk, path: str) -> None:
    schedule.add(desk.s, handlers.note, every="day at 5am", name="nightly")
    page = desk.seen.page
    desk.open(path)
    if path == "recurring":
        page.locator("[type=checkbox][name=which]").first.check()
    box = unfolded(page.locator("main [name=until]").first)
    box.press_sequentially(TYPO)
    said = page.locator("main label:has([name=until]) + output").first
    expect(said).to_contain_text("tomorow")
    expect(box).to_have_attribute("aria-invalid", "true")
    box.fill("tomorrow at 9am")
    expect(said).to_contain_text("at 09:00 UTC, in ")
    expect(box).to_have_attribute("aria-invalid", "false")
    box.fill("")
    expect(said).to_have_text("")


@both
def test_a_typo_in_until_keeps_the_box_open_with_its_text(desk: Desk) -> None:
    schedule.add(desk.s, handlers.note, every="day at 5am", name="nightly")
    page = desk.seen.page
    desk.open("jobs/nightly")
    form = desk.form("pause")
    form.locator("[name=until]").fill(TYPO)
    form.locator("[name=reason]").fill("a move")
    form.get_by_role("button", name="Pause").click()
    expect(page.locator("#did, h1").filter(has_text="tomorow").first).to_be_visible()
    box = page.locator('main form[action$="/do/pause"] [name=until]').first
    expect(box).to_be_visible()
    expect(box).to_have_value(TYPO)
    box.fill("tomorrow at 9am")
    page.locator('main form[action$="/do/pause"]').first.get_by_role("button").first.click()
    expect(page.locator("#did")).to_contain_text("Paused nightly until tomorrow 09:00.")
    assert next(iter(schedule.jobs(desk.s))).state == "paused"
