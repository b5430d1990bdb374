"""Who comes in, by clicking: the login form opens and closes, and a viewer finds nothing to act with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests import handlers
from tests.browser.clicking import press, says, undo, unfolded
from tests.browser.scene import MASKED
from tests.browser.seen import NARROW, NARROWEST, Looks, Seen
from tests.browser.web_thread import WebThread
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.web.login import Login, UsersFile, add_user
from workkit.web.pages.registry import PAGES

pytestmark = pytest.mark.parametrize("has_script", [True, False], ids=["script", "plain"])
PASSWORD = "correct horse"
FREE = ("/do/checkup",)
"""What a viewer may ask for: it changes nothing."""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with two users: to hash a password takes long, as it should."""
    users = tmp_path_factory.mktemp("known") / "users.toml"
    for name in ("editor", "viewer"):
        add_user(users, name, roles=name, password=PASSWORD)
    return users.read_text()


@pytest.fixture
def seen(s: Schedule, pages: Looks, tmp_path: Path, known: str, has_script: bool) -> Iterator[Seen]:
    """A page on a site with a door."""
    users = tmp_path / "users.toml"
    users.touch(mode=0o600)
    users.write_text(known)
    schedule.add(s, handlers.note, every="day at 2:30am", name="nightly", kwargs={"api_key": MASKED})
    schedule.add(s, handlers.note, in_="1 hour", name="once", kwargs={"api_key": MASKED})
    schedule.add(s, handlers.note, every="day at 3:30am", name="paused")
    schedule.pause(s, "paused")
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    signer = asgi.signer("secret")
    with (
        closing(WebThread(s, way=Login(file=UsersFile(users), signer=signer), signer=signer)) as web,
        pages.on(web.address).at(has_script=has_script) as found,
    ):
        yield found


def enter(seen: Seen, name: str, password: str = PASSWORD) -> None:
    form = seen.page.locator('form[action$="/-/login"]')
    form.get_by_label("Name").fill(name)
    form.get_by_label("Password").fill(password)
    press(form)


def test_the_door_opens_and_closes(seen: Seen, s: Schedule) -> None:
    page = seen.page
    seen.open("jobs/nightly", status=401)
    seen.complaints.clear()  # the browser itself says that it was one of 401
    expect(page.locator("main")).not_to_contain_text("nightly")
    for look in (("light", NARROW), ("dark", 1280)):
        seen.show(*look)
        assert seen.troubles() == []
    assert not seen.has_script or seen.barriers() == []
    enter(seen, "editor", "incorrect horse")
    expect(page.locator("main p[role=alert]")).to_have_text("Name or password is wrong.")
    seen.complaints.clear()
    enter(seen, "editor")
    expect(page.locator(".rail-foot")).to_contain_text("editor")  # and the page that was asked for
    press(page.locator('main form[action$="/do/skip"]'))
    says(seen, "Skipped nightly of ")
    (change,) = schedule.changes(s, limit=1)
    assert (change.by, change.role, change.via) == ("editor", "editor", "web")
    undo(seen)
    says(seen, "nightly runs ")
    assert seen.complaints == []
    page.get_by_role("button", name="Log out").click()
    expect(page.locator('form[action$="/-/login"]')).to_be_visible()
    seen.open("jobs/nightly", status=401)


def test_a_viewer_finds_nothing_to_act_with(seen: Seen, s: Schedule) -> None:
    page = seen.page
    seen.open("", status=401)
    enter(seen, "viewer")
    expect(page.locator(".rail-foot")).to_contain_text("viewer")
    paths = [one.path for one in PAGES if "{" not in one.path and one.name not in ("new", "say")]
    paths += ["jobs/nightly", "jobs/once", "jobs/paused", f"jobs/{schedule.dead(s)[0].id}"]
    for path in paths:
        seen.open(path)
        if seen.has_script and page.locator("body[data-stream]").count():
            expect(page.locator("#pill.live")).to_be_visible()  # what the stream brings is looked at too
        acts = page.locator('form[action*="/do/"], [formaction*="/do/"]')
        found = [str(one.get_attribute("action") or one.get_attribute("formaction")) for one in acts.all()]
        assert [one for one in found if not one.endswith(FREE)] == [], path
        assert page.locator("main").get_by_role("checkbox").count() == 0, path
        for link in ("New", "Edit", "Duplicate"):
            assert page.locator("main").get_by_role("link", name=link, exact=True).count() == 0, f"{link} on {path}"
        assert MASKED not in page.content()
        assert seen.complaints == []


def test_what_a_viewer_types_to_jump_is_a_look(seen: Seen, has_script: bool) -> None:
    seen.open("", status=401)
    enter(seen, "viewer")
    seen.page.locator("#jump-q").fill("tomorrow at 9am")
    if not has_script:
        seen.page.locator("#jump-q").press("Enter")
    expect(seen.page.locator("#jump-found")).to_contain_text("What is planned then")
    assert seen.page.locator('#jump-found form, #jump-found a[href*="/new"]').count() == 0


def test_jump_has_room_on_a_narrow_screen(seen: Seen, s: Schedule, has_script: bool) -> None:
    seen.open("", status=401)
    enter(seen, "viewer")
    box, found = seen.page.locator("#jump-q"), seen.page.locator("#jump-found")
    for path in ("", "jobs", "jobs/nightly"):
        seen.open(path)
        for width in (NARROWEST, NARROW):
            seen.show("light", width)
            assert seen.troubles() == []
            box.fill("nightly")
            if not has_script:
                box.press("Enter")
            link = found.get_by_role("link", name="nightly").first
            expect(link).to_be_visible()
            below, above = link.bounding_box(), box.bounding_box()
            assert below is not None
            assert above is not None
            assert below["y"] >= above["y"] + above["height"], width
            assert above["width"] >= 100, width
            link.click(trial=width != NARROW)  # a trial looks whether a hand could click it
        seen.page.wait_for_url("**/jobs/nightly")


def test_an_act_of_an_old_page_is_refused_when_the_role_is_less(seen: Seen, s: Schedule, tmp_path: Path) -> None:
    seen.open("jobs/nightly", status=401)
    enter(seen, "editor")
    skip = unfolded(seen.page.locator('main form[action$="/do/skip"]'))
    before = schedule.job(s, "nightly")
    add_user(tmp_path / "users.toml", "editor", roles="viewer", password=PASSWORD)
    press(skip)
    expect(seen.page.locator("body")).to_contain_text("Log in to go on.")  # a new password ends a login
    enter(seen, "editor")
    expect(seen.page.locator(".rail-foot")).to_contain_text("viewer")
    assert schedule.job(s, "nightly").due == before.due
