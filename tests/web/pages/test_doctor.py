"""The page Doctor: what a checkup finds, shown, kept, looked for again, repaired."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests import handlers
from tests.brokers.checkups import payload
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.cli import main
from workkit.schedule import Schedule
from workkit.web.auth import Local


@pytest.fixture(autouse=True)
def _second_look_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)


@pytest.fixture
def orphan(server: Server, s: Schedule) -> str:
    """A job that nothing refers to."""
    id, data = payload()
    server.client().hset(f"{s.name}:jobs", id, data)
    return id


def over(browser: Browser, s: Schedule, query: str = "?older_than=1s") -> Any:
    return until(
        lambda: (found := browser.json(f"/s/{s.name}/doctor.json{query}"))["is_over"] and found, what="its end"
    )


def kinds(found: Any) -> list[str]:
    return [one["kind"] for one in found["findings"]]


def test_a_finding_says_what_is_wrong_why_and_what_mends_it(browser: Browser, s: Schedule, orphan: str) -> None:
    (fault,) = (one for one in over(browser, s)["findings"] if one["kind"] == "no-item")
    assert fault["repairs"]
    text = text_of(browser.get(f"/s/{s.name}/doctor?older_than=1s"))
    for part in (fault["what"], fault["why"], fault["remedy"]):
        assert " ".join(part.split()) in text
    assert "Looked just now." in text


def test_a_remedy_finds_the_same_server_and_the_same_faults_as_that_of_the_command_line(
    opened: Open, s: Schedule, orphan: str, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor", s.name, "--redis", server.url, "--layout", "native", "--older-than", "1s"])
    printed = capsys.readouterr().out
    browser, written = opened(s, flags=(f"--redis {server.url}", "--layout native")), []
    for fault in over(browser, s)["findings"]:
        assert " ".join(fault["remedy"].split()) in " ".join(printed.split())
        if "workkit " in fault["remedy"]:
            assert f"--redis {server.url} --layout native" in fault["remedy"]
            written.append(fault["kind"])
    assert "no-item" in written


def test_a_remedy_names_the_layout_of_a_schedule_of_a_program(opened: Open, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    server.client().lpush(f"{name}:jobs:gone", "no job")
    commands = [one["remedy"] for one in over(opened(s), s)["findings"] if "workkit " in one["remedy"]]
    assert commands
    assert all("--layout gocraft" in one for one in commands), commands


def test_a_checkup_is_kept_until_somebody_looks_again(browser: Browser, s: Schedule, server: Server) -> None:
    assert "no-item" not in kinds(over(browser, s))
    id, data = payload()
    server.client().hset(f"{s.name}:jobs", id, data)
    assert "no-item" not in kinds(over(browser, s))
    token = browser.token(f"/s/{s.name}/doctor")
    said = browser.post(
        f"/s/{s.name}/do/checkup", {"token": token, "back": f"/s/{s.name}/doctor"}, follow_redirects=True
    )
    assert f"Checking {s.name} again." in text_of(said)
    until(lambda: "no-item" in kinds(over(browser, s, "")), what="the orphan")
    rail = browser.get(f"/s/{s.name}/").text.partition('id="main"')[0]
    assert re.search(r'Doctor<span class="n warn">\d+</span>', rail)


def test_a_repair_takes_the_finding_away(browser: Browser, s: Schedule, server: Server, orphan: str) -> None:
    (digest,) = (one["digest"] for one in over(browser, s)["findings"] if one["kind"] == "no-item")
    page = f"/s/{s.name}/doctor"
    fields = {"token": browser.token(page), "back": page, "which": digest}
    said = browser.post(f"/s/{s.name}/do/repair", fields, follow_redirects=True)
    assert "Repaired: " in text_of(said)
    assert server.client().zcard(f"{s.name}:next") == 1
    assert "no-item" not in kinds(over(browser, s, ""))
    assert next(iter(schedule.changes(s))).verb == "repair"
    again = browser.post(f"/s/{s.name}/do/repair", fields, headers={"accept": "application/json"})
    assert again.status_code == 404
    assert "is over" in again.json()["refused"][0]["error"]


def test_who_may_not_repair_sees_no_button(opened: Open, s: Schedule, server: Server, orphan: str) -> None:
    browser = opened(s, way=Local(role="operator"))
    (digest,) = (one["digest"] for one in over(browser, s)["findings"] if one["kind"] == "no-item")
    page = browser.get(f"/s/{s.name}/doctor")
    assert "Repair…" not in page.text
    fields = {"token": browser.token(f"/s/{s.name}/doctor"), "which": digest}
    assert browser.post(f"/s/{s.name}/do/repair", fields).status_code == 403
    assert server.client().zcard(f"{s.name}:next") == 0


def test_a_patience_that_is_no_duration_is_refused(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/doctor?older_than=soon")
    assert answer.status_code == 400
    assert "soon" in headline(answer) + text_of(answer)


def test_what_a_finding_quotes_is_masked(browser: Browser, s: Schedule, server: Server) -> None:
    server.client().hset(f"{s.name}:jobs", "password=hunter2", b"{")
    found = browser.get(f"/s/{s.name}/doctor.json?older_than=1s").text
    until(lambda: over(browser, s)["findings"], what="the finding")
    found += browser.get(f"/s/{s.name}/doctor").text + browser.get(f"/s/{s.name}/doctor.json").text
    assert "hunter2" not in found
    assert "password=" in found


def test_it_says_that_recurring_jobs_are_gone_which_this_process_has_seen(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Now does. The server came back empty: no key of it tells, so the command line cannot know."""
    monkeypatch.setattr("workkit.web.cache.NAMED_S", 0.0)
    page = f"/s/{s.name}/doctor"
    for name in ("a", "b", "c"):
        schedule.add(s, handlers.note, every="day at 9am", name=name)
    assert "gone" not in text_of(browser.get(page))
    schedule.cancel(s, "c")
    assert "gone" not in text_of(browser.get(page))
    client = server.client()
    client.delete(*client.scan_iter(f"*{s.name}*", count=1000))
    assert re.fullmatch(r"2 recurring jobs are gone since \d\d:\d\d\.", headline(browser.get(page)))
    assert "The server no longer has them, and nobody has cancelled them." in text_of(browser.get(page))
    gone = browser.json(f"{page}.json")["gone"]
    assert (gone["count"], gone["since"][-1]) == (2, "Z")
    for name in ("a", "b"):
        schedule.add(s, handlers.note, every="day at 9am", name=name)
    assert "gone" not in text_of(browser.get(page))
    assert browser.json(f"{page}.json")["gone"] is None


def test_a_layout_without_recurring_jobs_misses_none(opened: Open, server: Server, name: str) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    assert over(opened(s), s)["gone"] is None
