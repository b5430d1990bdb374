"""A filter under a name, by clicking: with the script and without."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.clicking import Desk, comes_to_show, press, unfolded
from workkit import schedule

SCRIPTS = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])


@SCRIPTS
def test_a_saved_view_stays_beside_the_filter_until_it_is_removed(desk: Desk) -> None:
    desk.open("jobs?state=waiting&q=fn%3Aapp.mail")
    page = desk.seen.page
    form = unfolded(page.locator('main form[action$="/-/views"]:has(input[name=name])'))
    form.locator("[name=name]").fill("mails ahead")
    press(form)
    expect(page.locator("#saved")).to_contain_text("mails ahead")

    desk.open("jobs")
    schedule.add(desk.s, "app.mail:send", in_="1 hour", name="from-afar")
    comes_to_show(desk.seen, "from-afar")  # by a patch of the stream, which knows nothing of views
    page.locator("#saved").get_by_role("link", name="mails ahead").click()
    expect(page.locator("main [name=q]").first).to_have_value("fn:app.mail")
    page.locator("#saved").get_by_role("button", name="Remove the saved view mails ahead").click()
    expect(page.locator("#saved")).not_to_contain_text("mails ahead")
