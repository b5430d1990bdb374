"""Every act, asked for by somebody who may not: nothing changes. By its form sent twice: it acts once."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from tests import handlers
from tests.servers import Server
from tests.web.actions.test_jobs import contents
from tests.web.conftest import ORIGIN, Browser, Open
from tests.web.security.places import Place, every_address
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.web.acting import VERBS
from workkit.web.actions.action import UNDO
from workkit.web.actions.perform import ACTS
from workkit.web.auth import Local

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}
SAVED = {"when": "every day at noon", "fn": "tests.handlers:note"}
FIELDS: dict[str, dict[str, str]] = {
    "pause": {"which": "nightly", "reason": "migration"},
    "resume": {"which": "held"},
    "run": {"which": "nightly"},
    "skip": {"which": "nightly"},
    "cancel": {"which": "nightly"},
    "cancel-batch": {"which": "import"},
    "quiet": {"which": "host:1:abcdef"},
    "interrupt": {"which": "nightly", "listener": "host:1:abcdef", "due": "2026-11-20T10:15:30.000Z"},
    "listen": {"which": "host:1:abcdef"},
    "purge": {},
    "show": {"which": "nightly", "argument": "args/0"},
    "checkup": {},
    "repair": {"which": "0" * 40},
    "add": {**SAVED, "name": "another"},
    "edit": {**SAVED, "which": "nightly", "name": "nightly"},
    "arguments": {"which": "nightly", "args": "[2]"},
    "reschedule": {"which": "nightly", "when": "every day at noon"},
    "spread": {"which": "nightly", "spread": "5 minutes"},
    "retry": {"which": "DEAD"},
    "try": {"which": "DEAD"},
    "discard": {"which": "DEAD"},
    "change-arguments": {"which": "DEAD", "args": '["other"]'},
    "stop": {"work": "0" * 16},
    "undo": {"of": "first"},
}
"""What each act needs. An act that is missing here fails the tests of this file."""
NO_EFFECT = (
    "interrupt",
    "quiet",
    "listen",
    "show",
    "checkup",
    "repair",
    "stop",
    "discard",
)  # on the keys, or not at once
SAME = {"sec-fetch-site": "same-origin"}
Seen = tuple[dict[str, Any], int]


def test_every_act_is_tried() -> None:
    assert set(FIELDS) == set(VERBS)


@pytest.fixture
def filled(s: Schedule) -> Schedule:
    schedule.add(s, handlers.note, every="day at 2:30am", name="nightly", args=(1,))
    schedule.add(s, handlers.note, every="day at 3:30am", name="held")
    schedule.pause(s, "held", reason="migration")
    with schedule.batch(s, "import") as batch:
        batch.add(handlers.note, in_="1 hour")
    schedule.add_now(s, handlers.fail)
    schedule.add_now(s, handlers.note)
    schedule.drain(s, **HOW)
    return s


def seen(server: Server, s: Schedule) -> Seen:
    """All keys of the schedule, and how many changes were made."""
    return contents(server, s), len(schedule.changes(s, limit=1000))


def fields_of(s: Schedule, verb: str) -> dict[str, str]:
    dead = schedule.dead(s)[0].id
    return {name: dead if value == "DEAD" else value for name, value in FIELDS[verb].items()}


def sent(browser: Browser, path: str, fields: dict[str, str], headers: dict[str, str], method: str = "POST") -> int:
    """Send a request with these headers alone."""

    async def send() -> int:
        transport = httpx.ASGITransport(browser.app, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            given: dict[str, Any] = {"params": fields} if method in ("GET", "HEAD") else {"data": fields}
            answer = await client.request(method, path, headers=headers, **given)
            return answer.status_code

    found: int = browser.run(send())
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_who_may_not_act_changes_nothing(opened: Open, filled: Schedule, server: Server, verb: str) -> None:
    s, browser = filled, opened(filled)
    path, token = f"/s/{s.name}/do/{verb}", browser.token(f"/s/{s.name}/")
    if verb == UNDO:
        first = {"token": token, "which": "nightly", "number": "first"}
        assert sent(browser, f"/s/{s.name}/do/pause", first, SAME) == 303
    fields = fields_of(s, verb)
    good = {**fields, "token": token}
    other = asgi.signer("secret").form_token("another session")
    forged = token[:-1] + ("0" if token[-1] != "0" else "1")
    before = seen(server, s)
    for status, headers, given in (
        (403, {"sec-fetch-site": "cross-site", "origin": ORIGIN}, good),
        (403, {"sec-fetch-site": "same-site", "origin": ORIGIN}, good),
        (403, {"sec-fetch-site": "none"}, good),
        (403, {"origin": "https://evil.example"}, good),
        (403, {"origin": "null"}, good),
        (403, {"origin": f"{ORIGIN}.evil.example"}, good),
        (403, {"referer": f"{ORIGIN}/"}, good),
        (403, {**SAME, "host": "evil.example"}, good),
        (403, {"origin": "http://evil.example", "host": "evil.example"}, good),
        (403, SAME, fields),
        (403, SAME, {**fields, "token": ""}),
        (403, SAME, {**fields, "token": forged}),
        (403, SAME, {**fields, "token": other}),
        (403, SAME | {"x-token": other}, good),
        (403, SAME | {"authorization": "Bearer x"}, fields),
    ):
        assert sent(browser, path, given, headers) == status, (headers, given)
    assert sent(browser, path, good, SAME, "GET") in (404, 405)
    assert sent(browser, path, good, SAME, "HEAD") in (404, 405)
    assert sent(browser, path, good, SAME, "PUT") in (404, 405)
    for closed in (opened(s, way=Local(role="viewer")), opened(s, read_only=True)):
        viewer_may = verb in ACTS and ACTS[verb].role == "viewer"
        assert sent(closed, path, good, SAME) == (303 if viewer_may else 403)
    if (verb in ACTS and ACTS[verb].role == "editor") or verb == "cancel":
        operator = opened(s, way=Local(role="operator"))
        answer = operator.post(path, good, headers={"accept": "application/json"})
        assert answer.status_code == 403
    assert seen(server, s) == before


PILL = re.compile(r'id="pill" href="[^"]*"')  # it asks for the same page again
FORMS = re.compile(r'href="[^"]*/(?:new|edit)(?:[?"])')


def test_no_link_leads_to_a_form_of_who_may_not_send_it(opened: Open, filled: Schedule) -> None:
    operator = opened(filled, way=Local(role="operator"))
    for _, address in every_address(Place(operator, filled.name)):
        assert not FORMS.search(PILL.sub("", operator.get(f"/s/{filled.name}/{address}").text)), address
    viewer, editor = opened(filled, way=Local(role="viewer")), opened(filled)
    for path in ("jobs", "recurring", "jobs/nightly", "-/jump?q=every+day"):
        assert FORMS.search(editor.get(f"/s/{filled.name}/{path}").text), path
        assert not FORMS.search(viewer.get(f"/s/{filled.name}/{path}").text), path


@pytest.mark.parametrize("verb", VERBS)
def test_a_form_that_is_sent_twice_acts_once(browser: Browser, filled: Schedule, server: Server, verb: str) -> None:
    s = filled
    path, token = f"/s/{s.name}/do/{verb}", browser.token(f"/s/{s.name}/")
    if verb == UNDO:
        sent(browser, f"/s/{s.name}/do/pause", {"token": token, "which": "nightly", "number": "first"}, SAME)
    form = {**fields_of(s, verb), "token": token, "number": "4711"}
    before = seen(server, s)
    first = browser.post(path, form, headers={"accept": "application/json"})
    once = seen(server, s)
    assert (once[0] != before[0]) == (verb not in NO_EFFECT)
    again = browser.post(path, form, headers={"accept": "application/json"})
    if first.status_code == 200 and verb != UNDO:  # an undo is over by then, and refused
        assert again.json().get("line") == first.json()["line"]
    assert seen(server, s) == once
    if work := first.json().get("work"):
        browser.post(f"/s/{s.name}/do/stop", {"token": token, "work": work})


def test_no_form_gives_an_order_that_undoes(browser: Browser, filled: Schedule, server: Server) -> None:
    token, before = browser.token(f"/s/{filled.name}/"), seen(server, filled)
    form = {"token": token, "which": "nightly", "kept": json.dumps({"id": "1" * 40}), "act": "edit"}
    for of in ("", "undo", "4711"):
        assert sent(browser, f"/s/{filled.name}/do/undo", {**form, "of": of}, SAME) == 409
    assert seen(server, filled) == before
