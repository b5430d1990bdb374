"""The page of a job that recurs, and its times to come."""

from __future__ import annotations

import html
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests import handlers
from tests.brokers.history.written import write_day
from tests.processes import until
from tests.servers import Server
from tests.web.conftest import Browser, Open, headline, main_of, text_of
from tests.web.recurring_jobs import HOW, one_of_each, overdue
from workkit import schedule
from workkit.brokers.native.history import entry_of
from workkit.brokers.native.keys import Keys
from workkit.contract.history import Day, PastRun
from workkit.jobs.job import Job, JobState
from workkit.schedule import Schedule
from workkit.triggers import parse
from workkit.web.auth import Local
from workkit.web.pages.recurring_job import clocks_of_year, coming_runs, next_clock_change, planned, zone_of_times


def page(browser: Browser, s: Schedule, which: str) -> str:
    return text_of(browser.get(f"/s/{s.name}/jobs/{which}"))


def found(browser: Browser, s: Schedule, which: str) -> Any:
    return browser.json(f"/s/{s.name}/jobs/{which}.json")


def test_one_that_never_ran_says_when_it_will(browser: Browser, s: Schedule) -> None:
    with pytest.warns(UserWarning, match="does not exist"):
        schedule.add(s, handlers.note, args=(7,), every="day at 2:30", tz="Europe/Paris", name="nightly")
    answer = browser.get(f"/s/{s.name}/jobs/nightly")
    assert headline(answer) == "nightly"
    said = text_of(answer)
    for words in (
        "Has not run yet; first", "tests.handlers.note (7)", "Next 20 Paris UTC", "A year Has not run yet", "planned",
        "2:30 does not exist in Paris, clocks go from 2:00 to 3:00. It runs at 3:00.", "its last run still goes on:",
        "both run.", "run once, late.", "if that says nothing, it is dead at once.", "Nobody has changed it",
        'when="every day at 2:30"', "tests.handlers:note 7 \\ --name nightly \\ --tz Europe/Paris",
        f"workkit add {s.name} \\ 'every day at 2:30'",
        '[nightly] fn = "tests.handlers:note" when = "every day at 2:30"',
    ):  # fmt: skip
        assert words in said, words
    assert "Recurring / nightly" in re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.text)).replace("  ", " ")
    for drawing in re.findall(r'<svg[^>]*role="img"[^>]*>', answer.text):
        assert re.search(r'aria-label="[^"]+"', drawing), drawing
    record = found(browser, s, "nightly")
    assert (len(record["upcoming"]), record["runs"], record["days"]) == (20, [], [])
    assert record["plan"].startswith("[nightly]\n")
    assert {one["option"] for one in record["policies"] if one["default"]} == {
        "overlap", "catch_up", "retries", "crashes", "timeout", "limit",
    }  # fmt: skip


def test_what_the_server_was_told_holds(browser: Browser, s: Schedule) -> None:
    schedule.add(
        s, handlers.note, every="hour", name="strict", overlap="skip", catch_up_within="6h", retries=3, base="1min",
        jitter=False, timeout="20min", spread="5min", count=10, priority=2, end=datetime.now(UTC) + timedelta(days=40),
    )  # fmt: skip
    said = page(browser, s, "strict")
    for words in (
        "leave this one out.", "run once, late, but not after 6 h.",
        "up to 3 more attempts, after 1 min, 2 min and 4 min; then it is dead.", "it takes longer than 20 min: end it.",
        "its part of 5 min.", "it has run 10 times: that was its last run.", "it no longer runs.",
        "it starts before those of priority below 2.", "--retries 3", "--no-jitter", 'timeout="20 min"', "Its timeout",
    ):  # fmt: skip
        assert words in said or words == "Its timeout", words


