from __future__ import annotations

import re
from typing import Any

import msgpack
import pytest

from tests import handlers, logging_handlers, results
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from workkit import schedule
from workkit.brokers.native.keys import Keys
from workkit.schedule import Schedule
from workkit.web.auth import Local

FAR = "2030-01-01T00:00:00Z"
HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None, "threads": 2}


def fails(s: Schedule, times: int, **given: Any) -> str:
    """Add a job that fails, let it fail so often, and give its id."""
    job = schedule.add_now(s, handlers.fail, **given)
    with schedule.listener(s, **HOW):
        until(lambda: len([run for run in schedule.runs(s) if run.id == job.id]) == times, what="the attempts")
    return job.id


def test_a_job_that_waits(browser: Browser, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, at=FAR, args=[7], kwargs={"token": "abc123456"}, retries=2, timeout="2 min")
    answer = browser.get(f"/s/{s.name}/jobs/{job.short_id}")
    assert headline(answer) == 'tests.handlers.note(7, token="••••••")'
    said = text_of(answer)
    assert re.search(r"Runs in .*, Tue 1 Jan 2030 00:00\.", said)
    assert "Retries 2, after 5 s and 10 s" in said
    assert "Timeout 2 min" in said
    assert f"workkit cancel {s.name} {job.short_id}" in said
    assert "What went wrong" not in said
    assert "abc123456" not in answer.text
    for verb in ("run", "pause", "cancel"):
        assert f'action="/s/{s.name}/do/{verb}"' in answer.text
    assert f'href="/s/{s.name}/jobs/{job.id}/edit"' in answer.text
    assert f'href="/s/{s.name}/new?like={job.id}"' in answer.text
    assert "Function tests.handlers.note" in said
    assert (
        answer.text.count('aria-current="true"><svg class="i" aria-hidden="true"><use href="#i-list"/></svg>Jobs') == 2
    )


def test_a_job_that_failed_shows_its_attempts_and_its_error(browser: Browser, s: Schedule) -> None:
    id = fails(s, 1, args=["disk 7 full"], retries=3)
    answer = browser.get(f"/s/{s.name}/jobs/{id}")
    said = text_of(answer)
    assert re.search(
        r"Failed once\. Attempt 2 of 4 is (in \d s, (at|tomorrow) [\d:]+|due)\. If all fail, it is dead at about", said
    )
    assert 'aria-label="Attempt 1 failed in' in answer.text
    assert "OSError disk 7 full" in said
    assert "raise OSError(text)" in said
    assert "Attempt 1." in said
    assert "24 hours: 1 run, 1 failed" in said
    assert f'href="/s/{s.name}/runs?fn=tests.handlers.fail"' in answer.text
    found = browser.json(f"/s/{s.name}/jobs/{id}.json")
    assert [run["attempt"] for run in found["attempts"]] == [1]
    assert (found["job"]["state"], found["sentence"].split(".")[0]) == ("retrying", "Failed once")


def test_a_job_that_died_is_one_record_of_it(browser: Browser, s: Schedule) -> None:
    id = fails(s, 1)
    (dead,) = schedule.jobs(s, state="dead")
    for path in (id, f"{id[:8]}", f"{id}?dead={dead.dead_id}"):
        said = text_of(browser.get(f"/s/{s.name}/jobs/{path}"))
        assert "Failed once. Dead since" in said
        assert f"workkit retry {s.name} {id[:8]}" in said
    gone = browser.get(f"/s/{s.name}/jobs/{id}?dead=other")
    assert gone.status_code == 404
    assert f'href="/s/{s.name}/jobs/{id}"' in gone.text


