"""What cannot be undone, by clicking: repair, purge, show one hidden value; and what is asked again and again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.brokers.checkups import payload
from tests.browser.clicking import Desk, comes_to_show, says
from tests.browser.scene import MASKED
from tests.browser.seen import assert_masked
from workkit import schedule
from workkit.brokers.native.keys import Keys

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])


@pytest.fixture(autouse=True)
def _second_look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


def has_no_undo(desk: Desk) -> None:
    expect(desk.seen.page.locator("#did").get_by_role("button")).to_have_count(0)


def test_a_fault_is_looked_for_again_and_repaired(desk: Desk) -> None:
    desk.open("doctor?older_than=1s")
    comes_to_show(desk.seen, "Looked just now.")
    expect(desk.seen.page.locator("main")).not_to_contain_text("Repair…")
    id, data = payload()
    desk.server.client().hset(Keys(desk.s.name).jobs, id, data)
    desk.act("checkup")
    says(desk.seen, f"Checking {desk.s.name} again.")
    comes_to_show(desk.seen, "Repair…")
    assert desk.seen.troubles() == []
    repair = desk.form("repair")
    expect(repair).to_contain_text("It cannot be undone.")
    repair.get_by_role("button").click()
    says(desk.seen, "Repaired: ")
    has_no_undo(desk)
    assert [job.id for job in schedule.jobs(desk.s)] == [id]  # it stands again
    expect(desk.seen.page.locator("main")).not_to_contain_text("Repair…")
    assert desk.seen.complaints == []


def test_past_runs_are_purged(desk: Desk) -> None:
    schedule.add(desk.s, handlers.note, every="day at 2:30am", name="nightly")
    schedule.skip(desk.s, "nightly")
    assert schedule.runs(desk.s, "nightly")
    before = schedule.job(desk.s, "nightly")
    desk.open("changes")
    purge = desk.form("purge")
    expect(purge).to_contain_text("This cannot be undone.")
    purge.get_by_role("button").click()
    says(desk.seen, f"Purged the history of {desk.s.name}.")
    has_no_undo(desk)
    assert not schedule.runs(desk.s, "nightly")
    assert schedule.job(desk.s, "nightly") == before
    assert schedule.changes(desk.s, limit=1)[0].verb == "forget history"
    assert desk.seen.complaints == []


@pytest.mark.parametrize("when", [{"every": "day at 2:30am"}, {"in_": "1 hour"}], ids=["recurs", "once"])
def test_one_hidden_value_is_shown_once_and_recorded(desk: Desk, when: dict[str, str]) -> None:
    schedule.add(desk.s, handlers.note, name="login", args=["eu"], kwargs={"api_key": MASKED}, **when)  # type: ignore[arg-type]
    page = desk.seen.page
    desk.open("jobs/login")
    assert_masked(page.content(), "the page")
    desk.form("show").get_by_role("button").click()
    expect(page.locator("main h1")).to_have_text("Showed kwargs/api_key of login.")
    expect(page.locator("main pre")).to_have_text(f'"{MASKED}"')
    expect(page.locator("main")).to_contain_text("It is recorded in Changes.")
    assert desk.seen.troubles() == []
    (change,) = schedule.changes(desk.s, limit=1)
    assert (change.verb, change.after) == ("show", {"argument": "kwargs/api_key"})
    page.get_by_role("link", name="Back").click()
    expect(page.locator("main h1")).to_contain_text(re.compile("note|login"))
    assert_masked(page.content(), "the page after it")
    desk.open("changes")
    assert_masked(page.content(), "Changes")
    assert desk.seen.complaints == []
