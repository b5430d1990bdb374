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
from pathlib import Path
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
from workkit.contract.admin import Quieted
from workkit.errors import NotFound
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

WIDTHS = pytest.mark.parametrize("width", [WIDE, NARROW])
TASKS = [f"task-{task}-{width}" for task in ("pause", "run", "edit", "skip") for width in (WIDE, NARROW)]
NEW = "new-in-words"
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


@pytest.mark.parametrize("width", [WIDE])  # a narrow window has no room for the box
@pytest.mark.parametrize("by", ["name", "id"])
def test_a_job_is_jumped_to(operator: Operator, s: Schedule, by: str) -> None:
    job = schedule.job(s, name := f"order-find-{operator.width}")
    box = operator.page.get_by_label("Jump, or say a time")
    operator.click(box)
    box.press_sequentially({"name": name, "id": job.short_id}[by])
    operator.click(operator.page.locator("#jump-found").get_by_role("link", name=re.compile(name)).first)
    expect(operator.main).to_contain_text(f"number {name}")
    assert schedule.job(s, operator.named()) == job


@pytest.fixture
def missing(s: Schedule, tmp_path: Path) -> Iterator[list[Path]]:
    """The files of three dead jobs, which failed as these are missing."""
    paths = [tmp_path / f"{n}.csv" for n in range(3)]
    for path in paths:
        schedule.add_now(s, cast.load, args=[str(path)])
    until(lambda: len(dead(s, str(tmp_path))) == 3, what="the dead")
    yield paths
    for job in dead(s, str(tmp_path)):
        schedule.discard(s, job.id)


def dead(s: Schedule, text: str) -> list[Job]:
    return [job for job in schedule.dead(s) if text in f"{job.args} {job.error}"]


def at_error(operator: Operator, text: str) -> None:
    """Go to the page of the jobs that died of one error."""
    operator.go("Dead")
    group = operator.main.get_by_role("article").filter(has_text=text)
    operator.click(group.get_by_role("heading").get_by_role("link"))
    expect(operator.main.get_by_role("article")).to_have_count(1)
    expect(operator.main).to_contain_text(text)


@WIDTHS
def test_a_dead_job_is_retried_and_then_all_of_its_error(operator: Operator, s: Schedule, missing: list[Path]) -> None:
    folder = str(missing[0].parent)
    for path in missing:
        path.touch()
    first = dead(s, missing[0].name)[0]
    at_error(operator, "the file has not come")
    operator.click(operator.main.get_by_role("link", name=re.compile(re.escape(missing[0].name))))
    operator.at_job(first.id)
    operator.button("Retry")
    says(operator.seen, "Retried ")
    until(lambda: [run.ending for run in schedule.runs(s, first.id)][:1] == ["done"], what="the run")
    assert len(dead(s, folder)) == 2
    at_error(operator, "the file has not come")
    operator.button("Retry all 2")
    until(lambda: not dead(s, folder), what="the run of the others")


def test_dead_jobs_are_discarded(looks: Looks, s: Schedule) -> None:
    """At both widths at once: each discard waits 10 s for somebody to take it back."""
    errors = {WIDE: "the wide shelf is empty", NARROW: "the narrow shelf is empty"}
    for error in errors.values():
        for _ in range(2):
            schedule.add_now(s, cast.refuse, args=[error])
    until(lambda: len(dead(s, "shelf is empty")) == 4, what="the dead")
    others = len(schedule.dead(s)) - 4
    for width, error in errors.items():
        with looks.at(has_script=True) as seen:
            (operator := Operator(seen, s, width)).start()
            at_error(operator, error)
            operator.unfold("Discard…")
            operator.button("Discard 2")
            expect(operator.main).to_contain_text("Discarding 2 in ")
            assert seen.troubles() == []
    until(lambda: not dead(s, "shelf is empty"), what="the end of the dead")
    assert len(schedule.dead(s)) == others


@WIDTHS
def test_a_job_is_added_in_words(operator: Operator, s: Schedule) -> None:
    operator.go("Recurring")
    operator.link("New")
    save = operator.main.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_disabled()
    operator.write("When?", "every monday and thursday at 7:30pm")
    operator.write("What?", cast.DONE)
    operator.write("name", NEW)
    try:
        expect(operator.page.locator("#said")).to_contain_text("every Monday and Thursday at 19:30")
        expect(save).to_be_enabled()
        with pytest.raises(NotFound):
            schedule.job(s, NEW)
        operator.click(save)
        says(operator.seen, f"Saved {NEW}")
        now = schedule.job(s, NEW)
        assert now.due is not None  # the pages of this site read times in UTC
        assert f"{now.due:%a %H:%M}" in ("Mon 19:30", "Thu 19:30")
        assert (now.fn, now.state) == ("#'app.jobs/run", "waiting")
    finally:
        cancelled(s, NEW)


@WIDTHS
def test_why_something_failed_is_read_from_now_on(operator: Operator, s: Schedule, missing: list[Path]) -> None:
    operator.click(operator.main.get_by_role("link", name=re.compile(r"^\d+ ?dead$")))
    group = operator.main.get_by_role("article").filter(has_text="the file has not come")
    operator.click(group.get_by_role("heading").get_by_role("link"))
    operator.click(operator.main.get_by_role("link", name=re.compile(re.escape(missing[1].name))))
    (job,) = dead(s, missing[1].name)
    operator.at_job(job.id)
    wrong = operator.main.get_by_role("region", name="What went wrong")
    operator.reach(wrong)
    expect(wrong).to_contain_text("LookupError")
    line = wrong.get_by_text('raise LookupError("the file has not come")').locator("visible=true").first
    operator.reach(line)
    assert str(job.error).startswith("LookupError: the file has not come")


@WIDTHS
def test_a_listener_is_looked_at_and_quieted(operator: Operator, s: Schedule) -> None:
    (listener,) = schedule.listeners(s)
    operator.go("Listeners")
    operator.reach(operator.main.get_by_role("link", name=re.compile(re.escape(cast.LONG.replace(":", ".")))))
    try:
        operator.button("Quiet")
        says(operator.seen, "takes nothing new")
        until(lambda: [one.state for one in schedule.listeners(s)] == ["quiet"], what="a quiet listener")
        operator.undo()
        says(operator.seen, "takes work again")
        until(lambda: [one.state for one in schedule.listeners(s)] == ["listening"], what="a listening one")
    finally:
        producer_of(s).admin.steer(Quieted(listener.listener, False))
