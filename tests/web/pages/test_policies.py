from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from workkit.jobs.admission import FREE, Control
from workkit.jobs.job import Job
from workkit.jobs.options import ADD, OF_JOB, OPTIONS
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import PLAIN, Terms
from workkit.triggers import cron
from workkit.web.pages.policies import policies

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


def said(
    *, control: Control = FREE, offset_ms: int = 0, terms: Terms = PLAIN, options: RunOptions = UNSAID, **bounds: Any
) -> dict[str, str]:
    trigger = replace(cron("* * * * * 0 0"), **bounds)
    job = Job(id="1", schedule="s", fn="app.f", trigger=trigger, terms=terms, options=options)
    return {one.option: one.says for one in policies(job, control, offset_ms=offset_ms, now=NOW, zone=UTC)}


def test_the_defaults() -> None:
    assert said() == {
        "overlap": "its last run still goes on: both run.",
        "catch_up": "nobody listened when it was due: run once, late.",
        "retries": "it fails: as its function says; if that says nothing, it is dead at once.",
        "crashes": "its listener dies in a run: it begins again, up to 2 times; unless its function says otherwise.",
        "timeout": "it takes long: it goes on, unless its function has a timeout.",
        "limit": "many jobs run at once: it starts at once, unless its function has a limit.",
    }


@pytest.mark.parametrize(
    ("option", "given", "sentence"),
    [
        ("overlap", {"overlap": "cancel"}, "its last run still goes on: cancel the earlier run."),
        ("overlap", {"overlap": "queue"}, "its last run still goes on: wait until it has ended."),
        ("catch_up", {"catch_up": "all"}, "nobody listened when it was due: run every one of them, late."),
        ("catch_up", {"catch_up": "skip"}, "nobody listened when it was due: leave out what is later than 1 min."),
        ("catch_up", {"catch_up_within_ms": 60_000 * 90},
         "nobody listened when it was due: run once, late, but not after 1 h 30 min."),
        ("spread", {"spread_ms": 300_000},
         "others are due at the same second: it is put off by 7 s, its part of 5 min."),
        ("count", {"count": 1}, "it has run once: that was its last run."),
        ("unique_key", {"unique_key": "u"}, 'another job holds the unique key "u": only one of them stands.'),
        ("within", {"within_ms": 7_200_000}, "it has not ended 2 h after it is due: it is late, and reported."),
        ("done_by", {"done_by": "Europe/Paris * * * * 6 0 0"},
         "it has not ended at its deadline, every day at 6:00 Europe/Paris: it is late, and reported."),
        ("ping", {"ping": "https://a.b"}, "it starts, succeeds or fails: a monitor is told."),
    ],
)  # fmt: skip
def test_terms(option: str, given: dict[str, Any], sentence: str) -> None:
    assert said(terms=Terms(**given), offset_ms=7000)[option] == sentence


@pytest.mark.parametrize(
    ("option", "given", "sentence"),
    [
        ("retries", {"retries": 0}, "it fails: it is dead at once."),
        ("retries", {"retries": 1, "jitter": False}, "it fails: up to 1 more attempt, after 5 s; then it is dead."),
        ("retries", {"retries": 9, "backoff": "linear"},
         "it fails: up to 9 more attempts, after 5 s, 10 s, 15 s, 20 s and so on, or up to half sooner; then it is dead"
         "."),
        ("crashes", {"crashes": 0}, "its listener dies in a run: it is dead: it may have run."),
        ("crashes", {"crashes": 1}, "its listener dies in a run: it begins again, up to 1 time; then it is dead."),
        ("timeout", {"timeout_ms": 1_200_000}, "it takes longer than 20 min: end it."),
        ("keep", {"keep_ms": 3_600_000}, "it returns something: its result is kept for 1 h."),
    ],
)  # fmt: skip
def test_options(option: str, given: dict[str, Any], sentence: str) -> None:
    assert said(options=RunOptions(**given))[option] == sentence


def test_limits_of_the_schedule_and_bounds() -> None:
    found = said(
        control=Control(limit=1200, turn_ms=500),
        start=datetime(2026, 11, 21, 2, 30, tzinfo=UTC),
        end=datetime(2027, 11, 21, tzinfo=UTC),
    )
    assert found["limit"] == "many jobs run at once: at most 1,200 of this schedule; it waits."
    assert found["rate"] == "many jobs start at once: one start every 500 ms; it waits."
    assert found["start"] == "it is not yet tomorrow 02:30: it does not run."
    assert found["end"] == "it is Sun 21 Nov 2027 00:00 or later: it no longer runs."


def test_every_option_of_a_recurring_job_has_a_sentence() -> None:
    """A new option that is stored is not forgotten here."""
    known = said(
        terms=Terms(overlap="skip", catch_up="all", catch_up_within_ms=1, count=2, spread_ms=1000, priority=1,
                    unique_key="k", ping="https://a.b", within_ms=1, done_by="UTC * * * * 6 0 0"),
        options=RunOptions(retries=1, crashes=1, timeout_ms=1, keep_ms=1000),
        start=datetime(2027, 1, 1, tzinfo=UTC),
        end=datetime(2028, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    part_of = {
        "catch_up_within": "catch_up", "backoff": "retries", "base": "retries", "cap": "retries", "jitter": "retries",
        "keep_most": "keep", "unique_until": "unique_key",
    }  # fmt: skip
    elsewhere = {
        "tz",
        "after",
        "on_death",
        "name",
        "on_conflict",
        "unique",
        "once_key",
        "once_for",
        "tags",
        "throttle",
        "debounce",
        "debounce_most",
        "expires",
        "meta",
        "late",
    }
    asked = {part_of.get(one.name, one.name) for one in OPTIONS if ADD in one.places} - elsewhere
    assert asked <= set(known)
    assert elsewhere <= {one.name for one in OPTIONS if one.section == OF_JOB}
