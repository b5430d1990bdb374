"""Words that pages share: the question before a run by hand, and changes of the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from workkit.contract.inspector import LimitUse
from workkit.jobs.job import Job
from workkit.jobs.terms import Terms
from workkit.triggers import parse
from workkit.triggers.zone import ClockChange, clock_changes
from workkit.web.words import city, left_out, may_wait, moves, next_change, what_came

WAITS = LimitUse(key="over:nightly", used=1, limit=1, waiting=1)
FULL = LimitUse(key="over:nightly", used=1, limit=1, waiting=0)
OTHER = LimitUse(key="over:other", used=1, limit=1, waiting=3)


@pytest.mark.parametrize(
    ("overlap", "state", "uses", "because"),
    [
        ("skip", "running", (), "A run of it has not ended"),
        ("skip", "cancelling", (), "A run of it has not ended"),
        ("skip", "retrying", (), "A run of it waits for another attempt"),
        ("skip", "held", (), "A run of it waits to start"),
        ("skip", "waiting", (), ""),
        (None, "running", (), ""),
        (None, "running", (WAITS,), ""),
        ("queue", "running", (FULL, OTHER), ""),
        ("queue", "running", (WAITS,), "One run of it waits already"),
        ("cancel", "cancelling", (OTHER, WAITS), "One run of it waits already"),
        ("queue", "waiting", (WAITS,), ""),
    ],
)
def test_a_run_by_hand_is_asked_about_where_overlap_leaves_it_out(
    overlap: str | None, state: Any, uses: tuple[LimitUse, ...], because: str
) -> None:
    job = Job(id="1", schedule="s", fn="f", state=state, terms=Terms(name="nightly", overlap=overlap))
    asked = left_out(job, uses)
    assert asked.startswith(because)
    assert bool(asked) == bool(because)
    assert may_wait(job) == (overlap in ("queue", "cancel") and state != "waiting")


NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
YEAR = datetime(2025, 11, 20, tzinfo=UTC)
NIGHTLY = parse("every day at 2:30am", now=NOW, tz="Europe/Paris")


def changes(tz: str) -> list[ClockChange]:
    return clock_changes(tz, YEAR, NOW)


def test_changes_are_values() -> None:
    spring, autumn = changes("Europe/Paris")
    assert spring == ClockChange(tz="Europe/Paris", second=1774746000, before=3600, after=7200)
    assert spring.at == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
    assert (spring.skips, autumn.skips) == (True, False)
    assert clock_changes("UTC", YEAR, NOW) == []
    assert clock_changes("Europe/Paris", spring.at, autumn.at) == [autumn]  # after the one, up to the other


@pytest.mark.parametrize(
    ("words", "tz", "came"),
    [
        (
            "every day at 2:30am",
            "Europe/Paris",
            ["02:30 did not exist; ran at 03:00", "02:30 came twice; ran the first time"],
        ),
        (
            "every day at 2am",
            "Europe/Paris",
            ["02:00 did not exist; ran at 03:00", "02:00 came twice; ran the first time"],
        ),
        ("every day at 3am", "Europe/Paris", [None, None]),
        ("every 15 minutes", "Europe/Paris", [None, None]),
        ("every day at 2:30am", "America/New_York", ["02:30 did not exist; ran at 03:00", None]),
        ("every day at 1:30am", "America/New_York", [None, "01:30 came twice; ran the first time"]),
    ],
)
def test_a_day_says_what_came_of_the_change(words: str, tz: str, came: list[str | None]) -> None:
    trigger = parse(words, now=YEAR, tz=tz)
    assert [what_came(trigger, change) for change in changes(tz)] == came


def test_what_came_is_what_ran() -> None:
    spring, autumn = changes("Europe/Paris")
    ran = NIGHTLY.next_after(datetime(2026, 3, 28, 12, tzinfo=UTC))
    assert ran == spring.at
    (first,) = [at for at in NIGHTLY.upcoming(datetime(2026, 10, 24, 12, tzinfo=UTC), 2) if at.day == 25]
    assert first < autumn.at


def test_the_next_change_is_told_with_its_runs() -> None:
    found = next_change(NIGHTLY, now=NOW)
    assert found is not None
    assert found.says == (
        "Sun 28 March 2027, in 128 runs: 2:30 does not exist in Paris, clocks go from 2:00 to 3:00. It runs at 3:00."
    )
    later = next_change(NIGHTLY, now=datetime(2027, 4, 1, tzinfo=UTC))
    assert later is not None
    assert later.says == (
        "Sun 31 October 2027, in 214 runs: 2:30 comes twice in Paris, clocks go back from 3:00 to 2:00. "
        "It runs the first time."
    )


def test_the_count_of_runs_ends_with_that_of_the_change() -> None:
    for now in (NOW, datetime(2027, 4, 1, tzinfo=UTC)):
        found = next_change(NIGHTLY, now=now)
        assert found is not None
        count = int(found.says.split(" in ")[1].split()[0])
        (last,) = NIGHTLY.upcoming(now, count)[-1:]
        assert f"{last:%d %B %Y}" == found.day.removeprefix("Sun ")


def test_a_job_that_no_change_touches_has_none() -> None:
    assert next_change(parse("every day at 9am", now=NOW, tz="Europe/Paris"), now=NOW) is None
    assert next_change(parse("every day at 2:30am", now=NOW), now=NOW) is None


def test_places_and_moves_are_named() -> None:
    assert city("America/Argentina/Buenos_Aires") == "Buenos Aires"
    spring, autumn = changes("Europe/Paris")
    assert moves(spring) == "clocks go from 2:00 to 3:00"
    assert moves(autumn) == "clocks go back from 3:00 to 2:00"
