"""The list of batches and the page of one, on a real server; the jobs around a job on its own page."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest

from tests import handlers
from tests.processes import until
from tests.web.actions.test_jobs import act
from tests.web.conftest import Browser, Open, headline, main_of, text_of
from workkit import call, schedule
from workkit.contract import groups
from workkit.schedule import Schedule
from workkit.web.auth import Local

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "raise_errors": False}


def import_of(s: Schedule, *, name: str = "import", **options: Any) -> Any:
    """A batch of which one job is done and one is dead, and two do not run yet."""
    with schedule.batch(s, name, **options) as batch:
        batch.add(handlers.note, args=["done"])
        batch.add(handlers.fail, args=["disk 7 full"])
        for number in range(2):
            batch.add(handlers.note, args=["later", number], in_="1 hour")
    schedule.drain(s, **HOW)
    return batch


def test_no_batch_is_here(browser: Browser, s: Schedule) -> None:
    assert headline(browser.get(f"/s/{s.name}/batches")) == "No batch is here."


def test_a_list_says_how_far_each_batch_is(browser: Browser, s: Schedule) -> None:
    import_of(s)
    with schedule.batch(s, "a/b <2>") as batch:
        batch.add(handlers.note)
    schedule.drain(s, **HOW)
    answer = browser.get(f"/s/{s.name}/batches")
    assert headline(answer) == "The batches here: 1 done and 1 running."
    assert "2 of 4 ended, 1 dead" in text_of(answer)
    assert '<progress max="4" value="2" aria-label="2 of 4 ended, 1 dead">' in answer.text
    links = re.findall(r'<a class="name" href="([^"]+)"', main_of(answer))
    assert links == [
        f"/s/{s.name}/batches/a~2fb~20<2>".replace("<", "%3C").replace(">", "%3E"),
        f"/s/{s.name}/batches/import",
    ]
    assert [headline(browser.get(link)) for link in links] == ["a/b <2>", "import"]
    found = browser.json(f"/s/{s.name}/batches.json")["batches"]
    assert [(one["name"], one["state"], one["total"]) for one in found] == [
        ("a/b <2>", "done", 1),
        ("import", "running", 4),
    ]


def test_a_list_goes_on_with_earlier_batches(browser: Browser, s: Schedule) -> None:
    for number in range(52):
        with schedule.batch(s, f"b{number}") as batch:
            batch.add(handlers.note, in_="1 hour", args=[number])
    first = browser.json(f"/s/{s.name}/batches.json")
    second = browser.json(f"/s/{s.name}/{first['next']}")
    names = [one["name"] for one in (*first["batches"], *second["batches"])]
    assert sorted(names) == sorted(f"b{n}" for n in range(52))  # many of one millisecond
    assert (len(second["batches"]), second["next"]) == (2, None)
    assert (
        f'href="/s/{s.name}/{first["next"].replace(".json", "")}">Earlier' in browser.get(f"/s/{s.name}/batches").text
    )


def test_the_dead_jobs_of_a_batch_come_first(browser: Browser, s: Schedule) -> None:
    batch = import_of(s, then=call(handlers.note, "then"), on_success=call(handlers.note, "success"))
    last = schedule.add_now(s, handlers.note, args=["mail"], after=batch)
    page = f"/s/{s.name}/batches/import"
    answer = browser.get(page)
    said = text_of(answer)
    assert "4 jobs: 1 dead, 2 not ended and 1 done." in said
    assert 'tests.handlers.fail ("disk 7 full") OSError: disk 7 full (handlers.py:28) dead' in said
    assert re.search(r"Dead 1 Not ended 2 Done 1", said)
    assert re.search(
        r'note \("then"\) then waiting .*note \("success"\) on_success waiting .*note \("mail"\) after waiting', said
    )
    assert f"workkit batch show {s.name} import workkit batch cancel {s.name} import" in said
    found, (dead,) = browser.json(f"{page}.json"), schedule.dead(s)
    assert [(one["state"], one["fn"], one["note"]) for one in found["members"]] == [
        ("dead", "#'tests.handlers/fail", dead.error)
    ]
    assert [one["id"] for one in found["members"]] == [dead.id]
    assert [one["note"] for one in found["follow"]] == ["then", "on_success", "after"]
    assert found["follow"][2]["id"] == last.id
    waiting = browser.get(f"{page}?ended=waiting")
    assert 'tests.handlers.note ("later", 0)' in text_of(waiting)
    assert 'tests.handlers.note ("later", 1)' in text_of(waiting)
    assert browser.get(f"{page}?ended=nonsense").status_code == 400
    assert browser.get(f"{page}x").status_code == 404


def test_the_jobs_of_a_batch_are_listed_by_page(browser: Browser, s: Schedule) -> None:
    with schedule.batch(s, "many") as batch:
        for number in range(100):
            batch.add(handlers.note, args=[number], in_="1 hour")
    first = browser.json(f"/s/{s.name}/batches/many.json")
    second = browser.json(f"/s/{s.name}/{first['next']}")
    ids = [one["id"] for one in (*first["members"], *second["members"])]
    assert (len(second["members"]), len(set(ids)), second["next"]) == (50, 100, None)
    assert set(ids) == {job.id for job in schedule.jobs(s)}
    for place in ("zz", "00", "0" * 15, "-"):
        assert browser.get(f"/s/{s.name}/batches/many?after={place}").status_code == 400


def test_jobs_that_are_done_are_listed_where_a_result_is_kept(browser: Browser, s: Schedule) -> None:
    with schedule.batch(s, "kept") as batch:
        job = batch.add(handlers.note, keep="1 hour")
        batch.add(handlers.note)
    schedule.drain(s, **HOW)
    found = browser.json(f"/s/{s.name}/batches/kept.json")
    assert (found["sentence"], [(one["id"], one["state"]) for one in found["members"]]) == (
        "2 jobs: 2 done.", [(job.id, "done")]
    )  # fmt: skip
    assert f'href="/s/{s.name}/jobs/{job.id}">{job.short_id}' in browser.get(f"/s/{s.name}/batches/kept").text


def test_what_runs_is_named_as_running(browser: Browser, s: Schedule) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    with schedule.batch(s, "one", then=handlers.note) as batch:
        batch.add(handlers.wait_for_gate)
    try:
        with schedule.listener(s, imports=["tests.handlers"], folder=None, threads=2):
            until(lambda: handlers.calls == ["begun"], what="the run")
            until(
                lambda: (
                    [one["state"] for one in browser.json(f"/s/{s.name}/batches/one.json")["members"]] == ["running"]
                ),
                what="its state on the page",
            )
            handlers.gate.set()
            until(lambda: browser.json(f"/s/{s.name}/batches/one.json")["batch"]["state"] == "done", what="its end")
    finally:
        handlers.gate.set()
    found = browser.json(f"/s/{s.name}/batches/one.json")
    assert found["sentence"] == "1 job: 1 done."
    assert [one["note"] for one in found["follow"]] == ["then"]
    assert "Of those that are done, only jobs with a kept result are." in text_of(
        browser.get(f"/s/{s.name}/batches/one")
    )


def test_a_batch_is_cancelled_after_a_question_and_without_undo(opened: Open, s: Schedule) -> None:
    import_of(s, then=call(handlers.note, "then"))
    page, viewer = f"/s/{s.name}/batches/import", opened(s, way=Local(role="viewer"))
    assert "do/cancel-batch" not in viewer.get(page).text
    operator = opened(s, way=Local(role="operator"))
    assert "This cannot be undone." in text_of(operator.get(page))
    answer = act(operator, s, "cancel-batch", which="import", back=page)
    assert "Cancelled the batch import." in text_of(answer)
    assert "do/undo" not in answer.text
    assert "do/cancel-batch" not in main_of(answer)
    schedule.drain(s, **HOW)
    found = operator.json(f"{page}.json")
    assert (found["batch"]["state"], found["sentence"]) == (
        "cancelled", "4 jobs: 1 dead, 2 cancelled and 1 done. It was cancelled."
    )  # fmt: skip
    assert [(one["note"], one["state"]) for one in found["follow"]] == [("then", "cancelled")]
    (change,) = schedule.changes(s, limit=1)
    assert ("cancel" in change.verb, change.via, change.role) == (True, "web", "operator")
    assert "import" in text_of(operator.get(f"/s/{s.name}/changes"))


def test_a_batch_that_is_not_there_cannot_be_cancelled(browser: Browser, s: Schedule) -> None:
    token, form = browser.token(f"/s/{s.name}/"), {"accept": "application/json"}
    path = f"/s/{s.name}/do/cancel-batch"
    assert browser.post(path, {"token": token, "which": "none"}, headers=form).status_code == 404
    answer = browser.post(path, {"token": token}, headers=form)
    assert (answer.status_code, answer.json()["error"]) == (400, "cancel-batch needs a batch: which=NAME.")
    assert browser.json(f"/s/{s.name}/batches.json")["batches"] == []


def test_an_open_batch_says_so_and_then_that_it_is_abandoned(
    browser: Browser, s: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    with suppress(OSError), schedule.batch(s, "half") as batch:
        for number in range(1001):  # the first thousand are sent
            batch.add(handlers.note, args=[number])
        raise OSError("killed")
    page = f"/s/{s.name}/batches/half"
    assert "Its producer still adds jobs. They start when it is closed." in text_of(browser.get(page))
    monkeypatch.setattr(groups, "ABANDONED_MS", 0)
    said = text_of(browser.get(page))
    assert "so its producer may have died. Run that again, or cancel the batch." in said
    assert f"workkit batch resume {s.name} half" in said
    assert headline(browser.get(f"/s/{s.name}/batches")) == "The batches here: 1 abandoned."


def test_a_job_names_its_batch_and_the_jobs_around_it(browser: Browser, s: Schedule) -> None:
    with schedule.batch(s, "import") as batch:
        member = batch.add(handlers.note, in_="1 hour")
    first = schedule.add(s, handlers.fail, args=["gone"], in_="1 hour")
    ends = schedule.add_now(s, handlers.note, args=["ends"])
    last = schedule.add_now(s, handlers.note, args=["last"], after=[first, ends, batch], on_death="run")
    schedule.drain(s, **HOW)
    assert f'href="/s/{s.name}/batches/import">import' in main_of(browser.get(f"/s/{s.name}/jobs/{member.id}"))
    found = browser.json(f"/s/{s.name}/jobs/{last.id}.json")
    assert {(one["id"], one["state"]) for one in found["after"]} == {
        (first.id, "waiting"), (ends.id, "done"), (f"={batch.id}", "waiting"),
    }  # fmt: skip
    said = text_of(browser.get(f"/s/{s.name}/jobs/{last.id}"))
    assert "Waits: jobs that it runs after have not ended. Pause…" in said  # it has no place in a line
    assert "Runs after" in said
    assert "batch import" in said
    assert [one["id"] for one in browser.json(f"/s/{s.name}/jobs/{first.id}.json")["next"]] == [last.id]
    assert 'Then runs tests.handlers.note ("last") after waiting' in text_of(
        browser.get(f"/s/{s.name}/jobs/{first.id}")
    )


def test_a_job_after_the_next_run_says_of_which(browser: Browser, s: Schedule) -> None:
    nightly = schedule.add(s, handlers.note, every="day at 2:30am", name="nightly")
    job = schedule.add_now(s, handlers.note, args=["mail"], after="nightly")
    (found,) = browser.json(f"/s/{s.name}/jobs/{job.id}.json")["after"]
    assert (found["id"], found["state"]) == (nightly.id, "waiting")
    assert re.search(r"due (tomorrow|today|at)? ?0?2:30", text_of(browser.get(f"/s/{s.name}/jobs/{job.id}")))


def test_a_recurring_job_lists_the_jobs_that_wait_for_one_of_its_runs(browser: Browser, s: Schedule) -> None:
    nightly = schedule.add(s, handlers.wait_for_gate, every="day at 2:30am", name="nightly")
    page = f"/s/{s.name}/jobs/nightly"
    assert "Then runs" not in text_of(browser.get(page))
    job = schedule.add_now(s, handlers.note, args=["mail"], after="nightly")
    assert 'Then runs tests.handlers.note ("mail") after waiting' in text_of(browser.get(page))
    assert f'href="/s/{s.name}/jobs/{job.id}"' in main_of(browser.get(page))
    assert [(one["id"], one["note"]) for one in browser.json(f"{page}.json")["next"]] == [(job.id, "after")]
    other = schedule.add(s, handlers.note, every="day at 2:30am", name="other")
    assert browser.json(f"/s/{s.name}/jobs/{other.id}.json")["next"] == []
    schedule.skip(s, "nightly")
    schedule.cancel(s, job)
    assert browser.json(f"/s/{s.name}/jobs/{nightly.id}.json")["next"] == []


def test_a_job_that_waits_for_others_or_is_paused_is_not_offered_to_run_now(browser: Browser, s: Schedule) -> None:
    with schedule.batch(s, "import", then=handlers.note, on_success=handlers.note) as batch:
        member = batch.add(handlers.note, in_="1 hour")
    last = schedule.add_now(s, handlers.note, args=["last"], after=member)
    state = batch.state()
    for id in (last.id, state.then, state.on_success):
        answer = browser.get(f"/s/{s.name}/jobs/{id}")
        assert "do/run" not in answer.text
        assert "do/pause" in answer.text
        assert "workkit run" not in answer.text
        assert f"workkit cancel {s.name} {str(id)[:8]}" in answer.text
    assert "do/run" in browser.get(f"/s/{s.name}/jobs/{member.id}").text
    schedule.pause(s, member.id)
    assert "do/run" not in browser.get(f"/s/{s.name}/jobs/{member.id}").text
    said = text_of(act(browser, s, "run", which=last.id))
    assert f"{last.short_id} tests.handlers.note waits: jobs that it runs after have not ended." in said
    assert schedule.job(s, last.id).state == "held"
