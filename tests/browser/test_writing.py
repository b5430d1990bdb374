"""New and Edit by clicking: what is typed is answered, what is saved stands, and an undo takes it back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.clicking import Desk, says
from workkit import schedule

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
NAME = "written"
NOTE = "tests.handlers:note"
LEFT = "cancelled"
"""The key of jobs that were taken out: a run of one that has begun is told so."""


def clicks(desk: Desk, button: str) -> None:
    desk.seen.page.get_by_role("button", name=button).click()


def no_more(desk: Desk) -> list[str]:
    """What the browser complained of, but for the page of a job that is gone."""
    return [one for one in desk.seen.complaints if "404" not in one]


def test_a_job_is_added_and_taken_back(desk: Desk) -> None:
    page = desk.seen.page
    desk.open("recurring")
    page.get_by_role("link", name="New", exact=True).first.click()
    page.locator("[name=when]").fill("every weekday at 9 in the moning")
    page.locator("[name=name]").fill(NAME)
    page.locator("[name=fn]").fill(NOTE)
    clicks(desk, "Look at it")
    expect(page.locator("#answer .no")).to_contain_text("moning")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    page.locator("[name=when]").fill("every weekday at 9am")
    clicks(desk, "Look at it")
    expect(page.locator(".e-save")).to_contain_text("Next run ")
    assert list(schedule.jobs(desk.s)) == []
    desk.undone(lambda: clicks(desk, "Save"), said=f"Saved {NAME}: next ", back=f"Cancelled {NAME}.", but=LEFT)
    assert no_more(desk) == []


def test_what_is_typed_can_be_saved_at_once_where_there_is_a_script(desk: Desk, has_script: bool) -> None:
    if not has_script:
        pytest.skip("without the script, Look at it answers")
    page = desk.seen.page
    desk.open("new")
    save = page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    page.locator("[name=name]").fill(NAME)
    page.locator("[name=fn]").fill(NOTE)
    page.locator("[name=when]").fill("every weekday at 9 in the moning")
    expect(page.locator("#answer .no")).to_contain_text("moning")
    expect(save).to_be_disabled()
    page.locator("[name=when]").fill("every weekday at 9am")
    expect(page.locator("#side")).to_contain_text("every weekday at 9am")
    expect(page.locator(".e-save")).to_contain_text("Next run ")
    save.click()
    says(desk.seen, f"Saved {NAME}: next ")
    assert no_more(desk) == []


def test_a_job_is_edited_and_put_back(desk: Desk) -> None:
    page = desk.seen.page
    schedule.add(desk.s, handlers.note, every="day at 5pm", name=NAME, args=["eu"], unique=True)
    before = schedule.job(desk.s, NAME)
    desk.open(f"jobs/{NAME}")
    page.locator('main a[href$="/edit"]').first.click()
    expect(page.locator("[name=name]")).to_have_value(NAME)
    page.locator("[name=when]").fill("every day at 6:30pm")
    page.locator("[name=args]").fill('["us"]')
    clicks(desk, "Look at it")
    expect(page.locator(".e-save")).to_contain_text("Next run moves from ")

    def save() -> None:
        clicks(desk, "Save")
        says(desk.seen, " 18:30.")
        assert schedule.job(desk.s, NAME).args == ("us",)

    desk.undone(save, said=f"Saved {NAME}: next ", back=f"Put {NAME} back: ")
    assert schedule.job(desk.s, NAME) == before
    assert no_more(desk) == []


def test_a_job_beside_others_is_spread_and_put_back(desk: Desk) -> None:
    page = desk.seen.page
    for name in (NAME, "other", "third"):
        schedule.add(desk.s, handlers.note, every="day at 5pm", name=name)
    desk.open(f"jobs/{NAME}/edit")
    expect(page.locator("main")).to_contain_text("2 other jobs start at 17:00:00.")
    clicks(desk, "Put it off by its part of ")
    expect(page.locator("[name=spread]")).not_to_have_value("")
    desk.undone(lambda: clicks(desk, "Save"), said=f"Saved {NAME}: next ", back=f"Put {NAME} back: ")
    assert no_more(desk) == []


def test_a_word_is_mended_by_its_suggestion_and_a_job_is_like_another(desk: Desk) -> None:
    page = desk.seen.page
    schedule.add(desk.s, handlers.note, every="weekday at 9am", name=NAME, args=["eu"])
    desk.open(f"jobs/{NAME}")
    page.get_by_role("link", name="Duplicate").first.click()
    expect(page.locator("[name=args]")).to_have_value('["eu"]')
    expect(page.locator("[name=name]")).to_have_value("")
    page.locator("[name=name]").fill("copy")
    page.locator("[name=when]").fill("every weekdy at 9am")
    clicks(desk, "Look at it")
    page.locator("#answer button").click()
    expect(page.locator("[name=when]")).to_have_value("every weekday at 9am")
    desk.undone(lambda: clicks(desk, "Save"), said="Saved copy: next ", back="Cancelled copy.", but=LEFT)
    assert no_more(desk) == []


def test_what_changed_meanwhile_is_not_overwritten(desk: Desk) -> None:
    page = desk.seen.page
    schedule.add(desk.s, handlers.note, every="day at 5pm", name=NAME)
    desk.open(f"jobs/{NAME}/edit")
    schedule.add(desk.s, handlers.note, every="day at 7pm", name=NAME)
    before = desk.keys()
    page.locator("[name=when]").fill("every day at 6pm")
    clicks(desk, "Look at it")
    clicks(desk, "Save")
    expect(page.locator("main")).to_contain_text("It changed meanwhile: written is now every day at 19:00")
    assert desk.keys() == before
