"""Saved views: a filter under a name, kept by the browser."""

from __future__ import annotations

import html
import re

import pytest

from tests import handlers
from tests.web.conftest import Browser, Open, headline, main_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.page import SavedView
from workkit.web.request import VIEWS, read_views, with_view, without_view, written
from workkit.web.response import Refused

LINK = re.compile(r'<a class="link small" href="([^"]+)">([^<]+)</a> <button class="plain" name="remove"')


def saved(browser: Browser, address: str) -> list[tuple[str, str]]:
    """The saved views that a page lists."""
    return [(html.unescape(name), html.unescape(link)) for link, name in LINK.findall(main_of(browser.get(address)))]


def post(browser: Browser, s: Schedule, **fields: str) -> int:
    token = browser.token(f"/s/{s.name}/jobs")
    found: int = browser.post(f"/s/{s.name}/-/views", {"token": token, **fields}).status_code
    return found


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("jobs", "state=waiting&q=fn%3Aapp.mail"),
        ("jobs", "state=held"),
        ("runs", "ended=failed&from=2+hours+ago"),
        ("dead", "by=job&q=timeout"),
    ],
)
def test_a_filter_is_saved_under_a_name_and_removed(browser: Browser, s: Schedule, page: str, query: str) -> None:
    schedule.add_now(s, handlers.fail)
    with pytest.raises(OSError, match="disk full"):
        schedule.drain(s)
    here = f"/s/{s.name}/{page}"
    shown = main_of(browser.get(f"{here}?{query}"))
    assert "Save filter…" in shown
    assert "Save filter…" not in main_of(browser.get(here))
    assert post(browser, s, page=page, name=" what <matters>  to us ", back=f"{here}?{query}&after=x&did=7") == 303
    assert saved(browser, here) == [("what <matters> to us", f"{here}?{query}")]
    assert browser.get(f"{here}?{query}").status_code == 200
    for other in {"jobs", "runs", "dead"} - {page}:
        assert saved(browser, f"/s/{s.name}/{other}") == []
    assert saved(browser.beside(), here) == []  # another browser
    assert post(browser, s, page=page, remove="what <matters> to us", back=here) == 303
    assert saved(browser, here) == []


def test_a_saved_view_belongs_to_its_schedule(opened: Open, s: Schedule) -> None:
    other = schedule.create(f"{s.name}-other", redis=s.redis)
    browser = opened(s, other)
    assert post(browser, s, page="jobs", name="held", back=f"/s/{s.name}/jobs?state=held") == 303
    assert saved(browser, f"/s/{s.name}/jobs") == [("held", f"/s/{s.name}/jobs?state=held")]
    assert saved(browser, f"/s/{other.name}/jobs") == []


def test_a_name_is_given_anew(browser: Browser, s: Schedule) -> None:
    here = f"/s/{s.name}/jobs"
    for state in ("held", "paused"):
        assert post(browser, s, page="jobs", name="mine", back=f"{here}?state={state}") == 303
    assert saved(browser, here) == [("mine", f"{here}?state=paused")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"page": "jobs", "name": ""}, "A saved view needs a name of 1 to 60 printable characters."),
        ({"page": "jobs", "name": "x" * 61}, "A saved view needs a name of 1 to 60 printable characters."),
        ({"page": "jobs", "name": "a\u202eb"}, "A saved view needs a name of 1 to 60 printable characters."),
        ({"page": "doctor", "name": "x"}, 'The page "doctor" has no saved views. Accepted: jobs, runs, dead.'),
        ({"page": "dead", "name": "x"}, "There is no filter to save. Filter first, then save."),
    ],
)
def test_what_cannot_be_saved_is_refused(browser: Browser, s: Schedule, fields: dict[str, str], said: str) -> None:
    back = f"/s/{s.name}/jobs?state=held"
    answer = browser.post(f"/s/{s.name}/-/views", {"token": browser.token(back), "back": back, **fields})
    assert (answer.status_code, headline(answer)) == (400, said)


def test_a_saved_view_needs_our_token_and_leads_nowhere_else(browser: Browser, s: Schedule) -> None:
    back = f"/s/{s.name}/jobs?state=held"
    fields = {"page": "jobs", "name": "x", "back": back}
    assert browser.post(f"/s/{s.name}/-/views", fields).status_code == 403
    away = fields | {"token": browser.token(back), "back": "https://evil.example/?state=held"}
    assert browser.post(f"/s/{s.name}/-/views", away).headers["location"] == "/"


def test_a_stream_holds_no_saved_view_of_anybody(browser: Browser, s: Schedule) -> None:
    assert post(browser, s, page="jobs", name="private", back=f"/s/{s.name}/jobs?state=held") == 303
    patch = browser.json(f"/s/{s.name}/live?page=jobs", headers={"accept": "application/json"})["patch"]
    assert "private" not in str(patch)
    assert 'id="saved" data-keep></div>' in patch["main"]


def test_views_are_read_as_they_were_written() -> None:
    views = with_view((), page="jobs", name="ä \" ' & ☃", address='/x?state=due&q=name%3A"a b"&evil=1')
    assert read_views(written(views)) == views
    assert views == (SavedView(page="jobs", name="ä \" ' & ☃", path="jobs?state=due&q=name%3A%22a+b%22"),)
    assert without_view(views, page="runs", name=views[0].name) == views


@pytest.mark.parametrize("cookie", ["", "x", "e30=", "W10=", "W1sxLDIsM11d", "W1siam9icyIsIngiXV0=", "☃", "bnVsbA=="])
def test_a_cookie_that_is_not_ours_is_no_view(browser: Browser, s: Schedule, cookie: str) -> None:
    assert read_views(cookie) == ()
    headers = {"cookie": f"{VIEWS}={cookie}".encode()}
    assert browser.get(f"/s/{s.name}/jobs", headers=headers).status_code == 200


def test_more_views_than_a_cookie_holds_are_refused() -> None:
    views: tuple[SavedView, ...] = ()
    for n in range(11):
        views = with_view(views, page="jobs", name=f"view {n}", address=f"/x?q={'y' * 200}")
    assert len(written(views)) < 4_000
    with pytest.raises(Refused, match="There is no room for another saved view of this schedule"):
        with_view(views, page="jobs", name="one more", address=f"/x?q={'y' * 1_000}")