def test_a_dead_job_names_the_job_that_followed_it(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.create(s.name, redis=server.url, on_failure="tests.handlers:note")
    schedule.add_now(s, handlers.fail)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    (dead,) = schedule.dead(s)
    assert dead.followed_by is not None
    assert f"Followed by {dead.followed_by}" in text_of(browser.get(f"/s/{s.name}/jobs/{dead.id}"))


def test_a_job_that_runs_and_one_that_is_over(browser: Browser, s: Schedule) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    job = schedule.add_now(s, handlers.wait_for_gate, name="digest")
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            said = text_of(browser.get(f"/s/{s.name}/jobs/digest"))
            assert re.search(r"Runs on \S+, due at [\d:]+\.", said)
            handlers.gate.set()
            until(lambda: bool(schedule.runs(s)), what="the end")
    finally:
        handlers.gate.set()
    for which in (job.id, "digest", job.id[:7]):
        answer = browser.get(f"/s/{s.name}/jobs/{which}")
        assert re.search(r"Done at [\d:]+, after ", text_of(answer)), which
        assert "do/cancel" not in answer.text


def test_a_job_that_is_over_has_the_arguments_that_history_keeps(browser: Browser, s: Schedule) -> None:
    short = schedule.add_now(s, handlers.note, args=[7], kwargs={"token": "abc123456"})
    long = schedule.add_now(s, handlers.note, args=["x" * 2000])
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    assert 'Arguments 7, token="••••••"' in text_of(browser.get(f"/s/{s.name}/jobs/{short.id}"))
    answer = browser.get(f"/s/{s.name}/jobs/{long.id}")
    assert headline(answer) == "tests.handlers.note(...)"
    assert "Arguments not kept" in text_of(answer)
    assert browser.json(f"/s/{s.name}/jobs/{long.id}.json")["job"]["args_kept"] is False


def test_what_a_run_has_logged_is_shown_masked(opened: Open, s: Schedule) -> None:
    job = schedule.add_now(s, "tests.logging_handlers:secret", kwargs={"password": "abc123456"})
    schedule.add(s, "tests.logging_handlers:secret", every="hour", name="hourly", kwargs={"password": "abc123456"})
    schedule.run(s, "hourly")
    schedule.drain(s, imports=["tests.logging_handlers"], folder=None, raise_errors=False)
    (place,) = [run.place for run in schedule.runs(s) if run.id == job.id]
    for how in ({}, {"read_only": True, "mask_all": True}):
        browser = opened(s, **how)
        for path in (f"jobs/{job.id}", f"runs/{place}", "jobs/hourly"):
            answer = browser.get(f"/s/{s.name}/{path}")
            assert "hunter2" not in answer.text
            assert "abc123456" not in answer.text
            assert ("WARNING shop: login with token=•••••• of ••••••" in text_of(answer)) == (not how), path
            (line,) = browser.json(f"/s/{s.name}/{path}.json")["log"]
            assert line == "••••••" if how else line.endswith("token=•••••• of ••••••")


def test_the_lines_of_a_run_in_progress_are_shown(browser: Browser, s: Schedule) -> None:
    logging_handlers.gate.clear()
    try:
        with schedule.listener(s, imports=["tests.logging_handlers"], folder=None):
            job = schedule.add_now(s, logging_handlers.warn_and_wait)
            until(lambda: schedule.log(s, job), what="the lines")
            assert "WARNING shop: <b>halfway</b>" in text_of(browser.get(f"/s/{s.name}/jobs/{job.id}"))
            logging_handlers.gate.set()
    finally:
        logging_handlers.gate.set()


def test_no_such_job_and_several(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, at=FAR, name="nightly")
    answer = browser.get(f"/s/{s.name}/jobs/nightli")
    assert answer.status_code == 404
    assert f'href="/s/{s.name}/jobs/nightly"' in answer.text
    client, keys = server.client(), Keys(s.name)
    ids = ["abcdef0" + "0" * 33, "abcdef1" + "0" * 33]
    for id in ids:
        client.hset(keys.jobs, id, b"{}")
    answer = browser.get(f"/s/{s.name}/jobs/abcdef")
    assert answer.status_code == 404
    assert headline(answer) == '"abcdef" is the beginning of 2 jobs; give more characters.'
    assert all(f'href="/s/{s.name}/jobs/{id}"' in answer.text for id in ids)
    assert browser.get(f"/s/{s.name}/jobs/abcdef.json").json()["ids"] == ids


def test_a_kept_result_is_shown_masked(opened: Open, s: Schedule) -> None:
    job = schedule.add_now(s, handlers.note, keep="1 hour")
    said = text_of(opened(s).get(f"/s/{s.name}/jobs/{job.id}"))
    assert "Result none yet; kept for 1 h" in said
    over = schedule.add_now(s, results.echo, args=[{"sent": 7, "token": "abc123456"}], keep="1 hour")
    schedule.drain(s, imports=["tests.results"], folder=None)
    for how in ({}, {"read_only": True, "mask_all": True}):
        answer = opened(s, **how).get(f"/s/{s.name}/jobs/{over.id}")
        assert "abc123456" not in answer.text
        assert ('Result {"sent": 7' in text_of(answer)) == (not how), text_of(answer)


def test_a_held_job_says_its_place_in_the_line(browser: Browser, s: Schedule, server: Server) -> None:
    client, keys = server.client(), Keys(s.name)
    ids = [f"{n:040x}" for n in range(1, 4)]
    for n, id in enumerate(ids):
        client.hset(keys.jobs, id, b'{"args":[],"cron":"2030 1 1 * 9 0 0","job":"#\'app\\/note"}')
        entry = b'o 1000 0 0 g2*fn:app.note {"id":"%s"}' % id.encode()
        client.zadd(keys.waiting, {b"fn:#'app/note\0%016d\0%s@1000\0" % (1000 + n, id.encode()) + entry: 0})
    said = text_of(browser.get(f"/s/{s.name}/jobs/{ids[2]}"))
    assert "Waits: app.note is at its limit of 2. 3rd in line." in said


@pytest.mark.parametrize("payload", [b"\xff{", b"{}", b'{"args":["\\u202e<hr>"],"job":"x","cron":"no"}'])
def test_a_record_that_cannot_be_read_is_a_page_that_says_so(
    browser: Browser, s: Schedule, server: Server, payload: bytes
) -> None:
    client, keys = server.client(), Keys(s.name)
    id = "ab" * 20
    client.hset(keys.jobs, id, payload)
    client.zadd(keys.next, {f'{{"id":"{id}"}}': 1})
    client.zadd(keys.dead, {"grave": 5})
    client.hset(keys.graves, "grave", msgpack.packb({"id": id.encode(), "error": ["<hr>", 7]}))
    for path in (id, f"{id}?dead=grave", f"{id}.json"):
        answer = browser.get(f"/s/{s.name}/jobs/{path}")
        assert answer.status_code == 200, path
        assert "<hr>" not in answer.text or path.endswith("json")
        assert "\u202e" not in answer.text


def test_a_dead_job_is_discarded_or_runs_with_other_arguments(opened: Open, s: Schedule) -> None:
    schedule.add_now(s, handlers.fail, kwargs={"text": "a"}, name="broken", retries=0)
    schedule.drain(s, imports=["tests.handlers"], folder=None, raise_errors=False)
    (dead,) = schedule.jobs(s, state="dead")
    path = f"/s/{s.name}/jobs/{dead.id}"
    answer = opened(s).get(path)
    assert f'action="/s/{s.name}/do/discard"' in answer.text
    assert "{&#34;text&#34;: &#34;a&#34;}</textarea>" in answer.text
    assert "Copy the id" in text_of(answer)
    operator = opened(s, way=Local(role="operator")).get(path).text
    assert "do/retry" in operator
    assert "do/discard" not in operator
    assert "do/change-arguments" not in operator


def test_long_arguments_are_folded(browser: Browser, s: Schedule) -> None:
    """The page shows the first 2,000 characters, and all of them once they are asked for."""
    long = "".join(f"{n:06} " for n in range(20_000))
    huge = browser.get(f"/s/{s.name}/jobs/{schedule.add(s, handlers.note, in_='1 hour', args=[long]).id}")
    assert "Show the first 64,000 characters" in text_of(huge)
    long = long[:35_000]
    id = schedule.add(s, handlers.note, in_="1 hour", args=[long]).id
    answer = browser.get(f"/s/{s.name}/jobs/{id}")
    shown = re.sub(r"<details.*?</details>", "", answer.text, flags=re.DOTALL)
    assert "000280" in shown
    assert "000290" not in shown
    assert "004999" in answer.text
    assert "Show all 35,002 characters" in text_of(answer)
    short = browser.get(f"/s/{s.name}/jobs/{schedule.add(s, handlers.note, in_='1 hour', args=['short']).id}")
    assert "Show all" not in short.text
