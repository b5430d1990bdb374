"""Acts by clicking, with the script and without: what is done, what is said, and what an undo leaves."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.clicking import form, press, says, undo
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


def pauses(s: Schedule) -> dict[str, Pause]:
    """Read the pauses of a schedule, but for those of the scene."""
    found = producer_of(s).inspector.control().paused
    return {target: pause for target, pause in found.items() if not target.endswith(("digest", "send"))}


@SCRIPTS
def test_a_pause_with_a_reason_and_an_end_is_undone(narrow: Seen, site: Site, has_script: bool) -> None:
    pause = form(narrow, "pause", FAILING)
    pause.locator("[name=reason]").fill('the partner\'s API moves: "v2" <b>')
    pause.locator("[name=until]").fill("tomorrow at 9am")
    press(pause)
    until(lambda: pauses(site.scene.shop), what="the pause")
    says(narrow, f"Paused {FAILING} until ")
    (found,) = pauses(site.scene.shop).values()
    assert found.reason == 'the partner\'s API moves: "v2" <b>'
    assert found.until_ms is not None
    assert narrow.troubles() == []
    undo(narrow)
    until(lambda: not pauses(site.scene.shop), what="its end")
    assert narrow.complaints == []


@SCRIPTS
def test_an_end_that_nobody_understands_is_refused_with_a_reason(narrow: Seen, site: Site, has_script: bool) -> None:
    pause = form(narrow, "pause", FAILING)
    pause.locator("[name=until]").fill("when pigs fly")
    press(pause)
    expect(narrow.page.locator("main")).to_contain_text("pigs")
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
            says(seen, "Resumed empty.")
            undo(seen)
            until(lambda: pauses(s), what="the pause as it was")
            says(seen, "Paused empty.")
            assert seen.complaints == []
    finally:
        schedule.cancel(s, job)
        schedule.resume(s)


@SCRIPTS
def test_a_run_by_hand_runs_beside_the_times(narrow: Seen, site: Site, has_script: bool) -> None:
    due, began = schedule.job(site.scene.shop, FAILING).due, datetime.now(UTC)
    press(form(narrow, "run", FAILING, on=""))
    until(
        lambda: [run for run in schedule.runs(site.scene.shop, FAILING) if run.by_hand and run.ended > began],
        what="the run",
    )
    says(narrow, f"Running {FAILING}, beside its times.")
    assert schedule.job(site.scene.shop, FAILING).due == due
    assert narrow.complaints == []


@SCRIPTS
def test_the_next_run_is_left_out_and_brought_back(narrow: Seen, site: Site, mine: Job, has_script: bool) -> None:
    press(form(narrow, "skip", "mine"))
    until(lambda: schedule.job(site.scene.shop, "mine").due != mine.due, what="the next time but one")
    says(narrow, "Skipped mine of ", "; next is ")
    undo(narrow)
    until(lambda: schedule.job(site.scene.shop, "mine").due == mine.due, what="the next time")
    assert narrow.complaints == []


@SCRIPTS
def test_a_recurring_job_is_cancelled_and_brought_back(narrow: Seen, site: Site, mine: Job, has_script: bool) -> None:
    press(form(narrow, "cancel", "mine"))
    until(lambda: "mine" not in names(site), what="the end of the job")
    says(narrow, "Cancelled mine.")
    undo(narrow)
    until(lambda: "mine" in names(site), what="the job")
    back = schedule.job(site.scene.shop, "mine")
    assert (back.id, back.due) == (mine.id, mine.due)
    assert [one for one in narrow.complaints if "404" not in one] == []  # its page is gone for a while


@SCRIPTS
def test_a_listener_takes_nothing_new_and_goes_on(looks: Looks, site: Site, has_script: bool) -> None:
    s = site.scene.shop
    (listener,) = (one.listener for one in schedule.listeners(s))

    def has_become(state: str) -> None:
        until(lambda: [one.state for one in schedule.listeners(s)] == [state], what=f"a listener that is {state}")

    try:
        with looks.at(has_script=has_script) as seen:
            for back in (undo, lambda seen: press(form(seen, "listen", listener, on="listeners"))):
                press(form(seen, "quiet", listener, on="listeners"))
                says(seen, "takes nothing new")
                has_become("quiet")
                back(seen)
                says(seen, "takes work again")
                has_become("listening")
            assert seen.complaints == []
    finally:
        producer_of(s).admin.quiet(listener, False)


@SCRIPTS
def test_a_form_that_is_sent_twice_acts_once(looks: Looks, site: Site, has_script: bool) -> None:
    began = datetime.now(UTC)
    with looks.at(has_script=has_script) as seen:
        run = form(seen, "run", FAILING)
        fields = run.evaluate("form => Object.fromEntries(new FormData(form))")
        headers = {"origin": site.address, "sec-fetch-site": "same-origin"}
        action = f"{site.address}{base(SHOP)}do/run"
        for _ in range(2):
            assert seen.page.request.post(action, form=fields, headers=headers, max_redirects=0).status == 303
        until(lambda: ran(site, began), what="the run")
        assert len(ran(site, began)) == 1


def names(site: Site) -> set[str | None]:
    return {job.name for job in schedule.jobs(site.scene.shop)}


def ran(site: Site, since: datetime) -> list[datetime]:
    runs = schedule.runs(site.scene.shop, FAILING)
    return [run.ended for run in runs if run.by_hand and run.due >= since]
