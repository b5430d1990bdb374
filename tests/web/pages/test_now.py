"""The page Now: its sentences, the time around now, and the runs in progress."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import handlers
from tests.brokers.checkups import payload
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, text_of
from tests.web.recurring_jobs import overdue
from workkit import schedule
from workkit.brokers.native.history import entry_of
from workkit.brokers.native.keys import Keys
from workkit.contract.history import PastRun
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.schedule import Schedule
from workkit.web.pages.now import Running, running_jobs
from workkit.web.words import job_path

HOW: dict[str, Any] = {"imports": ["tests.handlers"], "folder": None}


def test_an_empty_schedule_shows_the_first_steps(browser: Browser, s: Schedule) -> None:
    answer = browser.get(f"/s/{s.name}/")
    assert answer.status_code == 200
    assert headline(answer) == f"Nothing in {s.name} yet, and nobody listens."
    assert "Or try words here" in text_of(answer)
    assert f"workkit listen {s.name}" in answer.text
    assert f'<form action="/s/{s.name}/say"' in answer.text  # the third step: words to try


def test_a_schedule_without_listeners_says_so_first(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, args=(1,), in_="1 hour", name="nightly")
    answer = browser.get(f"/s/{s.name}/")
    assert headline(answer) == "Nobody listens."
    assert "nightly" in text_of(answer)
    assert "59 min" in text_of(answer) or "1 h" in text_of(answer)


def test_a_schedule_whose_jobs_run_is_on_time(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note, args=(1,))
    with schedule.listener(s, **HOW):
        answer = browser.get(f"/s/{s.name}/")
        assert headline(answer) == "All on time."
        assert "Nothing needs you." in text_of(answer)


def test_a_run_is_told_beside_the_last_ones_of_its_job(browser: Browser, s: Schedule, server: Server) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    job = schedule.add(s, handlers.wait_for_gate, every="2 hours", name="gate", overlap="skip")
    ended = int(server.client().time()[0]) * 1000
    ring = (entry_of(ended - k, late_ms=4, took_ms=10_000 + k, ending="dead").encode() for k in range(60))
    server.client().hset(Keys(s.name).lately, "gate", bytes(16) + b"".join(ring))
    overdue(server, s, job, by_ms=65_000)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            (run,) = browser.json(f"/s/{s.name}.json")["running"]
            assert (run["usual_ms"], run["p95_ms"], run["done"]) == (10_029, 10_056, None)
            assert run["for_ms"] >= 65_000
            text = text_of(browser.get(f"/s/{s.name}/"))
            assert "· usually 10" in text
            assert "1 min" in text
            assert "longer than ever" in text
            assert 'A run of it has not ended. With overlap "skip", a run now is left out.' in text
            assert "Run now…" in text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_jobs_past_their_deadline_need_somebody(browser: Browser, s: Schedule, server: Server) -> None:
    jobs = [schedule.add(s, handlers.note, at="tomorrow 6am", within="2h", name=f"job {n}") for n in range(5)]
    assert "deadline" not in text_of(browser.get(f"/s/{s.name}/"))
    assert "Deadline" in text_of(browser.get(f"/s/{s.name}/{job_path(jobs[0].id)}"))
    server.client().zadd(Keys(s.name).deadlines, {job.id: 1_000 + n for n, job in enumerate(jobs)})
    found = browser.json(f"/s/{s.name}.json")
    assert len(found["counts"]["past_deadline"]) == 5
    said = [one["sentence"] for one in found["needs"]]
    assert "job 0 is past its deadline Thu 1 Jan 1970 at 00:00:01." in said
    assert "2 more jobs are past their deadline, or cannot meet it." in said
    assert "A run is past its deadline, Thursday 1 January 1970" in text_of(
        browser.get(f"/s/{s.name}/{job_path(jobs[0].id)}")
    )


def test_a_recurring_job_shows_its_deadline_and_that_it_is_late(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, every="day at 6am", done_by="8am", name="nightly")
    path = f"/s/{s.name}/{job_path('nightly')}"
    assert re.search("Its next run should have ended .*at 08:00", text_of(browser.get(path)))
    client, key = server.client(), Keys(s.name).deadlines
    client.zadd(key, dict.fromkeys(client.zrange(key, 0, -1), 1_000))
    text = text_of(browser.get(path))
    assert "A run is past its deadline, Thursday 1 January 1970" in text
    assert "it has not ended at its deadline, every day at 8:00 UTC: it is late, and reported." in text


def test_a_pause_is_the_headline(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="1 hour")
    schedule.pause(s, reason="migration")
    found = browser.json(f"/s/{s.name}.json")
    assert [need["sentence"] for need in found["needs"]] == [
        "Nobody listens.",
        f'{s.name} is paused: "migration". 1 job waits.',
    ]


def test_what_a_checkup_found_needs_somebody_and_is_not_the_headline(
    browser: Browser, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.01)
    id, data = payload()
    server.client().hset(f"{s.name}:jobs", id, data)
    with schedule.listener(s, **HOW):
        until(lambda: browser.json(f"/s/{s.name}/doctor.json?older_than=1s")["is_over"], what="the checkup")
        found = browser.json(f"/s/{s.name}.json")
        assert found["sentence"] == "All on time."
        (fault,) = (need for need in found["needs"] if id[:8] in need["sentence"])
        assert fault["why"]


def test_a_function_that_each_listener_gave_back_is_named(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, "gone:away")
    with schedule.listener(s, **HOW):

        def said() -> bool:
            found = browser.json(f"/s/{s.name}.json")
            said = [need["sentence"] for need in found["needs"] if "gone.away" in need["sentence"]]
            return said == ["No listener can run gone.away."] or bool(
                len(said) == 1 and re.fullmatch(r"1 job is overdue by \d+ s: no listener can run gone\.away\.", said[0])
            )

        def checked() -> bool:
            browser.post(f"/s/{s.name}/do/checkup", {"token": token})
            return said()

        browser.get(f"/s/{s.name}/doctor")
        token = browser.token(f"/s/{s.name}/doctor")
        until(checked, what="the sentence")


def test_a_silent_listener_needs_somebody(browser: Browser, s: Schedule, server: Server) -> None:
    keys = Keys(s.name)
    client = server.client()
    with schedule.listener(s, **HOW):
        (name,) = client.zrange(keys.listeners, 0, -1)
        info = client.hget(keys.running(name.decode()), "info")
    assert info is not None
    client.zadd(keys.listeners, {name: int(client.time()[0]) * 1000 - 7_000})
    client.hset(keys.running(name.decode()), "info", info)
    (said,) = (need["sentence"] for need in browser.json(f"/s/{s.name}.json")["needs"] if "silent" in need["sentence"])
    assert re.match(rf"{re.escape(name.decode())} has been silent for [789] s\b", said)  # it is dead after 10 s


def test_jobs_that_wait_for_their_turn_of_a_rate_are_held(browser: Browser, s: Schedule) -> None:
    ids = {schedule.add_now(s, handlers.rare).id for _ in range(4)}
    schedule.drain(s, **HOW)
    text = text_of(browser.get(f"/s/{s.name}/"))
    assert "3 held by a limit or a rate" in text
    assert "0 to be tried again" in text
    now = browser.json(f"/s/{s.name}/.json")
    assert (now["counts"]["held"], now["counts"]["retrying"]) == (3, 0)
    listed = browser.json(f"/s/{s.name}/jobs.json?state=held")["jobs"]
    assert {job["id"] for job in listed} < ids
    assert {job["why"] for job in listed} == {"tests.handlers.rare is held by its rate 1/minute"}
    assert len(browser.json(f"/s/{s.name}/jobs.json?q=state:held")["jobs"]) == 3
    page = text_of(browser.get(f"/s/{s.name}/jobs/{listed[1]['id']}"))
    assert "held by its rate 1/minute. 2nd in line. Its turn comes in about 1 min" in page


def needs_of(browser: Browser, s: Schedule) -> list[str]:
    return [need["sentence"] for need in browser.json(f"/s/{s.name}.json")["needs"]]


def test_the_strip_counts_what_ran_and_what_is_planned(browser: Browser, s: Schedule) -> None:
    for n in range(3):
        schedule.add_now(s, handlers.note, args=(n,), unique=False)
    schedule.add_now(s, handlers.fail, retries=0)
    schedule.drain(s, raise_errors=False, **HOW)
    schedule.add(s, handlers.note, in_="20 minutes")
    schedule.add(s, handlers.note, args=(1,), in_="2 hours")
    found = browser.json(f"/s/{s.name}.json")
    assert (found["ran"], found["planned"]) == (4, 1)
    assert sum(minute["failed"] for minute in found["strip"]) == 1
    assert len(found["strip"]) == 121
    answer = browser.get(f"/s/{s.name}/")
    assert "4 runs past, 1 planned" in text_of(answer)
    assert "4 ran, 1 of them failed" in answer.text


def test_each_minute_leads_to_its_place_on_the_timeline(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, in_="20 minutes")
    links = re.findall(r'<a href="([^"]*timeline\?[^"]*)" tabindex="-1">', browser.get(f"/s/{s.name}/").text)
    assert len(links) == 121
    assert browser.get(links[0].replace("&amp;", "&")).status_code == 200


def test_the_lateness_of_a_day_is_drawn(browser: Browser, s: Schedule) -> None:
    schedule.add_now(s, handlers.note)
    assert schedule.drain(s, **HOW).ran == 1
    answer = browser.get(f"/s/{s.name}/")
    assert "Lateness in the last 24 hours: half of all starts under" in answer.text
    assert "half under" in text_of(answer)


def test_ten_deaths_of_one_error_need_somebody(browser: Browser, s: Schedule) -> None:
    for n in range(10):
        schedule.add_now(s, handlers.fail, args=(f"no space on /dev/{n}",), retries=0)
    schedule.add_now(s, handlers.discard)
    schedule.drain(s, raise_errors=False, **HOW)
    (died,) = (one for one in needs_of(browser, s) if "died" in one)
    assert re.fullmatch(r"10 jobs died of one error since \d\d:\d\d(:\d\d)?\.", died)
    assert "OSError: no space on /dev/" in text_of(browser.get(f"/s/{s.name}/"))


def test_nine_deaths_of_one_error_do_not(browser: Browser, s: Schedule) -> None:
    for n in range(9):
        schedule.add_now(s, handlers.fail, args=(f"no space on {n}",), retries=0)
    schedule.add_now(s, handlers.fail, args=("another error",), retries=0)
    schedule.drain(s, raise_errors=False, **HOW)
    assert not [one for one in needs_of(browser, s) if "died" in one]


def test_a_herd_needs_somebody(opened: Open, browser: Browser, s: Schedule) -> None:
    at = datetime.now(UTC) + timedelta(minutes=25)
    for n in range(55):
        schedule.add(s, handlers.slow, args=(0.1 + n / 1e6,), cron=f"{at.minute} {at.hour} * * *", name=f"n{n}")
    with schedule.listener(s, threads=2, **HOW):
        assert needs_of(browser, s) == []  # nobody knows how long they take
    for n in range(55):
        schedule.run(s, f"n{n}")
    with schedule.listener(s, threads=55, **HOW):
        until(lambda: sum(run.times for run in schedule.runs(s)) >= 55)
    with schedule.listener(s, threads=1, **HOW):
        (herd,) = needs_of(opened(s), s)  # a new process, which has kept nothing
    assert re.fullmatch(r"55 jobs are due at one second, (tomorrow )?\d\d:\d\d\.", herd)


def test_what_a_layout_does_not_tell_is_left_out(server: Server, name: str, opened: Open) -> None:
    s = schedule.create(name, redis=server.url, layout="gocraft")
    schedule.add(s, "note", in_="20 minutes")
    answer = opened(s).get(f"/s/{name}/")
    assert "1 planned" in text_of(answer)
    assert "runs past" not in text_of(answer)
    assert headline(answer) == "Nobody listens."


NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


def ring(*took_ms: int) -> list[PastRun]:
    ran = [PastRun(id=None, name=None, fn=None, due=NOW, ended=NOW, ending="done", took_ms=ms) for ms in took_ms]
    return [*ran, PastRun(id=None, name=None, fn=None, due=NOW, ended=NOW, ending="missed")]


def one(for_ms: int, runs: Sequence[PastRun] = (), progress: Any = None) -> Running:
    job = Job(id="1", schedule="s", fn="f", name="nightly", state="running", due=NOW - timedelta(milliseconds=for_ms),
              progress=progress)  # fmt: skip
    info = ListenerInfo(listener="a", host="a", pid=1, version="1", schedules={}, threads=1, running=(job,))
    (found,) = running_jobs([info], {"nightly": runs}, now=NOW, most=5)
    return found


@pytest.mark.parametrize(
    ("for_ms", "took_ms", "is_long", "is_longest"),
    [
        (90_000, (60_000,) * 20, False, False),
        (121_000, (60_000,) * 20, True, True),
        (121_000, (60_000,) * 59 + (200_000,), True, False),
        (202_000, (60_000,) * 59 + (200_000,), True, True),
        (900, (1,) * 20, False, False),  # it may have begun so late
        (10**9, (), False, False),
    ],
)
def test_a_run_is_long_by_the_last_runs_of_its_job(
    for_ms: int, took_ms: tuple[int, ...], is_long: bool, is_longest: bool
) -> None:
    found = one(for_ms, ring(*took_ms))
    assert (found.is_long, found.is_longest) == (is_long, is_longest)
    assert found.usual_ms == (60_000 if 60_000 in took_ms else 1 if took_ms else None)


@pytest.mark.parametrize(
    ("progress", "for_ms", "done"),
    [
        ((340, 1000), 84_000, "10:19:00"),  # 163 s to go
        ((500, 1000), 15_000, "10:15:50"),
        ((1000, 1000), 84_000, None),
        ((0, 1000), 84_000, None),
        ((1, 1e300), 84_000, None),
        ((float("nan"), 2), 84_000, None),
        ((-1, 2), 84_000, None),
        ("segment 3 of 8", 84_000, None),
        (None, 84_000, None),
    ],
)
def test_progress_tells_when_a_run_is_done(progress: Any, for_ms: int, done: str | None) -> None:
    at = one(for_ms, progress=progress).done_at
    assert (None if at is None else f"{at:%H:%M:%S}") == done


def test_the_first_one_due_is_first_and_what_has_no_time_last() -> None:
    jobs = [Job(id=str(n), schedule="s", fn="f", state="running", due=due) for n, due in enumerate((None, NOW))]
    info = ListenerInfo(listener="a", host="a", pid=1, version="1", schedules={}, threads=1, running=tuple(jobs))
    found = running_jobs([info, info], {}, now=NOW, most=3)
    assert [(each.job.id, each.for_ms) for each in found] == [("1", 0), ("1", 0), ("0", None)]


def wiped(s: Schedule, server: Server) -> None:
    """Take all keys of a schedule away, as a server does that came back without its data."""
    client = server.client()
    client.delete(*client.scan_iter(f"*{s.name}*", count=1000))


def test_recurring_jobs_that_the_server_no_longer_has_are_gone(
    opened: Open, s: Schedule, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until they are back. One that was cancelled, and one whose end has come, is not gone."""
    monkeypatch.setattr("workkit.web.cache.NAMED_S", 0.0)
    browser = opened(s, schedule.create(f"{s.name}-2", redis=server.url))
    for name in ("a", "b", "c", "d"):
        schedule.add(s, handlers.note, every="day at 9am", name=name)
    schedule.add(s, handlers.note, every="day at 9am", count=1, name="counted")
    for path in ("/", f"/s/{s.name}/"):
        assert "gone" not in text_of(browser.get(path))
    schedule.cancel(s, "d")
    assert "gone" not in text_of(browser.get(f"/s/{s.name}/"))
    wiped(s, server)
    assert re.fullmatch(r"3 recurring jobs are gone since \d\d:\d\d\.", headline(browser.get(f"/s/{s.name}/")))
    need = browser.json(f"/s/{s.name}.json")["needs"][0]
    assert need["tone"] == "fail"
    assert need["why"].startswith("The server no longer has them, and nobody has cancelled them.")
    assert "3 recurring jobs are gone since" in text_of(browser.get("/"))
    schedule.add(s, handlers.note, every="day at 9am", name="a")
    schedule.add(s, handlers.note, every="day at 9am", name="b")
    assert headline(browser.get(f"/s/{s.name}/")).startswith("1 recurring job is gone since")
    schedule.add(s, handlers.note, every="day at 9am", name="c")
    assert headline(browser.get(f"/s/{s.name}/")) == "Nobody listens."
