"""Acts on dead jobs: at once, at a rate, one first, held back; and what is left when the process dies."""

from __future__ import annotations

import json
import re
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests import handlers
from tests.processes import Processes, until
from tests.servers import Server
from tests.web.conftest import Browser, Open, text_of
from workkit import schedule
from workkit.schedule import Schedule
from workkit.web import works
from workkit.web.actions import dead as dead_acts
from workkit.web.auth import Local, Role

HOW: dict[str, Any] = {"imports": ["tests.handlers", "tests.web.actions.test_dead"], "folder": None}
HEALED: list[bool] = []


def lose(number: int) -> None:
    if not HEALED:
        raise LookupError(f"invoice {number} has no lines")
    handlers.calls.append(number)


@pytest.fixture(autouse=True)
def _ill() -> Iterator[None]:
    HEALED.clear()
    handlers.calls.clear()
    yield
    HEALED.clear()


def die(s: Schedule, count: int) -> None:
    schedule.add_many(s, [{"fn": lose, "args": (number,), "when": "now"} for number in range(count)])
    schedule.drain(s, raise_errors=False, **HOW)
    assert len(schedule.dead(s)) == count


def group(browser: Browser, s: Schedule) -> dict[str, str]:
    """The fields of a form about the one error."""
    found: Any = browser.json(f"/s/{s.name}/dead.json")["groups"]
    return {"print": found[0]["fingerprint"], "count": str(found[0]["jobs"])}


def act(browser: Browser, s: Schedule, verb: str, **fields: Any) -> Any:
    page = f"/s/{s.name}/dead"
    fields = {"token": browser.token(page), "back": page} | fields
    return browser.post(f"/s/{s.name}/do/{verb}", fields, follow_redirects=True)


def dead(s: Schedule) -> int:
    return len(schedule.dead(s))


def test_one_and_all_of_a_group_are_retried(browser: Browser, s: Schedule) -> None:
    die(s, 4)
    one = schedule.dead(s)[0]
    assert "Retried tests.web.actions.test_dead.lose." in text_of(act(browser, s, "retry", which=one.id))
    assert dead(s) == 3
    assert "Retried 3." in text_of(act(browser, s, "retry", **group(browser, s)))
    assert dead(s) == 0
    HEALED.append(True)
    schedule.drain(s, **HOW)
    assert sorted(handlers.calls) == [0, 1, 2, 3]


def test_a_form_that_is_sent_twice_retries_once(browser: Browser, s: Schedule) -> None:
    die(s, 2)
    which = schedule.dead(s)[0].id
    for _ in range(2):
        assert "Retried tests.web" in text_of(act(browser, s, "retry", which=which, number="4711"))
        schedule.drain(s, raise_errors=False, **HOW)
    assert dead(s) == 2


def test_a_group_is_retried_at_a_rate_and_can_be_stopped(browser: Browser, s: Schedule) -> None:
    die(s, 5)
    answer = act(browser, s, "retry", **group(browser, s), rate="1/minute")
    assert "Retrying 5 at 1 a minute: 1 done. Stop" in text_of(answer)
    until(lambda: dead(s) == 4, what="the first portion")
    work = re.search(r'name="work" value="([0-9a-f]+)"', answer.text)
    assert work is not None
    assert "Stopped: 1 of 5 retried; 4 left as they are." in text_of(act(browser, s, "stop", work=work[1]))
    until(
        lambda: "Retried 1 of 5; 4 left as they are." in text_of(browser.get(f"/s/{s.name}/dead")), what="the end of it"
    )
    assert dead(s) == 4


def test_a_portion_is_put_back_in_one_step_and_runs_at_its_rate(browser: Browser, s: Schedule) -> None:
    die(s, 5)
    act(browser, s, "retry", **group(browser, s), rate="2/second")
    until(lambda: dead(s) == 0, what="the portion")
    due = sorted(job.due for job in schedule.jobs(s) if job.due)
    steps = {round((b - a).total_seconds() * 1000) for a, b in pairwise(due)}
    assert steps == {500}


def test_one_is_tried_first(browser: Browser, s: Schedule) -> None:
    die(s, 4)
    page = f"/s/{s.name}/dead"
    act(browser, s, "try", **group(browser, s))
    assert dead(s) == 3
    assert "It is due." in text_of(browser.get(page))
    schedule.drain(s, raise_errors=False, **HOW)
    assert "Failed again with the same error. 3 left as they are." in text_of(browser.get(page))
    assert dead(s) == 4
    HEALED.append(True)
    act(browser, s, "try", **group(browser, s))
    schedule.drain(s, **HOW)
    said = text_of(browser.get(page))
    assert re.search(r"It ran, in .*?\. Retry the other 3", said), said
    found = browser.json(f"{page}.json")["tried"]
    assert [one["left"] for one in found][-1] == 3