def test_failed_late_and_missed_runs_are_said(browser: Browser, s: Schedule, server: Server) -> None:
    plain = one_of_each(server, s)
    failing = page(browser, s, "failing")
    assert "failed after" in failing
    assert "OSError: disk full." in failing
    assert "It has failed 3 times in a row." in failing
    assert "by hand; OSError: disk full" in failing
    assert "run by hand" in failing
    late = page(browser, s, "late")
    assert "started 1 min 5 s after due." in late
    assert "done, late" in late
    assert "1 started more than" in late
    assert "Late by Runs below" in late, "a histogram has its table"
    missed = page(browser, s, "missed")
    assert "was missed: nobody started it in time." in missed
    assert "missed nobody started it in time" in re.sub(r" +", " ", missed)
    paused = page(browser, s, "paused")
    assert re.search(r'Paused since \S+ until \w+ \d+ \w+ at \S+: "the partner\'s API moves"\.', paused), paused
    assert "Resume" in paused
    assert "It would run next" in paused or "Has not run yet; first" in paused
    assert 'paused: "the partner\'s API moves"' in paused
    assert headline(browser.get(f"/s/{s.name}/jobs/{plain.id[:8]}")) == "every 5 hours"
    assert [one["ending"] for one in found(browser, s, "failing")["runs"]] == ["dead"] * 3


def test_a_run_that_was_left_out_is_struck_through(browser: Browser, s: Schedule) -> None:
    job = schedule.add(s, handlers.note, every="day at 12:00", name="noon")
    assert job.due is not None
    schedule.skip(s, "noon")
    answer = browser.get(f"/s/{s.name}/jobs/noon")
    assert "<del>12:00</del>" in answer.text
    assert "left out by hand" in text_of(answer)
    coming = found(browser, s, "noon")["upcoming"]
    assert [one["left_out"] for one in coming] == [True] + [False] * 19
    assert datetime.fromisoformat(coming[1]["at"]) == job.due + timedelta(days=1)
    assert "next run left out" in text_of(answer)


def test_a_run_that_goes_on_says_where_and_how_far(browser: Browser, s: Schedule, server: Server) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    job = schedule.add(s, handlers.wait_for_gate, every="hour", name="gate")
    overdue(server, s, job, by_ms=0)
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            record = found(browser, s, "gate")
            (said,) = record["running"]
            assert " runs the run due today at " in said
            assert len(record["upcoming"]) == 20
            first = datetime.fromisoformat(record["upcoming"][0]["at"])
            assert first > datetime.now(UTC), "the run that goes on is not to come"
            assert "One runs now." in browser.get(f"/s/{s.name}/jobs/gate").text
            assert record["left_out"] is None, "it would run beside the other"
            handlers.gate.set()
    finally:
        handlers.gate.set()


@pytest.mark.parametrize(
    ("overlap", "waits", "because"), [("skip", 0, "A run of it has not ended."), ("queue", 1, "One run of it waits")]
)
def test_a_run_now_that_would_be_left_out_is_asked_about(
    browser: Browser, s: Schedule, overlap: Any, waits: int, because: str
) -> None:
    handlers.calls.clear()
    handlers.gate.clear()
    schedule.add(s, handlers.wait_for_gate, every="day at 12:00", name="gate", overlap=overlap)
    assert found(browser, s, "gate")["left_out"] is None
    schedule.run(s, "gate")
    try:
        with schedule.listener(s, **HOW):
            until(lambda: handlers.calls == ["begun"], what="the run")
            for _ in range(waits):
                assert found(browser, s, "gate")["left_out"] is None, "it would wait"
                schedule.run(s, "gate")
                until(lambda: schedule.counts(s).held, what="the one that waits")
            assert found(browser, s, "gate")["left_out"].startswith(because)
            text = page(browser, s, "gate")
            assert "Run now…" in text
            assert f'With overlap "{overlap}", a run now is left out' in text
            handlers.gate.set()
    finally:
        handlers.gate.set()


