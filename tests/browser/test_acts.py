"""Acts by clicking, with the script and without: what is done, what is said, and what an undo leaves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator

from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.conftest import Site
from tests.browser.scene import EMPTY, SHOP
from tests.browser.seen import NARROW, Looks, Seen
from tests.processes import until
from workkit import schedule
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

SCRIPTS = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
FAILING = "invoice-sync"
"""The recurring job that Now has buttons for."""


@pytest.fixture
def mine(site: Site) -> Iterator[Job]:
    """A recurring job of this test alone."""
    job = schedule.add(site.scene.shop, cast.done, every="day at 5pm", name="mine")
    yield job
    schedule.cancel(site.scene.shop, "mine", missing_ok=True)


@pytest.fixture
def narrow(looks: Looks, site: Site, has_script: bool) -> Iterator[Seen]:
    """A narrow page of a browser."""
    with looks.at(has_script=has_script) as seen:
        seen.show("light", NARROW)
        yield seen
    schedule.resume(site.scene.shop, FAILING)


def button(seen: Seen, verb: str, which: str) -> Locator:
    """Find the form of an act on a job, on the job's page or on Now, and open what it is folded into."""
    for path in (f"jobs/{which}", ""):
        seen.open(f"{base(SHOP)}{path}")
        form = seen.page.locator(f'main form[action$="/do/{verb}"]:has(input[name=which][value="{which}"])').first
        if form.count():
            for folded in form.locator("xpath=ancestor::details[not(@open)]").all():
                folded.locator("summary").first.click()
            return form
    pytest.skip(f"no page has a button for {verb} yet")


def said(seen: Seen) -> str:
    """Read the line after an act."""
    return seen.page.locator(".did").first.inner_text()


def undo(seen: Seen) -> None:
    """Click Undo in that line."""
    seen.page.locator(".did").get_by_role("button", name="Undo").click()


def pauses(s: Schedule) -> dict[str, Pause]:
    """Read the pauses of a schedule, but for those of the scene."""
    found = producer_of(s).inspector.control().paused
    return {target: pause for target, pause in found.items() if not target.endswith(("digest", "send"))}


@SCRIPTS
def test_a_pause_with_a_reason_and_an_end_is_undone(narrow: Seen, site: Site, has_script: bool) -> None:
    form = button(narrow, "pause", FAILING)
    form.locator("[name=reason]").fill('the partner\'s API moves: "v2" <b>')
    form.locator("[name=until]").fill("tomorrow at 9am")
    form.get_by_role("button").click()
    until(lambda: pauses(site.scene.shop), what="the pause")
    assert FAILING in said(narrow)
    (pause,) = pauses(site.scene.shop).values()
    assert pause.reason == 'the partner\'s API moves: "v2" <b>'
    assert pause.until_ms is not None
    assert narrow.troubles() == []
    undo(narrow)
    until(lambda: not pauses(site.scene.shop), what="its end")
    assert narrow.complaints == []


@SCRIPTS
def test_an_end_that_nobody_understands_is_refused_with_a_reason(narrow: Seen, site: Site, has_script: bool) -> None:
    form = button(narrow, "pause", FAILING)
    form.locator("[name=until]").fill("when pigs fly")
    form.get_by_role("button").click()
    until(lambda: "pigs" in narrow.page.locator("main").inner_text(), what="the sentence of the error")
    assert pauses(site.scene.shop) == {}


@SCRIPTS
def test_a_whole_schedule_is_paused_and_resumed(looks: Looks, site: Site, has_script: bool) -> None:
    s = site.scene.empty
    job = schedule.add(s, cast.done, in_="1 hour", name="waits")
    try:
        with looks.at(has_script=has_script) as seen:
            seen.open(base(EMPTY))
            seen.page.get_by_text("Pause all…").click()
            seen.page.locator('form[action$="/do/pause"]').get_by_role("button").click()
            until(lambda: pauses(s), what="the pause")
            seen.page.get_by_role("button", name="Resume").first.click()
            until(lambda: not pauses(s), what="its end")
            assert seen.complaints == []
    finally:
        schedule.cancel(s, job)
        schedule.resume(s)


@SCRIPTS
def test_a_run_by_hand_runs_beside_the_times(narrow: Seen, site: Site, has_script: bool) -> None:
    due, began = schedule.job(site.scene.shop, FAILING).due, datetime.now(UTC)
    button(narrow, "run", FAILING).get_by_role("button").click()
    until(
        lambda: [run for run in schedule.runs(site.scene.shop, FAILING) if run.by_hand and run.ended > began],
        what="the run",
    )
    assert FAILING in said(narrow)
    assert schedule.job(site.scene.shop, FAILING).due == due
    assert narrow.complaints == []


@SCRIPTS
def test_the_next_run_is_left_out(narrow: Seen, site: Site, mine: Job, has_script: bool) -> None:
    button(narrow, "skip", "mine").get_by_role("button").click()
    until(lambda: schedule.job(site.scene.shop, "mine").due != mine.due, what="the next time but one")
    assert "mine" in said(narrow) or "kipped" in said(narrow)
    assert narrow.complaints == []


@SCRIPTS
def test_a_recurring_job_is_cancelled(narrow: Seen, site: Site, mine: Job, has_script: bool) -> None:
    button(narrow, "cancel", "mine").get_by_role("button").first.click()
    until(lambda: "mine" not in {job.name for job in schedule.jobs(site.scene.shop)}, what="the end of the job")
    assert "mine" in said(narrow)


@SCRIPTS
def test_a_form_that_is_sent_twice_acts_once(looks: Looks, site: Site, has_script: bool) -> None:
    began = datetime.now(UTC)
    with looks.at(has_script=has_script) as seen:
        form = button(seen, "run", FAILING)
        fields = form.evaluate("form => Object.fromEntries(new FormData(form))")
        headers = {"origin": site.address, "sec-fetch-site": "same-origin"}
        action = f"{site.address}{base(SHOP)}do/run"
        for _ in range(2):
            assert seen.page.request.post(action, form=fields, headers=headers, max_redirects=0).status == 303
        until(lambda: ran(site, began), what="the run")
        assert len(ran(site, began)) == 1


def ran(site: Site, since: datetime) -> list[datetime]:
    runs = schedule.runs(site.scene.shop, FAILING)
    return [run.ended for run in runs if run.by_hand and run.due >= since]
