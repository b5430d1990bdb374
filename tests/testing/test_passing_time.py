"""Time passes in a test: what recurs runs at each of its times, further attempts after their pauses."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.plans import OLD, imported, write
from tests.processes import until
from tests.testing import jobs
from workkit import call, events, schedule
from workkit.brokers.connect import open_brokers
from workkit.contract.listener import ListenerInfo
from workkit.errors import CannotRun, InvalidOptions, JobTimeout, PhraseError, Unsupported, WorkkitWarning
from workkit.testing import Workkit
from workkit.worker import drain


@pytest.fixture(autouse=True)
def _fresh() -> None:
    jobs.calls.clear()
    jobs.failures.clear()


@pytest.fixture
def s() -> schedule.Schedule:
    return schedule.create("app-tasks", redis="redis://nowhere.invalid:1/", tz="Europe/Paris")


def asked(url: str) -> int:
    """How many scripts the server has run."""
    with closing(redis.Redis.from_url(url)) as client:
        stats: Any = client.info("commandstats")
        return int(stats["cmdstat_evalsha"]["calls"])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_daily_job_keeps_its_wall_clock_over_a_clock_change(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    assert wk.now == at("2026-03-27 07:00")
    schedule.add(s, jobs.note, every="day at 9am")
    ran = wk.run_until("2026-04-01 10:00")
    assert [run.at for run in ran] == [
        at("2026-03-27 08:00"), at("2026-03-28 08:00"), at("2026-03-29 07:00"), at("2026-03-30 07:00"),
        at("2026-03-31 07:00"), at("2026-04-01 07:00"),
    ]  # fmt: skip
    assert {(run.ending, run.fn, run.at == run.job.due) for run in ran} == {("done", "tests.testing.jobs.note", True)}
    assert wk.now == at("2026-04-01 08:00")


def test_what_waits_for_the_night_runs_in_the_moment_of_it(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    schedule.add(s, jobs.note, every="day at 4am", name="nightly", args=["night"])
    with schedule.batch(s, "mails", then=call(jobs.note, "all sent")) as batch:
        batch.add(jobs.note, args=["mail"], after="nightly")
    schedule.chain(s, [call(jobs.note, word) for word in ("one", "two")])
    ran = wk.run_until("2026-03-28 12:00")
    assert [run.job.args[0] for run in ran] == ["one", "two", "night", "mail", "all sent"]
    assert {run.at for run in ran[:2]} == {at("2026-03-27 07:00")}
    assert {run.at for run in ran[2:]} == {at("2026-03-28 03:00")}
    assert batch.state().state == "done"


@pytest.mark.parametrize("words", ["5 minutes", "day at 10am"])
def test_a_planned_job_that_is_due_in_the_moment_of_the_sync_has_its_next_time(
    wk: Workkit, s: schedule.Schedule, words: str, tmp_path: Path
) -> None:
    wk.travel("2026-03-27 10:00", tz="Europe/Paris")
    planned = f'@s.every("{words}", name="stock")\ndef poll(): ...\n'
    with imported(write(tmp_path, "planning_tests", planned, schedule=s.name, written=OLD)):
        plan = schedule.sync(s)
    (job,) = schedule.jobs(s)
    assert (job.name, job.due) == ("stock", plan.after["stock"].due)
    assert job.due == wk.now + (timedelta(minutes=5) if words == "5 minutes" else timedelta(days=1))
    assert [one.id for one in wk.added] == [job.id]


def test_a_time_that_the_clocks_leave_out_runs_when_they_have_gone_forward(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00", tz="Europe/Paris")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schedule.add(s, jobs.note, every="day at 2:30am")
    ran = wk.run_until("2026-03-30 10:00")
    assert [run.at for run in ran] == [at("2026-03-28 01:30"), at("2026-03-29 01:00"), at("2026-03-30 00:30")]


def test_a_year_of_a_daily_job_takes_a_few_requests_for_each_day(
    wk: Workkit, wk_server: str, s: schedule.Schedule
) -> None:
    wk.travel("2026-03-27 12:00")
    schedule.add(s, jobs.note, every="day at 9am", name="daily")
    before = asked(wk_server)
    assert len(wk.run_until(timedelta(days=365))) == 365
    assert asked(wk_server) - before < 365 * 6
    days = schedule.history(s, over="31 days", each="day")
    assert [bucket.cell.done for bucket in days] == [1] * len(days), "each run is counted on its own day"


def test_a_further_attempt_runs_after_its_pause(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    jobs.failures.append(OSError("disk full"))
    schedule.add_now(s, jobs.shaky)
    ran = wk.run_until("2026-03-30 08:00", raise_errors=False)
    assert [(run.at, run.ending) for run in ran] == [
        (at("2026-03-27 08:00"), "failed"),
        (at("2026-03-28 08:00"), "done"),
    ]
    assert isinstance(ran[0].error, OSError)


def test_an_error_of_a_handler_is_raised_and_the_clock_stands_where_it_happened(
    wk: Workkit, s: schedule.Schedule
) -> None:
    wk.travel("2026-03-27 08:00")
    schedule.add(s, jobs.broken, in_="2 hours")
    with pytest.raises(OSError, match="disk full"):
        wk.run_until("2026-03-30 08:00")
    assert wk.now == at("2026-03-27 10:00")
    assert [run.ending for run in wk.ran] == ["dead"]
    assert schedule.counts(s).dead == 1


def test_a_function_that_may_not_run_is_an_error(wk: Workkit, s: schedule.Schedule) -> None:
    schedule.add_now(s, "nowhere:send")
    with pytest.raises(CannotRun, match=r"nowhere\.?:?send"):
        wk.run_due()
    assert wk.run_due(raise_errors=False) == []


def test_what_has_become_due_by_travelling_runs_late_and_once(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    schedule.add(s, jobs.tell_start, every="day at 9am")
    wk.travel("2026-03-30 12:00", tz="Europe/Paris")
    assert [run.at for run in wk.run_due()] == [at("2026-03-30 10:00")]
    assert [started for started, _ in jobs.calls] == [at("2026-03-30 10:00")]
    assert wk.run_until(timedelta(hours=1)) == []


def test_changes_and_results_bear_the_time_of_the_test(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2036-03-27 08:00")
    schedule.add(s, jobs.note, every="hour", catch_up="skip", name="hourly")
    schedule.pause(s, "hourly", by="test")
    wk.travel(timedelta(hours=3, minutes=1))
    schedule.resume(s, "hourly", by="test")
    wk.run_due()
    assert [change.at for change in schedule.changes(s)] == [at("2036-03-27 11:01"), at("2036-03-27 08:00")]
    kept = schedule.add_now(s, jobs.double, args=[21])
    wk.run_due()
    assert schedule.result(s, kept, wait=None) == 42
    wk.travel("2026-03-27 08:00")
    schedule.add_now(s, jobs.note)
    wk.run_due()
    assert len(schedule.runs(s)) == 2, "the clock may go back"


def test_a_pause_ends_at_its_time(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    schedule.pause(s, until="2026-03-27 12:00")  # in Paris
    schedule.add_now(s, jobs.note)
    assert wk.run_due() == []
    assert [run.at for run in wk.run_until("2026-03-27 20:00")] == [at("2026-03-27 11:00")]


def test_what_a_dead_listener_held_is_taken_over(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    schedule.add_now(s, jobs.note)
    (dead,) = open_brokers("app-tasks", redis=None)
    dead.register(ListenerInfo(listener="", host="", pid=0, version="", schedules={"app-tasks": 1}, threads=1))
    assert len(dead.claim(1).claims) == 1
    (ran,) = wk.run_until("2026-03-28 08:00")
    assert timedelta(seconds=5) <= ran.at - at("2026-03-27 08:00") <= timedelta(seconds=12)


def test_schedules_run_in_the_order_of_time_and_new_ones_join(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    other = schedule.create("other", shards=3)
    schedule.add(s, jobs.pass_on, at="2026-03-27 12:00 UTC", args=["third"])
    schedule.add_many(
        other, [{"fn": jobs.note, "at": f"2026-03-27 {hour}:30 UTC", "args": [hour]} for hour in (11, 12, 14)]
    )
    assert [run.at for run in wk.run_until("2026-03-28 08:00")] == [
        at("2026-03-27 11:30"), at("2026-03-27 12:00"), at("2026-03-27 12:30"), at("2026-03-27 13:00"),
        at("2026-03-27 14:30"),
    ]  # fmt: skip
    assert jobs.calls == [(11,), (12,), ("passed on",), (14,)]


def test_a_listener_in_threads_of_its_own_follows_the_clock(wk: Workkit, s: schedule.Schedule) -> None:
    wk.travel("2026-03-27 08:00")
    schedule.add(s, jobs.tell_start, in_="72 hours")
    with schedule.listener(s, imports=["tests.testing"], folder=None, threads=1):
        wk.travel("2026-03-30 08:00")
        until(lambda: jobs.calls, what="the run")
    assert jobs.calls == [(at("2026-03-30 08:00"), timedelta())]


def test_a_frozen_clock_stands_still(wk: Workkit) -> None:
    before = wk.now
    wk.freeze()
    first = wk.now
    assert before <= first <= before + timedelta(minutes=1)
    assert wk.now == first
    wk.travel(timedelta(days=-2))
    assert wk.now == first - timedelta(days=2)


@pytest.mark.parametrize(
    "fn", [jobs.wait_for_another, jobs.wait_for_its_result, jobs.wait_for_another_async, jobs.sleep_long]
)
def test_a_handler_that_waits_for_other_jobs_fails_with_its_line(
    wk: Workkit, s: schedule.Schedule, fn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drain, "STANDING_MS", 300)
    schedule.add_now(s, fn, args=[s.name])
    said = rf"tests\.testing\.jobs\.{fn.__name__} has not ended after 0\.3 s, and waits at jobs\.py:\d+\. The time of"
    with pytest.raises(JobTimeout, match=said):
        wk.run_until(timedelta(hours=1))
    assert signal.getsignal(signal.SIGURG) is signal.SIG_DFL
    (dead,) = schedule.dead(s)
    assert dead.failure is not None
    assert f"in {fn.__name__}\n" in dead.failure.traceback


def test_a_job_lets_no_time_pass(wk: Workkit, s: schedule.Schedule) -> None:
    jobs.hooks.append(lambda: wk.run_until(timedelta(hours=1)))
    schedule.add_now(s, jobs.call_hook)
    with pytest.raises(InvalidOptions, match="a job that runs cannot let time pass"):
        wk.run_due()
    assert schedule.counts(s).dead == 1


def test_time_does_not_pass_backwards(wk: Workkit) -> None:
    wk.travel("2026-03-27 08:00")
    with pytest.raises(InvalidOptions, match=r"2026-03-26 08:00:00 UTC has passed: it is 2026-03-27 08:00:00 UTC"):
        wk.run_until("2026-03-26 08:00")
    with pytest.raises(PhraseError, match="does not exist in Europe/Paris"):
        wk.travel("2026-03-29 02:30", tz="Europe/Paris")


@pytest.mark.parametrize(("layout", "more"), [("gocraft", {}), ("hutch", {"amqp": "amqp://nowhere.invalid/"})])
def test_other_layouts_are_refused(wk: Workkit, layout: str, more: dict[str, str]) -> None:
    s = schedule.create("app-tasks", layout=layout, **more)  # type: ignore[arg-type]
    with pytest.raises(Unsupported, match=f"layout='{layout}' has no test clock"):
        schedule.counts(s)
    with pytest.raises(Unsupported, match=f"layout='{layout}' has no test clock"):
        schedule.drain(s)


def test_a_test_leaves_no_key_and_no_subscriber(wk_server: str) -> None:
    s, heard = schedule.create("app-tasks", redis=wk_server), len(events._subscribers)
    with Workkit(wk_server) as wk:
        wk.travel("2026-03-27 08:00")
        schedule.add(s, jobs.note, every="day at 9am")
        with pytest.raises(InvalidOptions, match="another Workkit is in use"):
            Workkit(wk_server).__enter__()
    assert len(events._subscribers) == heard
    assert schedule.counts(s).waiting == 0
    with closing(redis.Redis.from_url(wk_server)) as client:
        assert client.dbsize() == 0


def test_that_a_handler_of_a_worker_process_runs_in_the_test_is_said_once(wk: Workkit, s: schedule.Schedule) -> None:
    schedule.add_now(s, jobs.compute)
    with pytest.warns(
        WorkkitWarning, match=r"tests\.testing\.jobs\.compute has cpu=True, and ran in the process of"
    ) as told:
        assert [ran.ending for ran in wk.run_due()] == ["done"]
    assert [warning.filename for warning in told] == [__file__]
    schedule.add_now(s, jobs.compute)
    wk.run_due()
    assert jobs.calls == [os.getpid()] * 2


def test_arguments_are_lifted_and_a_failure_is_followed(wk: Workkit, s: schedule.Schedule) -> None:
    added = schedule.add_now(s, "@testing.lifted", args=[7])
    first, second = wk.run_until(wk.now + timedelta(seconds=1), raise_errors=False)
    assert (first.ending, second.ending) == ("dead", "done")
    assert jobs.calls == [(added.id, "OSError: 7 monday")]
    assert schedule.job(s, added.id).followed_by == second.job.id