def test_a_year_of_runs_is_drawn(browser: Browser, s: Schedule, server: Server) -> None:
    schedule.add(s, handlers.note, every="day at 12:00", name="noon")
    keys, client = Keys(s.name), server.client()
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=1)
    days = [(noon - timedelta(days=k)).date() for k in range(300, 0, -1)]
    worst: dict[Any, Any] = {days[10]: "dead", days[20]: "missed"}
    client.hset(keys.days, "noon", b"".join(write_day(Day(day=d, runs=1, worst=worst.get(d, "done"))) for d in days))
    ends = [entry_of(int((noon - timedelta(days=k)).timestamp() * 1000), late_ms=4, took_ms=200_000 + k, ending="done")
            for k in range(60)]  # fmt: skip
    client.hset(keys.lately, "noon", write_day(Day(day=noon.date(), runs=1, worst="done")) + bytes(11)
                + b"".join(one.encode() for one in ends))  # fmt: skip
    answer = browser.get(f"/s/{s.name}/jobs/noon")
    said = text_of(answer)
    assert "301 runs on 301 days: 299 done, 1 failed, 1 missed" in said
    assert "1 run, failed" in said, "the days that are drawn by themselves, in words"
    assert "took 3 min 20 s and started 4 ms after due." in said
    assert "Started late last runs" in said, "no cell counts them by themselves"
    assert len(found(browser, s, "noon")["runs"]) == 20
    assert len(answer.content) < 200_000


def test_a_day_of_the_year_leads_to_its_runs(browser: Browser, s: Schedule) -> None:
    schedule.add(s, handlers.note, every="day at 12:00", name="noon & night")
    schedule.run(s, "noon & night")
    schedule.drain(s, imports=["tests.handlers"], folder=None)
    text = browser.get(f"/s/{s.name}/jobs/noon~20&~20night").text
    (path,) = re.findall(r'<a href="([^"]+)" tabindex="-1"><rect[^>]*/><title>[^<]*: 1 run', text)
    listed = browser.json(html.unescape(path).replace("/runs?", "/runs.json?"))
    assert [run["name"] for run in listed["runs"]] == ["noon & night"]
    assert f'href="/s/{s.name}/runs/{listed["runs"][0]["run"]}"' in text


@pytest.mark.parametrize(("history", "says"), [("off", 'history = "off"'), ("counts", 'history = "counts"')])
def test_without_history_the_page_says_so(opened: Open, server: Server, name: str, history: Any, says: str) -> None:
    s = schedule.create(name, redis=server.url, history=history)
    schedule.add(s, handlers.note, every="hour", name="hourly")
    said = page(opened(s), s, "hourly")
    assert says in said
    assert "next times and the last error are" in said
    assert "Next 20" in said


def test_who_may_only_look_has_no_acts_and_sees_no_secret(opened: Open, s: Schedule) -> None:
    schedule.add(s, handlers.note, kwargs={"password": "hunter2"}, every="hour", name="hourly", spread="30min")
    schedule.pause(s, "hourly", reason="token=hunter2")
    viewer, editor = opened(s, way=Local(role="viewer")), opened(s)
    for browser in (viewer, editor):
        for path in ("jobs/hourly", "jobs/hourly.json", "recurring", "recurring.json"):
            assert "hunter2" not in browser.get(f"/s/{s.name}/{path}").text
    main = main_of(viewer.get(f"/s/{s.name}/jobs/hourly"))
    assert "<form" not in main
    assert "new?like=" not in main
    assert f'href="/s/{s.name}/new?like=hourly"' in editor.get(f"/s/{s.name}/jobs/hourly").text
    assert "Cancel hourly? " in page(editor, s, "hourly")
    assert "Cancel…" not in page(opened(s, way=Local(role="operator")), s, "hourly")


NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


def job(words: str, *, tz: str = "Europe/Paris", state: JobState = "waiting", due: datetime | None = None) -> Job:
    return Job(id="1", schedule="s", fn="f", trigger=parse(words, now=NOW, tz=tz), state=state, due=due)


def skipped(due: datetime) -> PastRun:
    return PastRun(id=None, name=None, fn=None, due=due, ended=due, ending="skipped")


