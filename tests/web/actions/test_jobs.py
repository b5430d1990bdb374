"""Acts from the browser: who may do what, what is said of it, and that Undo brings back what was."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import asgi, schedule
from workkit.schedule import Schedule
from workkit.web.auth import Local, Role
from workkit.web.login import Login, UsersFile, add_token, add_user


def act(browser: Browser, s: Schedule, verb: str, **fields: Any) -> Any:
    page = f"/s/{s.name}/"
    fields = {"token": browser.token(page), "back": page} | fields
    return browser.post(f"/s/{s.name}/do/{verb}", fields, follow_redirects=True)


def undone(browser: Browser, s: Schedule, answer: Any) -> Any:
    found = re.search(r'name="of" value="([^"]+)"', answer.text)
    assert found is not None, text_of(answer)
    return act(browser, s, "undo", of=found[1])


def contents(server: Server, s: Schedule) -> dict[str, Any]:
    """Every key of a schedule but its changes, the version of its pauses, and what producers keep of a request."""
    client, found = server.client(), {}
    for key in sorted(client.keys(f"{s.name}:*")):
        if b":producer:" in key or key.endswith((b":wake", b":watch", b":changes")):
            continue
        kind = client.type(key)
        read = {b"hash": client.hgetall, b"set": client.smembers, b"stream": client.xrange}
        found[key.decode()] = read.get(kind, client.dump)(key)
        if key.endswith(b":control"):
            found[key.decode()].pop(b"v", None)
        if key.endswith(b":ends"):  # of jobs that are over; a live job has none
            alive = client.hkeys(f"{s.name}:jobs")
            found[key.decode()] = {id: end for id, end in found[key.decode()].items() if id in alive}
    return {key: value for key, value in found.items() if value}


def add_nightly(s: Schedule) -> str:
    return schedule.add(s, handlers.note, every="day at 2:30am", name="nightly", args=(1,)).id


def test_one_run_of_a_recurring_job_is_cancelled_and_the_job_keeps_its_times(browser: Browser, s: Schedule) -> None:
    handlers.calls.clear()
    schedule.add(s, handlers.wait_until_cancelled, every="day at 2:30am", name="long")
    due = schedule.job(s, "long").due
    schedule.run(s, "long")
    page = f"/s/{s.name}/jobs/long"
    with schedule.listener(s, imports=["tests.handlers"], folder=None):
        until(lambda: handlers.calls == ["begun"], what="the run")
        form = re.search(r'name="listener" value="([^"]+)"><input type="hidden" name="due" value="([^"]+)"',
                         browser.get(page).text)  # fmt: skip
        assert form is not None
        fields = {"which": "long", "listener": form[1], "due": form[2]}
        answer = act(browser, s, "interrupt", **fields)
        assert "It keeps its times." in text_of(answer)
        assert 'name="of"' not in answer.text, "it cannot be undone"
        until(lambda: [run.ending for run in schedule.runs(s, "long")] == ["cancelled"], what="its end")
        assert "That run of long is over. Nothing was cancelled." in text_of(act(browser, s, "interrupt", **fields))
    assert (schedule.job(s, "long").due, schedule.job(s, "long").state) == (due, "waiting")
    assert next(change.verb for change in schedule.changes(s)) == "interrupt"


def test_a_pause_is_said_and_undone(browser: Browser, s: Schedule, server: Server) -> None:
    add_nightly(s)
    before = contents(server, s)
    answer = act(browser, s, "pause", which="nightly", reason="migration", until="tomorrow at 14:00")
    assert "Paused nightly until tomorrow 14:00." in text_of(answer)
    assert schedule.job(s, "nightly").state == "paused"
    assert "Resumed nightly." in text_of(undone(browser, s, answer))
    assert contents(server, s) == before


def test_a_resume_is_undone_with_its_reason_and_its_end(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.pause(s, reason="password=hunter2", until="tomorrow at 14:00")
    before = contents(server, s)
    answer = act(browser, s, "resume")
    assert f"Resumed {s.name}." in text_of(answer)
    assert "hunter2" not in answer.text
    assert headline(answer) != headline(undone(browser, s, answer))
    assert contents(server, s) == before


def test_a_pause_over_another_is_undone_to_the_first(browser: Browser, s: Schedule, server: Server) -> None:
    add_nightly(s)
    schedule.pause(s, "nightly", reason="first", until="tomorrow at 14:00")
    before = contents(server, s)
    answer = act(browser, s, "pause", which="nightly", reason="second")
    assert contents(server, s) != before
    undone(browser, s, answer)
    assert contents(server, s) == before


@pytest.mark.parametrize("verb", ["pause", "resume"])
def test_an_undo_leaves_the_pause_of_somebody_else(browser: Browser, s: Schedule, server: Server, verb: str) -> None:
    add_nightly(s)
    if verb == "resume":
        schedule.pause(s, "nightly", reason="first")
    answer = act(browser, s, verb, which="nightly")
    schedule.pause(s, "nightly", reason="migration", by="ada")
    before = contents(server, s)
    assert "nightly was paused anew meanwhile." in text_of(undone(browser, s, answer))
    assert contents(server, s) == before


def test_what_was_done_is_said(browser: Browser, s: Schedule) -> None:
    add_nightly(s)
    skipped = act(browser, s, "skip", which="nightly")
    assert re.search(r"Skipped nightly of (tomorrow )?02:30; next is .* 02:30\.", text_of(skipped))
    assert "Running nightly, beside its times." in text_of(act(browser, s, "run", which="nightly"))
    assert "Cancelled nightly." in text_of(act(browser, s, "cancel", which="nightly"))
    assert list(schedule.jobs(s)) == [] or [job.name for job in schedule.jobs(s)] == [None]


def test_an_act_that_cannot_be_undone_has_no_undo(browser: Browser, s: Schedule) -> None:
    answer = act(browser, s, "purge")
    assert f"Purged the history of {s.name}." in text_of(answer)
    assert "Undo" not in text_of(answer)


@pytest.mark.parametrize(
    ("verb", "fields", "status"),
    [
        ("skip", {"which": "nowhere"}, 404),
        ("skip", {}, 400),
        ("pause", {"until": "yesterday"}, 400),
        ("explode", {}, 404),
        ("undo", {"of": "x"}, 409),
    ],
)
def test_an_act_that_is_refused_changes_nothing(
    browser: Browser, s: Schedule, server: Server, verb: str, fields: dict[str, str], status: int
) -> None:
    add_nightly(s)
    before = contents(server, s)
    token = browser.token(f"/s/{s.name}/")
    answer = browser.post(f"/s/{s.name}/do/{verb}", fields | {"token": token}, headers={"accept": "application/json"})
    assert (answer.status_code, contents(server, s)) == (status, before)
    if status != 404 or verb != "skip":
        assert answer.json()["error"]
    else:
        assert answer.json()["refused"][0]["error"].startswith('no job "nowhere"')


@pytest.mark.parametrize(
    ("role", "verb", "status"),
    [("viewer", "pause", 403), ("viewer", "undo", 403), ("operator", "skip", 200), ("operator", "cancel", 403)],
)
def test_a_role_is_checked_on_the_server(
    opened: Open, s: Schedule, server: Server, role: Role, verb: str, status: int
) -> None:
    add_nightly(s)
    before = contents(server, s)
    browser = opened(s, way=Local(role=role))
    fields = {"token": browser.token(f"/s/{s.name}/"), "which": "nightly"}
    answer = browser.post(f"/s/{s.name}/do/{verb}", fields, headers={"accept": "application/json"})
    assert answer.status_code == status
    assert (contents(server, s) == before) is (status != 200)
    assert ("Pause all" in browser.get(f"/s/{s.name}/").text) is (role != "viewer")


def test_a_form_that_is_sent_twice_acts_once(browser: Browser, s: Schedule) -> None:
    add_nightly(s)
    first = schedule.job(s, "nightly").due
    for _ in range(2):
        assert "Skipped nightly" in text_of(act(browser, s, "skip", which="nightly", number="4711"))
    second = schedule.job(s, "nightly").due
    assert first is not None
    assert second is not None
    assert 0 < (second - first).days <= 1


def test_other_sites_and_forged_tokens_change_nothing(browser: Browser, s: Schedule, server: Server) -> None:
    before = contents(server, s)
    token = browser.token(f"/s/{s.name}/")
    for headers, given in (
        ({"sec-fetch-site": "cross-site"}, token),
        ({}, "0" * 64),
        ({"host": "evil.example"}, token),
    ):
        answer = browser.post(f"/s/{s.name}/do/pause", {"token": given}, headers=headers)
        assert answer.status_code == 403
    assert contents(server, s) == before
    assert browser.get(f"/s/{s.name}/do/pause").status_code == 404


def test_a_program_acts_with_its_token_by_json(opened: Open, s: Schedule, tmp_path: Path) -> None:
    users = tmp_path / "users.toml"
    add_user(users, "ada", roles="editor", password="correct horse")
    bearer = {"authorization": f"Bearer {add_token(users, 'ci', roles='operator')}"}
    browser = opened(s, way=Login(file=UsersFile(users), signer=asgi.signer("secret")))
    add_nightly(s)
    address = f"/s/{s.name}/do"

    def sent(verb: str, **body: Any) -> Any:
        return browser.run(browser._client.post(f"{address}/{verb}", json=body, headers=bearer))

    answer = sent("pause", which=["nightly", "nowhere"], reason="migration")
    assert answer.status_code == 207
    found = answer.json()
    assert found["done"] == ["nightly"]
    assert found["refused"][0]["which"] == "nowhere"
    assert schedule.job(s, "nightly").state == "paused"
    assert sent("undo", of=found["undo"]).json()["done"] == ["nightly"]
    assert schedule.job(s, "nightly").state == "waiting"
    assert sent("pause", which=[1]).json()["error"] == "which=1 is no text. Accepted: texts."
    assert sent("pause", which=["x"] * 501).json()["error"] == "An act concerns at most 500 jobs, and 501 were named."
    assert (
        browser.run(
            browser._client.post(
                f"{address}/pause", content=b"[", headers=bearer | {"content-type": "application/json"}
            )
        ).status_code
        == 400
    )


def test_what_was_done_is_said_where_the_job_of_the_page_is_gone(browser: Browser, s: Schedule) -> None:
    add_nightly(s)
    page = f"/s/{s.name}/jobs/nightly"
    fields = {"which": "nightly", "token": browser.token(page), "back": page}
    answer = browser.get(browser.post(f"/s/{s.name}/do/cancel", fields).headers["location"])
    assert answer.status_code == 404
    assert "ancelled nightly" in text_of(answer)


TYPO = {"until": "tomorow", "reason": "a move"}


@pytest.mark.parametrize(
    ("path", "which"), [("", ""), ("jobs/nightly", "nightly"), ("recurring", "nightly"), ("jobs", "nightly")]
)
def test_a_refused_pause_stands_in_its_form_again(browser: Browser, s: Schedule, path: str, which: str) -> None:
    add_nightly(s)
    page = f"/s/{s.name}/{path}"
    fields = TYPO | ({"which": which} if which else {})
    shown = act(browser, s, "pause", back=page, **fields)
    assert shown.url.path == page
    assert "is not understood" in text_of(shown)
    form = re.search(
        r'<details class="ask[^"]*" open>(?:(?!</details>).)*name="until" value="tomorow"', shown.text, re.DOTALL
    )
    assert form is not None
    assert 'name="reason" value="a move"' in form[0] + shown.text[form.end() :].partition("</details>")[0]
    if path in ("recurring", "jobs"):
        assert re.search(r'value="nightly" checked', shown.text)
    assert 'name="until" value="tomorow"' not in browser.get(page).text  # it is told once
    bare = browser.post(
        f"/s/{s.name}/do/pause", fields | {"token": browser.token(page)}, headers={"accept": "application/json"}
    )
    assert bare.status_code == 400


def test_a_refused_rescheduling_stands_in_its_form_again(browser: Browser, s: Schedule) -> None:
    job = add_nightly(s)
    page = f"/s/{s.name}/jobs/nightly"
    shown = act(browser, s, "reschedule", back=page, which="nightly", seen=job, when="every dey at 8", tz="Asia/Tokyo")
    assert 'name="when" value="every dey at 8" aria-invalid="true"' in shown.text
    assert 'name="tz" value="Asia/Tokyo"' in shown.text