def test_a_discard_is_held_back_and_undone(browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    die(s, 3)
    answer = act(browser, s, "discard", **group(browser, s))
    assert re.search(r"Discarding 3 in \d+ s\. Undo", text_of(answer))
    assert dead(s) == 3
    work = re.search(r'name="work" value="([0-9a-f]+)"', answer.text)
    assert work is not None
    assert "Left 3 as they are." in text_of(act(browser, s, "stop", work=work[1]))
    monkeypatch.setattr(dead_acts, "HELD_S", 0.05)
    act(browser, s, "discard", which=schedule.dead(s)[0].id)
    until(lambda: dead(s) == 2, what="the discard")
    until(lambda: "Discarded 1." in text_of(browser.get(f"/s/{s.name}/dead")), what="the line")


def test_who_discards_many_types_their_number(browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_acts, "HELD_S", 0.05)
    die(s, 101)
    assert "Type 101" in text_of(browser.get(f"/s/{s.name}/dead"))
    refused = act(browser, s, "discard", **group(browser, s), typed="100")
    assert refused.status_code == 400
    assert dead(s) == 101
    act(browser, s, "discard", **group(browser, s), typed="101")
    until(lambda: dead(s) == 0, what="the discard")


def test_more_than_were_seen_is_refused(browser: Browser, s: Schedule) -> None:
    die(s, 3)
    fields = group(browser, s) | {"count": "2"}
    answer = act(browser, s, "retry", **fields)
    assert answer.status_code == 409
    assert dead(s) == 3


def test_arguments_are_changed(browser: Browser, s: Schedule) -> None:
    die(s, 2)
    one = schedule.dead(s)[0]
    for wrong in ("[", '"text"', '["••••••"]', "7", "[1, 2, 3, 4, 5]"):
        answer = act(browser, s, "change-arguments", which=one.id, args=wrong)
        assert "args" in text_of(answer)
        assert dead(s) == 2
    answer = act(browser, s, "change-arguments", which=one.id, args="[42]")
    assert "with other arguments, as a new job." in text_of(answer)
    HEALED.append(True)
    schedule.drain(s, **HOW)
    assert handlers.calls == [42]
    assert dead(s) == 1


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("viewer", set()), ("operator", {"retry", "try"}), ("editor", {"retry", "try", "discard", "change-arguments"})],
)
def test_a_role_is_checked_and_buttons_are_absent(opened: Open, s: Schedule, role: Role, allowed: set[str]) -> None:
    die(s, 1)
    browser = opened(s, way=Local(role=role))
    page = browser.get(f"/s/{s.name}/dead/{group(browser, s)['print']}").text
    token = browser.token(f"/s/{s.name}/dead")
    for verb in ("retry", "try", "discard", "change-arguments"):
        assert (f"/do/{verb}" in page) is (verb in allowed)
        if verb not in allowed:
            answer = browser.post(f"/s/{s.name}/do/{verb}", {"token": token, "which": schedule.dead(s)[0].id})
            assert answer.status_code == 403
    assert dead(s) == 1


def test_when_the_process_dies_the_rest_is_still_dead(processes: Processes, server: Server, s: Schedule) -> None:
    die(s, 30)
    ids = {job.id for job in schedule.dead(s)}
    web = processes.workkit("web", s.name, "--redis", server.url, "--bind", "127.0.0.1:0")
    address = web.wait_for(r"listening  (\S+) on (\S+), read and write")[2].rstrip("/")
    page = f"{address}/s/{s.name}/dead"
    with urllib.request.urlopen(f"{page}.json", timeout=30) as answer:
        (found,) = json.load(answer)["groups"]
    with urllib.request.urlopen(page, timeout=30) as answer:
        token = re.search(r'name="token" value="([0-9a-f]+)"', answer.read().decode())
    assert token is not None
    fields = {"token": token[1], "print": found["fingerprint"], "count": found["jobs"], "rate": "1/second"}
    request = urllib.request.Request(
        f"{address}/s/{s.name}/do/retry",
        data=urllib.parse.urlencode(fields).encode(),
        headers={"sec-fetch-site": "same-origin", "accept": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["line"] == "Retrying 30 at 1 a second."
    until(lambda: dead(s) == 20, what="the first portion")
    web.send(signal.SIGKILL)
    web.wait()
    still, back = {job.id for job in schedule.dead(s)}, [job.id for job in schedule.jobs(s) if job.state != "dead"]
    assert len(back) == len(set(back)) == 10
    assert still | set(back) == ids
    assert not still & set(back)


def test_what_a_work_has_done_is_kept_for_who_started_it(
    browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(works, "SHOWN_S", 0.0)
    for n in range(3):
        schedule.add_now(s, handlers.fail, args=[f"disk {n}"])
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    page = f"/s/{s.name}/dead"
    dead = [job.dead_id for job in schedule.jobs(s, state="dead")]
    fields = {"token": browser.token(page), "back": page, "which": dead, "rate": "100/second"}
    where = browser.post(f"/s/{s.name}/do/retry", fields).headers["location"]
    until(lambda: "Retried 3." in text_of(browser.get(where)), what="the end of the work")
    assert "Retried 3." in text_of(browser.get(where))
    assert "Retried" not in text_of(browser.get(page))