def test_the_next_runs_begin_with_the_one_that_stands() -> None:
    due = datetime(2026, 11, 21, 1, 30, tzinfo=UTC)
    found = coming_runs(job("every day at 2:30", due=due), [], offset_ms=0, now=NOW, zone=PARIS)
    assert [(one.day, one.local, one.utc) for one in found[:2]] == [
        ("Tomorrow", "02:30", "01:30"),
        ("Sun 22 Nov", "02:30", "01:30"),
    ]
    assert len(found) == 20


def test_a_day_is_named_once_and_the_other_day_of_utc_is_said() -> None:
    due = datetime(2026, 11, 20, 23, 15, tzinfo=UTC)
    found = coming_runs(job("every 12 hours at :15", due=due), [], offset_ms=0, now=NOW, zone=PARIS, most=3)
    assert (found[0].day, found[0].utc) == ("Tomorrow", "Fri 23:15")
    assert found[1].day == ""


def test_what_was_left_out_stands_in_its_place() -> None:
    due = datetime(2026, 11, 22, 1, 30, tzinfo=UTC)
    ring = [skipped(due - timedelta(days=1)), skipped(NOW - timedelta(days=2))]
    found = coming_runs(job("every day at 2:30", due=due), ring, offset_ms=0, now=NOW, zone=PARIS, most=2)
    assert [(one.at, one.left_out) for one in found] == [(due - timedelta(days=1), True), (due, False)]


def test_an_overdue_run_is_first_and_one_that_goes_on_is_not() -> None:
    due = NOW - timedelta(minutes=5)
    hourly = job("every hour", tz="UTC", state="due", due=due)
    assert coming_runs(hourly, [], offset_ms=0, now=NOW, zone=UTC)[0].at == due
    runs = job("every hour", tz="UTC", state="running", due=due)
    assert coming_runs(runs, [], offset_ms=0, now=NOW, zone=UTC)[0].at == datetime(2026, 11, 20, 11, tzinfo=UTC)


def test_a_spread_puts_every_run_off() -> None:
    due = datetime(2026, 11, 20, 11, 1, 3, tzinfo=UTC)
    found = coming_runs(job("every hour", tz="UTC", due=due), [], offset_ms=63_000, now=NOW, zone=UTC, most=2)
    assert [one.at for one in found] == [due, due + timedelta(hours=1)]


def test_a_job_that_ends_has_fewer() -> None:
    due = datetime(2026, 11, 20, 11, tzinfo=UTC)
    found = coming_runs(job("every hour until 2026-11-20T13:30", tz="UTC", due=due), [], offset_ms=0, now=NOW, zone=UTC)
    assert [one.local for one in found] == ["11:00", "12:00", "13:00"]


def test_changes_of_the_clock() -> None:
    trigger = job("every day at 2:30").trigger
    assert trigger is not None
    found = next_clock_change(trigger, now=NOW)
    assert found is not None
    assert found.says.startswith("Sun 28 March 2027, in 128 runs: 2:30 does not exist in Paris")
    years = clocks_of_year(trigger, now=NOW)
    assert years[date(2026, 3, 29)] == "02:30 did not exist; ran at 03:00"
    assert years[date(2026, 10, 25)] == "02:30 came twice; ran the first time"
    noon = job("every day at 12:00").trigger
    assert noon is not None
    assert next_clock_change(noon, now=NOW) is None
    assert clocks_of_year(noon, now=NOW)[date(2026, 3, 29)] == "Clocks go from 2:00 to 3:00"


def test_planned_days_and_the_zone_of_times() -> None:
    trigger = job("every 12 hours at :00", tz="UTC").trigger
    assert trigger is not None
    found = planned(trigger, now=NOW)
    assert (found[date(2026, 11, 20)], found[date(2026, 11, 21)], max(found)) == (1, 2, date(2026, 12, 20))
    assert zone_of_times(trigger, PARIS) is PARIS
    paris = job("every day at 2:30").trigger
    assert paris is not None
    assert str(zone_of_times(paris, UTC)) == "Europe/Paris"
