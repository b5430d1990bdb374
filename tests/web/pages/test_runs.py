from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests import handlers
from tests.contract.layouts import Gocraft
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule
from workkit.web.pages import runs as page

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 2}


def ran(s: Schedule, *, notes: int, failures: int) -> None:
    """Have a listener run some jobs, until history has all of them."""
    for n in range(notes):
        schedule.add_now(s, handlers.note, args=[n])
    for n in range(failures):
        schedule.add_now(s, handlers.fail, args=[f"disk {n} full"], name=f"export-{n}")
    with schedule.listener(s, **HOW):
        until(lambda: len(schedule.runs(s, limit=100)) >= notes + failures, what="the runs")


def test_no_run_is_kept(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/runs")
    assert headline(answer) == "No run is kept."
    assert "Every run of recurring jobs, every failure, a sample of the rest." in text_of(answer)


def test_runs_are_filtered_and_each_has_a_page(browser: Browser, s: Schedule) -> None:
    ran(s, notes=2, failures=2)
    runs = browser.json(f"/s/{s.name}/runs.json")["runs"]
    assert len(runs) == 4

    def found(query: str) -> int:
        return len(browser.json(f"/s/{s.name}/runs.json?{query}")["runs"])

    assert found("fn=note") == found("ended=done") == 2
    assert found("ended=failed,missed") == found("q=disk") == 2
    assert found("job=export-1") == found("job=export-1&fn=fail&ended=dead") == 1
    assert found("from=1 hour ago") == 4
    assert found("from=now") == found("to=1 hour ago") == 0
    (dead,) = browser.json(f"/s/{s.name}/runs.json?job=export-1")["runs"]
    answer = browser.get(f"/s/{s.name}/runs/{dead['run']}")
    assert re.match(r"Dead after .*\. It was due [\d:]+ and started ", headline(answer))
    assert "OSError: disk 1 full" in text_of(answer)
    assert f'href="/s/{s.name}/jobs/export-1"' in answer.text
    assert f'href="/s/{s.name}/runs?job=export-1"' in answer.text
    one = browser.json(f"/s/{s.name}/runs/{dead['run']}.json")
    assert (one["error"], one["run"], one["ending"]) == ("OSError: disk 1 full", dead["run"], "dead")
    assert (one["args"], one["kwargs"]) == (["disk 1 full"], {})
    assert 'Arguments "disk 1 full"' in text_of(answer)


def test_the_arguments_of_a_run_are_masked_or_said_not_to_be_kept(opened: Open, s: Schedule) -> None:
    jobs = [
        schedule.add_now(s, handlers.note, args=[7], kwargs={"token": "abc123456"}),
        schedule.add_now(s, handlers.note, args=["x" * 2000]),
        schedule.add_now(s, handlers.fail, args=["token=abc123456 is bad"]),
        schedule.add_now(s, handlers.note),
    ]
    schedule.drain(s, raise_errors=False, **HOW)
    runs = {run.id: run.place for run in schedule.runs(s)}
    for how in ({}, {"read_only": True, "mask_all": True}):
        browser = opened(s, **how)
        texts = [browser.get(f"/s/{s.name}/runs/{runs[job.id]}").text for job in jobs]
        texts += [browser.get(f"/s/{s.name}/runs/{runs[job.id]}.json").text for job in jobs]
        assert "abc123456" not in "".join([*texts, browser.get(f"/s/{s.name}/runs.json").text])
        said = [text_of(browser.get(f"/s/{s.name}/runs/{runs[job.id]}")) for job in jobs]
        assert ('Arguments 7, token="••••••"' in said[0]) == (not how)
        assert "Arguments not kept" in said[1]
        assert "Arguments none" in said[3]


@pytest.mark.parametrize("query", ["ended=lost", "from=soon", "to=x", "after=here", "q=fnn:x"])
def test_bad_values_are_refused(browser: Browser, s: Schedule, query: str) -> None:
    answer = browser.get(f"/s/{s.name}/runs.json?{query}")
    assert answer.status_code == 400, answer.text


def test_a_run_that_is_not_kept(browser: Browser, s: Schedule) -> None:
    assert browser.get(f"/s/{s.name}/runs/1-1").status_code == 404
    assert browser.get(f"/s/{s.name}/runs/~3cscript~3e").status_code == 404


def test_pages_follow_each_other(browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "ROWS", 2)
    monkeypatch.setattr(page, "MOST_LOOKED", 3)
    ran(s, notes=0, failures=5)
    found = [browser.json(f"/s/{s.name}/runs.json")]
    while (path := found[-1]["next"]) is not None:
        found.append(browser.json(f"/s/{s.name}/{path}"))
    assert [len(one["runs"]) for one in found] == [2, 2, 1]
    assert len({run["run"] for one in found for run in one["runs"]}) == 5
    answer = browser.get(f"/s/{s.name}/runs?job=export-9")
    assert "Looked at 3 runs, back to" in text_of(answer)
    assert "Look further" in text_of(answer)


def test_hostile_records_are_left_out_or_escaped(browser: Browser, s: Schedule, server: Server) -> None:
    ran(s, notes=0, failures=1)
    client, keys = server.client(), Keys(s.name)
    ((_, fields),) = client.xrevrange(keys.runs, count=1)
    client.xadd(keys.runs, fields | {b"n": b"<script>\xff", b"m": b"token=abc123456 \xe2\x80\xae", b"f": b"<i>"})
    client.xadd(keys.runs, {b"r": b"short"})
    answer = browser.get(f"/s/{s.name}/runs")
    assert answer.status_code == 200
    for text in ("<script>\ufffd", "abc123456", "\u202e", "<i>"):
        assert text not in answer.text
    place = browser.json(f"/s/{s.name}/runs.json")["runs"][0]["run"]
    assert "abc123456" not in browser.get(f"/s/{s.name}/runs/{place}").text


def test_a_layout_without_history_says_so(opened: Open, server: Server, name: str) -> None:
    s = Gocraft().create(server, name)
    answer = opened(s).get(f"/s/{s.name}/runs")
    assert headline(answer) == "No history is kept here."
    assert "Only the native layout keeps past runs." in text_of(answer)


def test_a_search_of_runs_goes_on_by_itself_to_a_definite_answer(
    browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "MOST_LOOKED", 3)
    ran(s, notes=5, failures=0)
    answer = browser.get(f"/s/{s.name}/runs?q=fn:nobody")
    assert headline(answer) == "Not found yet, 3 runs looked at."
    found = re.search(r'<meta http-equiv="refresh" content="1;url=([^"]+)">', answer.text)
    assert found is not None
    answer = browser.get(html.unescape(found[1]))
    assert headline(answer) == 'No run here: function is "nobody".'
    assert "refresh" not in answer.text
