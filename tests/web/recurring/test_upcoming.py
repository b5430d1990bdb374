from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from workkit.contract.history import PastRun
from workkit.jobs.job import Job, JobState
from workkit.triggers import parse
from workkit.web.recurring.upcoming import clocks_of_year, coming_runs, next_clock_change, planned, zone_of_times

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
