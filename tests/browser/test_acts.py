"""Acts on what a listener runs, by clicking, with the script and without: what is done, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.clicking import Desk, form, press, says, undo
from tests.browser.conftest import Site
from tests.browser.scene import SHOP
from tests.browser.seen import NARROW, Looks, Seen
from tests.processes import until
from workkit import schedule
from workkit.contract.admin import Quieted
from workkit.errors import NotFound
from workkit.jobs.admission import Pause
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.verbs.opening import producer_of

SCRIPTS = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
FAILING = "invoice-sync"
"""The recurring job that Now has buttons for."""


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
def test_an_end_that_nobody_understands_is_refused_with_a_reason(narrow: Seen, site: Site, has_script: bool) -> None:
    pause = form(narrow, "pause", FAILING)
    pause.locator("[name=until]").fill("when pigs fly")
    press(pause)
    expect(narrow.page.locator("main")).to_contain_text("pigs")
    assert pauses(site.scene.shop) == {}


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


@pytest.fixture
def mine(site: Site, tmp_path: Path) -> Iterator[Job]:
    """A job of this test alone, which is named so."""
    yield schedule.add_now(site.scene.shop, cast.load, args=[str(tmp_path / "mine")], name="mine", retries=1, base="1h")
    with suppress(NotFound):
        schedule.cancel(site.scene.shop, "mine")


@SCRIPTS
def test_one_that_failed_is_tried_now_and_dies_and_is_retried(
    narrow: Seen, site: Site, mine: Job, tmp_path: Path, has_script: bool
) -> None:
    s = site.scene.shop
    until(lambda: schedule.job(s, "mine").state == "retrying", what="the first failure")
    narrow.open(f"{base(SHOP)}jobs/mine")
    narrow.page.locator("main").get_by_role("button", name="Try now").click()
    says(narrow, "Running mine.")
    until(lambda: mine.id in {job.id for job in schedule.dead(s)}, what="the second failure")
    (tmp_path / "mine").touch()
    narrow.open(f"{base(SHOP)}jobs/{mine.id}")
    narrow.page.locator("main").get_by_role("button", name="Retry", exact=True).click()
    says(narrow, "Retried ")
    until(lambda: [run.ending for run in schedule.runs(s, mine.id)][:1] == ["done"], what="the run")
    assert [one for one in narrow.complaints if "404" not in one] == []  # it may be over, and its page with it


@SCRIPTS
def test_a_run_is_cancelled_and_says_that_it_cannot_be_undone(narrow: Seen, site: Site, has_script: bool) -> None:
    s = site.scene.shop
    schedule.add_now(s, cast.FOLLOW, name="runs")
    until(lambda: schedule.job(s, "runs").state == "running", what="the run")
    cancel = form(narrow, "cancel", "runs")
    expect(cancel).to_contain_text("Its run is interrupted; a call into C is not.")
    press(cancel)
    says(narrow, "Cancelling runs: its run is interrupted.")
    expect(narrow.page.locator("#did").get_by_role("button")).to_have_count(0)
    until(lambda: "runs" not in {job.name for job in schedule.jobs(s)}, what="its end")


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
        producer_of(s).admin.steer(Quieted(listener, False))


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


def ran(site: Site, since: datetime) -> list[datetime]:
    runs = schedule.runs(site.scene.shop, FAILING)
    return [run.ended for run in runs if run.by_hand and run.due >= since]


@SCRIPTS
def test_a_batch_is_cancelled_after_a_question_and_cannot_be_brought_back(desk: Desk, has_script: bool) -> None:
    with schedule.batch(desk.s, "import", then=cast.DONE) as batch:
        batch.add(cast.DONE, in_="1 hour")
    desk.open("batches")
    desk.seen.page.locator("main").get_by_role("link", name="import").click()
    cancel = desk.form("cancel-batch")
    expect(cancel).to_contain_text("This cannot be undone.")
    press(cancel)
    says(desk.seen, "Cancelled the batch import.")
    expect(desk.seen.page.locator("#did").get_by_role("button")).to_have_count(0)
    expect(desk.seen.page.locator("main")).to_contain_text("1 job: 1 cancelled. It was cancelled.")
    assert batch.state().state == "cancelled"
    assert desk.seen.complaints == []
