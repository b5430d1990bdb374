"""One masked value is shown to an operator, recorded, and kept nowhere."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import handlers
from tests.web.actions.test_jobs import act
from tests.web.conftest import Browser, Open
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local

FIELD = re.compile(r'name="argument" value="([^"]*)"')
ACCEPT = {"accept": "application/json"}


def add_secret(s: Schedule) -> str:
    return schedule.add(
        s, handlers.note, in_="1 hour", name="login", args=[{"user": "ada", "pass/word": "<hunter2>"}]
    ).id


def shown(browser: Browser, s: Schedule, **fields: Any) -> Any:
    token = browser.token(f"/s/{s.name}/")
    return browser.post(f"/s/{s.name}/do/show", {"token": token, **fields}, headers=ACCEPT)


def test_a_masked_value_is_shown_once_and_recorded(browser: Browser, s: Schedule) -> None:
    id = add_secret(s)
    answer = act(browser, s, "show", which="login", argument="args/0/pass~1word", number="7")
    assert "&lt;hunter2&gt;" in answer.text
    assert answer.headers["cache-control"] == "no-store"
    change = schedule.changes(s, limit=1)[0]
    assert (change.verb, change.id, change.after, change.role) == (
        "show",
        id,
        {"argument": "args/0/pass~1word"},
        "editor",
    )
    again = act(browser, s, "show", which="login", argument="args/0/pass~1word", number="7")
    assert "Showed args/0/pass~1word of login." in again.text
    assert "hunter2" not in again.text + browser.get(f"/s/{s.name}/changes").text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"which": "login", "argument": "args/1"}, 404),
        ({"which": "login", "argument": "args/0/none"}, 404),
        ({"which": "login", "argument": "args/" + "9" * 5000}, 404),
        ({"which": "login", "argument": "fn"}, 400),
        ({"which": "login"}, 400),
        ({"which": ["login", "other"], "argument": "args/0"}, 400),
    ],
)
def test_what_is_no_argument_is_refused_and_not_recorded(
    browser: Browser, s: Schedule, fields: dict[str, Any], status: int
) -> None:
    add_secret(s)
    assert shown(browser, s, **fields).status_code == status
    assert schedule.changes(s) == []


def test_a_viewer_is_shown_nothing(opened: Open, s: Schedule) -> None:
    add_secret(s)
    answer = shown(opened(s, way=Local(role="viewer")), s, which="login", argument="args/0")
    assert answer.status_code == 403
    assert schedule.changes(s) == []


def test_json_has_the_value(browser: Browser, s: Schedule) -> None:
    add_secret(s)
    assert shown(browser, s, which="login", argument="args/0/user").json()["shown"] == '"ada"'


@pytest.mark.parametrize("how", [{"in_": "1 hour"}, {"every": "day at noon"}])
def test_the_page_of_a_job_has_a_button_for_each_hidden_value(opened: Open, s: Schedule, how: dict[str, Any]) -> None:
    schedule.add(s, handlers.note, name="login", args=[{"user": "ada", "pass/word": "<hunter2>"}], **how)
    path = f"/s/{s.name}/jobs/login"
    text = opened(s, way=Local(role="operator")).get(path).text
    assert FIELD.findall(text) == ["args/0/pass~1word"]
    assert "hunter2" not in text
    assert FIELD.findall(opened(s, way=Local(role="viewer")).get(path).text) == []
