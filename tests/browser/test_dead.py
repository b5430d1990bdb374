"""Dead jobs by clicking: tried first, retried, chosen, changed, and a discard that is taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests import handlers
from tests.browser import cast
from tests.browser.addresses import base
from tests.browser.clicking import Desk, comes_to_show, press, says, unfold
from tests.browser.conftest import Site
from tests.browser.scene import SHOP
from tests.browser.seen import Looks, Seen
from tests.processes import until
from workkit import schedule
from workkit.jobs.job import Job

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
ERROR = "the file has not come"


@pytest.fixture
def seen(looks: Looks, has_script: bool) -> Iterator[Seen]:
    with looks.at(has_script=has_script) as found:
        yield found
        assert found.complaints == []


@pytest.fixture
def missing(site: Site, tmp_path: Path) -> Iterator[list[Path]]:
    """The files of three jobs that have died, as these are missing."""
    paths = [tmp_path / f"{n}" for n in range(3)]
    for path in paths:
        schedule.add_now(site.scene.shop, cast.load, args=[str(path)])
    until(lambda: len(dead(site)) == 3, what="the dead")
    yield paths
    for job in dead(site):
        schedule.discard(site.scene.shop, job.id)


def dead(site: Site) -> list[Job]:
    return [job for job in schedule.jobs(site.scene.shop, state="dead") if ERROR in (job.error or "")]


def group(seen: Seen) -> Locator:
    """Go to the page of those that died of it."""
    seen.open(f"{base(SHOP)}dead")
    seen.page.locator("article", has_text=ERROR).locator("h2 a").click()
    found = seen.page.locator("article.open")
    expect(found).to_contain_text(ERROR)
    expect(found.locator("tbody tr")).to_have_count(3)
    return found


def test_one_is_tried_first_and_the_others_follow(seen: Seen, site: Site, missing: list[Path]) -> None:
    group(seen).get_by_role("button", name="Try one first").click()
    comes_to_show(seen, "Failed again with the same error.")
    for path in missing:
        path.touch()
    group(seen).get_by_role("button", name="Try one first").click()
    comes_to_show(seen, "It ran")
    comes_to_show(seen, "Retry the other 2")
    seen.page.get_by_role("button", name="Retry the other 2").click()
    until(lambda: not dead(site), what="the end of the others")
    comes_to_show(seen, "Retried 2.")


def test_those_that_are_chosen_are_retried(seen: Seen, site: Site, missing: list[Path]) -> None:
    rows = group(seen).locator("tbody tr")
    for path in missing[:2]:
        path.touch()
        rows.filter(has_text=str(path)).get_by_role("checkbox").check()
    seen.page.get_by_role("button", name="Retry chosen").click()
    says(seen, "Retried 2.")
    until(lambda: len(dead(site)) == 1, what="the run of two")
    assert not Path(dead(site)[0].args[0]).exists()


def test_a_discard_is_taken_back(seen: Seen, site: Site, missing: list[Path]) -> None:
    discard = group(seen).locator('form[action$="/do/discard"]')
    unfold(discard)
    press(discard)
    expect(seen.page.locator("main")).to_contain_text("Discarding 3 in ")
    seen.page.locator(".did").get_by_role("button", name="Undo").click()
    expect(seen.page.locator("main")).to_contain_text("Left 3 as they are.")
    assert len(dead(site)) == 3


def test_one_runs_with_other_arguments(seen: Seen, site: Site, missing: list[Path], tmp_path: Path) -> None:
    (here := tmp_path / "here").touch()
    row = group(seen).locator("tbody tr", has_text=str(missing[0]))
    change = row.locator('form[action$="/do/change-arguments"]')
    unfold(change)
    assert json.loads(change.locator("[name=args]").input_value()) == [str(missing[0])]
    change.locator("[name=args]").fill(json.dumps([str(here)]))
    press(change)
    says(seen, "with other arguments, as a new job")
    until(lambda: len(dead(site)) == 2, what="the end of one")


@pytest.fixture
def graves(desk: Desk) -> list[Job]:
    """Twelve that died of one error, where nobody listens."""
    for _ in range(12):
        schedule.add_now(desk.s, handlers.fail)
    schedule.drain(desk.s, imports=["tests.handlers"], folder=None, raise_errors=False)
    return list(schedule.dead(desk.s))


def test_a_retry_at_a_rate_is_stopped(desk: Desk, graves: list[Job]) -> None:
    page = desk.seen.page
    desk.open("dead")
    page.get_by_role("combobox", name="Rate").select_option(label="1 a second")
    page.get_by_role("button", name="Retry all 12").click()
    comes_to_show(desk.seen, "Retrying 12 at 1 a second")
    until(lambda: len(schedule.dead(desk.s)) == 2, what="the first portion of 10 s")
    page.locator("main").get_by_role("button", name="Stop").click()
    expect(page.locator("main")).to_contain_text("Stopped: 10 of 12 retried; 2 left as they are.")
    assert len(schedule.dead(desk.s)) == 2
    assert desk.seen.complaints == []


def test_a_discard_of_those_that_are_chosen_leaves_every_key(desk: Desk, graves: list[Job]) -> None:
    page, before = desk.seen.page, desk.keys()
    desk.open("dead?by=job")
    for job in graves[:2]:
        page.get_by_role("checkbox", name=f"Choose {job.short_id}").check()
    page.get_by_role("button", name="Discard chosen").click()
    expect(page.locator("main")).to_contain_text("Discarding 2 in ")
    page.locator(".did").get_by_role("button", name="Undo").click()
    expect(page.locator("main")).to_contain_text("Left 2 as they are.")
    assert desk.keys() == before
