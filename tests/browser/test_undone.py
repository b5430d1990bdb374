"""Each act that can be undone, by clicking on each page that has its button: an undo leaves the keys as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.clicking import Desk, press, says, undo, unfolded
from tests.browser.seen import NARROW
from workkit import schedule

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
TOMORROW = "tomorrow at 9am"
PAUSED: dict[str, Any] = {"reason": 'the partner\'s API moves: "v2" <b>', "until": TOMORROW}


def add(desk: Desk, *names: str) -> None:
    for name in names:
        given: dict[str, Any] = {"unique": True, "priority": 3, "keep": "1 day"}
        schedule.add(desk.s, handlers.note, every="day at 2:30am", name=name, args=(name,), **given)


def test_a_recurring_job_on_its_page(desk: Desk) -> None:
    add(desk, "nightly")
    desk.seen.show("dark", NARROW)
    desk.open("jobs/nightly")
    for verb, fields, said, back in (
        ("run", {}, "Running nightly, beside its times.", "nightly does not run now."),
        ("skip", {}, "Skipped nightly of ", "nightly runs "),
        ("reschedule", {"when": "day at 4am"}, "Rescheduled nightly: every day at 4:00", "Put nightly back: "),
        ("pause", PAUSED, "Paused nightly until tomorrow 09:00.", "Resumed nightly."),
        ("cancel", {}, "Cancelled nightly.", "nightly is back. Next is "),
    ):
        desk.undone(lambda verb=verb, fields=fields: desk.act(verb, **fields), said=said, back=back)  # type: ignore[misc]
    schedule.pause(desk.s, "nightly", **PAUSED)
    desk.open("jobs/nightly")
    desk.undone(lambda: desk.act("resume"), said="Resumed nightly.", back="Paused nightly until tomorrow 09:00.")
    assert desk.seen.troubles() == []


def test_a_job_that_runs_once_on_its_page(desk: Desk) -> None:
    schedule.add(desk.s, handlers.note, in_="1 hour", name="launch", args=["v41"], priority=1, keep="1 day")
    desk.open("jobs/launch")
    for verb, fields, said, back in (
        ("run", {}, "Running launch.", "launch does not run now."),
        ("reschedule", {"when": TOMORROW}, "Rescheduled launch: once", "Put launch back: "),
        ("pause", PAUSED, "Paused launch until tomorrow 09:00.", "Resumed launch."),
        ("cancel", {}, "Cancelled launch.", "launch is back. Next is "),
    ):
        desk.undone(lambda verb=verb, fields=fields: desk.act(verb, **fields), said=said, back=back)  # type: ignore[misc]
    schedule.pause(desk.s, "launch", **PAUSED)
    desk.open("jobs/launch")
    desk.undone(lambda: desk.act("resume"), said="Resumed launch.", back="Paused launch until tomorrow 09:00.")
    assert desk.seen.troubles() == []


RECURRING = (
    ("run", "Running nightly, beside its times. Running weekly, beside its times.", " does not run now."),
    ("skip", "Skipped nightly of ", " runs "),
    ("pause", "Paused nightly until tomorrow 09:00. Paused weekly until tomorrow 09:00.", "Resumed "),
    ("cancel", "Cancelled nightly. Cancelled weekly.", " is back."),
)
JOBS = (RECURRING[0], *RECURRING[2:])


@pytest.mark.parametrize(
    ("path", "bar", "label", "acts"),
    [("recurring", "#chosen", "Select", RECURRING), ("jobs", ".bulk", "Choose", JOBS)],
    ids=["recurring", "jobs"],
)
def test_those_that_are_chosen(desk: Desk, path: str, bar: str, label: str, acts: Sequence[tuple[str, ...]]) -> None:
    add(desk, "nightly", "weekly", "other")
    page = desk.seen.page

    def chosen(verb: str) -> Callable[[], None]:
        def act() -> None:
            for name in ("nightly", "weekly"):
                page.get_by_role("checkbox", name=f"{label} {name}").check()
            button = unfolded(page.locator(f'{bar} button[formaction$="/do/{verb}"]'))
            if verb == "pause":
                page.locator(f"{bar} [name=until]").fill(TOMORROW)
            button.click()

        return act

    desk.open(path)
    for verb, said, back in acts:
        desk.undone(chosen(verb), said=said, back=back)
    for name in ("nightly", "weekly"):
        schedule.pause(desk.s, name, **PAUSED)
    desk.open(path)
    desk.undone(chosen("resume"), said="Resumed nightly. Resumed weekly.", back=" until tomorrow 09:00.")
    assert desk.seen.complaints == []


def test_a_whole_schedule_on_now(desk: Desk) -> None:
    add(desk, "nightly")
    desk.open()
    until = {"until": TOMORROW}
    desk.undone(lambda: desk.act("pause", **until), said=f"Paused {desk.s.name} until ", back=f"Resumed {desk.s.name}.")
    schedule.pause(desk.s, **PAUSED)
    desk.open()
    desk.undone(lambda: desk.act("resume"), said=f"Resumed {desk.s.name}.", back=f"Paused {desk.s.name} until ")
    assert desk.seen.complaints == []


def test_a_pause_that_ends_on_the_timeline(desk: Desk) -> None:
    add(desk, "nightly")
    schedule.pause(desk.s, "nightly", until="in 3 hours")
    desk.open("timeline")
    desk.undone(lambda: desk.act("resume"), said="Resumed nightly.", back="Paused nightly until ")
    assert desk.seen.complaints == []


def test_a_time_that_is_said_to_jump(desk: Desk, has_script: bool) -> None:
    add(desk, "nightly")
    desk.open("recurring")
    page = desk.seen.page
    page.locator("#jump-q").fill(TOMORROW)  # in one go: each key would ask anew
    if not has_script:
        page.locator("#jump-q").press("Enter")
    pause = unfolded(page.locator('#jump-found form[action$="/do/pause"]'))
    expect(pause.locator("[name=until]")).not_to_have_value("")
    desk.undone(lambda: press(pause), said=f"Paused {desk.s.name} until tomorrow 09:00.", back="Resumed ")
    assert desk.seen.complaints == []


def test_a_change_of_somebody_else_is_left(desk: Desk) -> None:
    add(desk, "nightly")
    desk.open("jobs/nightly")
    desk.act("pause", **PAUSED)
    says(desk.seen, "Paused nightly until ")
    schedule.pause(desk.s, "nightly", reason="mine", by="ada")
    before = desk.keys()
    undo(desk.seen)
    expect(desk.seen.page.locator("main")).to_contain_text("nightly was paused anew meanwhile.")
    assert desk.keys() == before
