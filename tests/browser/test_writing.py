"""New and Edit by clicking: what is typed is answered, what is saved stands, and an undo takes it back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.clicking import says, undo
from tests.browser.conftest import Site
from tests.browser.scene import SHOP
from tests.browser.seen import Looks, Seen
from tests.processes import until
from workkit import schedule
from workkit.errors import NotFound
from workkit.jobs.job import Job

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
NAME = "written"


@pytest.fixture
def seen(looks: Looks, site: Site, has_script: bool) -> Iterator[Seen]:
    with looks.at(has_script=has_script) as found:
        yield found
        assert [one for one in found.complaints if "404" not in one] == []  # the page of a job that is gone
    schedule.cancel(site.scene.shop, NAME, missing_ok=True)


def stands(site: Site) -> Job | None:
    try:
        return schedule.job(site.scene.shop, NAME)
    except NotFound:
        return None


def test_a_job_is_added_and_taken_back(seen: Seen, site: Site) -> None:
    seen.open(f"{base(SHOP)}recurring")
    seen.page.get_by_role("link", name="New", exact=True).click()
    seen.page.locator("[name=when]").fill("every weekday at 9 in the moning")
    seen.page.locator("[name=name]").fill(NAME)
    seen.page.locator("[name=fn]").fill(cast.DONE)
    seen.page.get_by_role("button", name="Look at it").click()
    expect(seen.page.locator("#answer .no")).to_contain_text("moning")
    expect(seen.page.get_by_role("button", name="Save")).to_be_disabled()
    seen.page.locator("[name=when]").fill("every weekday at 9am")
    seen.page.get_by_role("button", name="Look at it").click()
    expect(seen.page.locator(".e-save")).to_contain_text("Next run ")
    assert stands(site) is None
    seen.page.get_by_role("button", name="Save").click()
    says(seen, f"Saved {NAME}: next ")
    job = schedule.job(site.scene.shop, NAME)
    assert job.trigger is not None
    assert job.due is not None
    undo(seen)
    until(lambda: stands(site) is None, what="its end")


def test_what_is_typed_can_be_saved_at_once_where_there_is_a_script(seen: Seen, site: Site, has_script: bool) -> None:
    if not has_script:
        pytest.skip("without the script, Look at it answers")
    seen.open(f"{base(SHOP)}new")
    save = seen.page.get_by_role("button", name="Save")
    expect(save).to_be_disabled()
    seen.page.locator("[name=name]").fill(NAME)
    seen.page.locator("[name=fn]").fill(cast.DONE)
    seen.page.locator("[name=when]").fill("every weekday at 9 in the moning")
    expect(seen.page.locator("#answer .no")).to_contain_text("moning")
    expect(save).to_be_disabled()
    seen.page.locator("[name=when]").fill("every weekday at 9am")
    expect(seen.page.locator("#side")).to_contain_text("every weekday at 9am")
    expect(seen.page.locator(".e-save")).to_contain_text("Next run ")
    save.click()
    says(seen, f"Saved {NAME}: next ")


def test_a_job_is_edited_and_put_back(seen: Seen, site: Site) -> None:
    before = schedule.add(site.scene.shop, cast.done, every="day at 5pm", name=NAME)
    seen.open(f"{base(SHOP)}jobs/{NAME}")
    seen.page.locator('main a[href$="/edit"]').first.click()
    expect(seen.page.locator("[name=name]")).to_have_value(NAME)
    seen.page.locator("[name=when]").fill("every day at 6:30pm")
    seen.page.get_by_role("button", name="Look at it").click()
    expect(seen.page.locator(".e-save")).to_contain_text("Next run moves from ")
    seen.page.get_by_role("button", name="Save").click()
    says(seen, f"Saved {NAME}: next ", ":30.")  # as the page shows times
    assert schedule.job(site.scene.shop, NAME).id != before.id
    undo(seen)
    says(seen, f"Put {NAME} back: ")
    back = schedule.job(site.scene.shop, NAME)
    assert (back.id, back.due) == (before.id, before.due)
