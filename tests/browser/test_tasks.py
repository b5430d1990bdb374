"""The tasks of an operator, by clicks and typing from the first page on, in a wide window and in a narrow one.

Each task ends in what the schedule says. Each click is one that a hand can make: what is clicked lies within the
window, and nothing covers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.clicking import says
from tests.browser.conftest import Site
from tests.browser.scene import SHOP
from tests.browser.seen import NARROW, WIDE, Looks, Seen
from tests.processes import until
from workkit import schedule
from workkit.errors import NotFound
from workkit.jobs.job import Job
from workkit.schedule import Schedule

WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])
TASKS = [f"task-{task}-{width}" for task in ("pause", "run", "edit", "skip") for width in (WIDE, NARROW)]
ORDERS = [f"order-{task}-{width}" for task in ("cancel", "find") for width in (WIDE, NARROW)]


@dataclass  # no slots: see Seen
class Operator:
    """Somebody in front of a browser who knows the names of pages and buttons, and no addresses."""

    seen: Seen
    s: Schedule
    width: int

    @property
    def page(self) -> Page:
        return self.seen.page

    @property
    def main(self) -> Locator:
        return self.page.get_by_role("main")

    def start(self) -> None:
        """Open the first page of all, and choose the schedule there."""
        self.seen.show("light", self.width)
        self.seen.open("/")
        self.link(SHOP)
        expect(self.page).to_have_url(re.compile(f"{base(SHOP)}$"))

    def click(self, what: Locator) -> None:
        """Click something within the window: it may be scrolled to from above, never from the side."""
        self.reach(what)
        what.click()

    def reach(self, what: Locator) -> None:
        what.scroll_into_view_if_needed()
        box = what.bounding_box()
        assert box is not None
        assert box["x"] >= 0, f"{what} begins left of the window: {box}"
        assert box["x"] + box["width"] <= self.width, f"{what} ends right of the window: {box}"
        assert self.page.evaluate("document.documentElement.scrollWidth") <= self.width, "the page scrolls sideways"

    def button(self, name: str) -> None:
        self.click(self.main.get_by_role("button", name=name, exact=True))

    def link(self, name: str) -> None:
        self.click(self.main.get_by_role("link", name=name, exact=True).first)

    def unfold(self, text: str) -> None:
        """Click a button that asks first, which ends in an ellipsis."""
        self.click(self.main.locator("summary:visible", has_text=text).first)

    def write(self, label: str, text: str) -> None:
        """Type into the box of a label, key by key."""
        box = self.main.get_by_label(re.compile(rf"^\s*{re.escape(label)}")).locator("visible=true").first
        self.click(box)
        box.clear()
        box.press_sequentially(text)

    def go(self, title: str) -> None:
        """Go to a page by the menu."""
        navigation = self.page.get_by_role("navigation", name="Pages", exact=True)
        if self.width == NARROW:
            self.click(self.page.get_by_role("banner").locator("summary:visible"))
        self.click(navigation.get_by_role("link", name=re.compile(f"^{title}\\b")))
        expect(self.page.get_by_role("region", name="This page")).to_contain_text(title)

    def undo(self) -> None:
        self.click(self.page.locator("#did").get_by_role("button", name="Undo"))

    def named(self) -> str:
        """Read from the address whose page this is."""
        return self.page.url.rpartition("/jobs/")[2]

    def at_job(self, which: str) -> None:
        """Wait for the page of a job."""
        expect(self.page).to_have_url(re.compile(f"/jobs/{re.escape(which)}([?#].*)?$"))


@pytest.fixture(scope="module")
def s(site: Site) -> Iterator[Schedule]:
    """The shop, with a job for each task at each width, once the pages show them."""
    s = site.scene.shop
    for task in TASKS:
        day = f"{datetime.now(UTC) + timedelta(days=3):%A}"  # none of them is due meanwhile
        schedule.add(s, cast.DONE, every=f"{day} at 5pm", name=task, args=["eu"])
    for order in ORDERS:
        schedule.add(s, cast.DONE, in_="5 hours", name=order, args=[{"order": f"number {order}"}])
    page = f"{site.address}{base(SHOP)}recurring?q=task-"
    until(lambda: all(task in httpx.get(page).text for task in TASKS), what="the list of the jobs")
    yield s
    for name in (*TASKS, *ORDERS):
        cancelled(s, name)


def cancelled(s: Schedule, name: str) -> None:
    for verb in (schedule.resume, schedule.cancel):
        with suppress(NotFound):
            verb(s, name)


@pytest.fixture
def operator(looks: Looks, s: Schedule, width: int) -> Iterator[Operator]:
    with looks.at(has_script=True) as seen:
        (found := Operator(seen, s, width)).start()
        yield found
        assert [one for one in seen.troubles() if "404" not in one] == []  # a job that is over has no page


def at_recurring(operator: Operator, task: str) -> Job:
    """Go to the page of the job of a task."""
    operator.go("Recurring")
    operator.link(name := f"task-{task}-{operator.width}")
    operator.at_job(name)
    return schedule.job(operator.s, name)


@WIDTHS
def test_a_recurring_job_is_paused_and_resumed(operator: Operator, s: Schedule) -> None:
    job = at_recurring(operator, "pause")
    operator.unfold("Pause…")
    operator.write("Until", "tomorrow at 9am")
    operator.write("Reason", "the partner moves")
    operator.button("Pause")
    says(operator.seen, f"Paused {job.name} until tomorrow 09:00.")
    assert schedule.job(s, str(job.name)).state == "paused"
    operator.button("Resume")
    says(operator.seen, f"Resumed {job.name}.")
    assert schedule.job(s, str(job.name)) == job


@WIDTHS
def test_a_recurring_job_runs_once_now(operator: Operator, s: Schedule) -> None:
    job = at_recurring(operator, "run")
    operator.button("Run now")
    says(operator.seen, f"Running {job.name}")
    until(
        lambda: [(run.by_hand, run.ending) for run in schedule.runs(s, str(job.name))] == [(True, "done")],
        what="the run",
    )
    assert schedule.job(s, str(job.name)).due == job.due


@WIDTHS
def test_a_recurring_job_gets_another_time(operator: Operator, s: Schedule) -> None:
    job = at_recurring(operator, "edit")
    operator.link("Edit")
    operator.write("When?", "every day at 6:30pm")
    expect(operator.main).to_contain_text("Next run moves from ")
    operator.button("Save")
    says(operator.seen, f"Saved {job.name}")
    at_recurring(operator, "edit")
    expect(operator.main).to_contain_text("every day at 18:30")
    now = schedule.job(s, str(job.name))
    assert f"{local(now.due):%H:%M}" == "18:30"
    assert now.args == job.args


def local(at: datetime | None) -> datetime:
    assert at is not None
    return at.astimezone(ZoneInfo("Europe/Paris"))


@WIDTHS
def test_a_next_run_is_skipped_and_taken_back(operator: Operator, s: Schedule) -> None:
    job = at_recurring(operator, "skip")
    operator.button("Skip next")
    says(operator.seen, f"Skipped {job.name} of ")
    assert local(schedule.job(s, str(job.name)).due) == local(job.due) + timedelta(days=7)  # by the clock on the wall
    operator.undo()
    says(operator.seen, f"{job.name} runs ")
    assert schedule.job(s, str(job.name)).due == job.due


@WIDTHS
def test_a_waiting_job_is_cancelled_and_comes_back(operator: Operator, s: Schedule) -> None:
    job = schedule.job(s, name := f"order-cancel-{operator.width}")
    operator.go("Jobs")
    operator.click(operator.main.get_by_role("link", name=re.compile(f"number {name}")))
    operator.at_job(name)
    operator.unfold("Cancel…")
    operator.button("Cancel it")
    says(operator.seen, f"Cancelled {name}.")
    with pytest.raises(NotFound):
        schedule.job(s, name)
    operator.undo()
    says(operator.seen, f"{name} is back.")
    assert schedule.job(s, name) == job


@WIDTHS
def test_a_job_is_found_by_an_argument(operator: Operator, s: Schedule) -> None:
    name = f"order-find-{operator.width}"
    operator.go("Jobs")
    operator.write("Filter", f"number {name}")
    operator.page.keyboard.press("Enter")
    expect(operator.main.locator("tbody tr")).to_have_count(1)
    operator.click(operator.main.locator("tbody").get_by_role("link"))
    operator.at_job(name)
    expect(operator.main).to_contain_text(f"number {name}")
    assert schedule.job(s, operator.named()).args == ({"order": f"number {name}"},)
