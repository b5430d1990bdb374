"""Remarks about the time ahead, and how long a herd waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.web.charts.rects import ran
from workkit.triggers import parse
from workkit.web.forecast import (
    MOST_JOBS,
    Planned,
    Remark,
    best_spread_ms,
    forecast,
    herd_text,
    instants,
    last_start_ms,
    nothing,
)

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
UNTIL = NOW + timedelta(hours=24)
PARIS = ZoneInfo("Europe/Paris")
MINUTE = 60_000.0


def planned(name: str, words: str, *, until: datetime = UNTIL, now: datetime = NOW, **more: Any) -> Planned:
    trigger = parse(words, now=now, tz="Europe/Paris")
    return Planned(name=name, trigger=trigger, instants=instants(trigger, since=now, until=until), **more)


def said(*jobs: Planned, threads: int = 60, now: datetime = NOW, **more: Any) -> list[Remark]:
    return forecast(jobs, now=now, until=now + timedelta(hours=24), zone=PARIS, threads=threads, **more)


def herd(count: int, took_ms: float, words: str = "every day at 6pm") -> list[Planned]:
    first = planned("a0", words, usual_ms=took_ms)
    return [replace(first, name=f"a{k}") for k in range(count)]


def test_a_herd_says_how_long_its_last_job_waits() -> None:
    (remark,) = said(*herd(212, 13_700.0))
    assert remark.head == "212 jobs at one second."
    assert (
        remark.more == "60 threads take 41 s to start the last of them. Spread over 1 minute, it would start in time."
    )
    assert (remark.kind, remark.mark, remark.names) == ("herd", "212", ("a0", "a1", "a2"))
    assert remark.at == datetime(2026, 11, 20, 17, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("count", "took_ms", "threads", "remarks"),
    [(49, 60_000.0, 1, 0), (50, 60_000.0, 10, 1), (50, 1_000.0, 10, 0), (50, 1_200.0, 10, 0), (60, 1_000.0, 10, 1)],
)
def test_a_herd_is_fifty_jobs_that_the_threads_cannot_start_in_five_seconds(
    count: int, took_ms: float, threads: int, remarks: int
) -> None:
    assert len(said(*herd(count, took_ms), threads=threads)) == remarks


def test_a_herd_that_comes_again_is_one_remark() -> None:
    (remark,) = said(*herd(60, 10_000.0, "every hour"), threads=10)
    assert remark.more.endswith(" The same at 13:00, 14:00 and 21 more times.")
    (remark,) = said(*herd(60, 10_000.0, "every day at 1pm and 1am"), threads=10)
    assert remark.more.endswith(" The same at tomorrow 01:00.")


def test_jobs_that_run_once_are_part_of_a_herd() -> None:
    at = NOW + timedelta(hours=1)
    (remark,) = said(one_time={at: (200, 10_000.0)}, threads=10)
    assert (remark.at, remark.head, remark.names) == (at, "200 jobs at one second.", ())


@pytest.mark.parametrize(
    ("count", "threads", "spread", "text"),
    [
        (
            100,
            1,
            3_600_000,
            "One thread takes 16 min 30 s to start the last of them. Spread over 1 hour, it would start in time.",
        ),
        (
            70,
            10,
            300_000,
            "10 threads take 1 min to start the last of them. Spread over 5 minutes, it would start in time.",
        ),
        (
            400,
            1,
            3_600_000,
            "One thread takes 1 h 6 min to start the last of them. Spread over 1 hour, it would start 6 min 39 s late.",
        ),
        (5_000, 1, None, "One thread takes 13 h 53 min to start the last of them."),
        (100, 0, None, "Nobody listens now."),
    ],
)
def test_a_herd_is_said_with_the_spread_that_helps(count: int, threads: int, spread: int | None, text: str) -> None:
    took = [10_000.0] * count
    assert best_spread_ms(took, threads=threads) == spread
    assert herd_text(took, threads=threads) == text


def test_two_long_runs_that_hurt_before_are_told() -> None:
    four = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)
    load = planned("warehouse-load", "every day at 4am", usual_ms=74 * MINUTE)
    index = planned("index-rebuild", "every day at 4am", usual_ms=11 * MINUTE)
    assert said(load, index) == []  # nothing says that it hurts
    load = replace(load, lately=[ran(four, took_ms=74 * 60_000)])
    index = replace(index, lately=[ran(four, late_ms=72_000, took_ms=11 * 60_000)])
    (remark,) = said(load, index)
    assert remark.says == (
        "warehouse-load and index-rebuild overlap for 11 min. Today index-rebuild started 1 min 12 s late then."
    )
    assert (remark.mark, remark.at) == ("2", datetime(2026, 11, 21, 3, 0, tzinfo=UTC))


def test_long_runs_that_do_not_meet_are_not_told() -> None:
    late = [ran(NOW - timedelta(hours=3), late_ms=72_000, took_ms=3_600_000)]
    one = planned("a", "every day at 4am", usual_ms=5 * MINUTE, lately=late)
    other = planned("b", "every day at 5am", usual_ms=5 * MINUTE, lately=late)
    assert said(one, other) == []


@pytest.mark.parametrize(
    ("catch_up", "more"),
    [
        ("skip", "299 runs are left out, none is caught up."),
        ("all", "299 runs are due meanwhile, and are caught up."),
        (None, "299 runs are due meanwhile, one is caught up."),
    ],
)
def test_a_pause_that_ends_says_what_becomes_of_its_runs(catch_up: str | None, more: str) -> None:
    since = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
    job = planned(
        "webhook-replay",
        "every minute",
        is_paused=True,
        paused_since=since,
        paused_until=since + timedelta(hours=5),
        catch_up=catch_up,
    )
    (remark,) = said(job)
    assert remark.says == f"webhook-replay goes on after 5 h. {more}"


def test_a_paused_job_is_in_no_herd() -> None:
    jobs = [replace(job, is_paused=True) for job in herd(100, 60_000.0)]
    assert said(*jobs, threads=1) == []


def test_a_change_of_the_clock_names_the_jobs_that_it_touches() -> None:
    now = datetime(2027, 3, 27, 12, 0, tzinfo=UTC)
    until = now + timedelta(hours=24)
    jobs = [
        planned("nightly", "every day at 2:30am", now=now, until=until),
        planned("early", "every day at 2am", now=now, until=until),
        planned("poll", "every 15 minutes", now=now, until=until),
    ]
    (remark,) = said(*jobs, now=now)
    assert remark.says == (
        "Clocks in Paris go from 2:00 to 3:00 on 28 March. 2:00 does not exist then: early runs at 3:00. "
        "2:30 does not exist then: nightly runs at 3:00."
    )
    (remark,) = said(jobs[2], now=now)
    assert remark.more == "No job runs in that hour."


def test_the_clock_that_goes_back_is_told_too() -> None:
    now = datetime(2026, 10, 24, 12, 0, tzinfo=UTC)
    job = planned("nightly", "every day at 2:30am", now=now, until=now + timedelta(hours=24))
    (remark,) = said(job, now=now)
    assert remark.says == (
        "Clocks in Paris go back from 3:00 to 2:00 on 25 October. 2:30 comes twice: nightly runs the first time."
    )


def test_last_runs_are_told() -> None:
    counted = planned("a", "every hour", count=3)
    assert counted.trigger is not None
    bounded = replace(counted.trigger, end=datetime(2026, 11, 20, 17, 0, 1, tzinfo=UTC))
    ending = Planned(name="b", trigger=bounded, instants=instants(bounded, since=NOW, until=UNTIL))
    assert [remark.says for remark in said(counted, ending)] == [
        "a runs for the last time at 14:00. It has run as often as it should then.",
        "b runs for the last time at 18:00. Its time ends then.",
    ]
    assert said(replace(counted, count=1_000)) == []


def test_nothing_has_a_sentence() -> None:
    assert said(planned("a", "every hour")) == []
    assert nothing("24 hours") == "Nothing unusual in the next 24 hours."


def test_instants_have_a_bound() -> None:
    every = parse("every second", now=NOW)
    assert len(instants(every, since=NOW, until=UNTIL, most=100)) == 100
    assert instants(every, since=NOW, until=NOW) == []


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.sampled_from(["every hour", "every 30 minutes", "every day at 2:30am"]), st.integers(0, 10**7)),
        max_size=80,
    ),
    st.integers(0, 5),
)
def test_remarks_are_in_order_within_the_window(rows: list[tuple[str, int]], threads: int) -> None:
    known = {words: planned("x", words) for words, _ in rows}
    jobs = [replace(known[words], name=f"j{k}", usual_ms=float(took)) for k, (words, took) in enumerate(rows)]
    found = said(*jobs, threads=threads)
    assert [remark.at for remark in found] == sorted(remark.at for remark in found)
    assert all(NOW <= remark.at <= UNTIL and remark.says.endswith(".") for remark in found)


@pytest.mark.parametrize(
    ("took", "threads", "over", "late"),
    [
        ([], 1, 0, 0),
        ([1_000], 1, 0, 0),
        ([1_000] * 2, 2, 0, 0),
        ([1_000] * 3, 2, 0, 1_000),
        ([1_000] * 212, 60, 0, 3_000),
        ([10_000, 1_000, 1_000], 2, 0, 1_000),
        ([1_000] * 10, 1, 10_000, 0),
        ([2_000] * 10, 1, 10_000, 9_000),
        ([1_000] * 3, 0, 0, float("inf")),
    ],
)
def test_the_last_job_waits_for_a_thread(took: list[float], threads: int, over: float, late: float) -> None:
    assert last_start_ms(took, threads=threads, over_ms=over) == late


JOBS = st.lists(st.integers(0, 100_000).map(float), min_size=1, max_size=60)


@given(JOBS, st.integers(1, 20), st.integers(0, 3_600_000))
def test_more_threads_or_a_spread_of_equal_jobs_never_make_it_later(took: list[float], threads: int, over: int) -> None:
    equal = [took[0]] * len(took)
    wait = last_start_ms(equal, threads=threads)
    assert last_start_ms(equal, threads=threads + 1) <= wait
    assert last_start_ms(equal, threads=threads, over_ms=over) <= wait + 1e-6
    assert wait == (len(equal) - 1) // threads * took[0]


@given(JOBS, st.integers(1, 20))
def test_no_job_waits_longer_than_all_others_take(took: list[float], threads: int) -> None:
    assert 0 <= last_start_ms(took, threads=threads) <= sum(took)


def test_a_million_jobs_are_reckoned_in_proportion() -> None:
    wait = last_start_ms([1_000.0] * (50 * MOST_JOBS), threads=10)
    assert wait == pytest.approx(1_000.0 * 5 * MOST_JOBS, rel=0.001)
