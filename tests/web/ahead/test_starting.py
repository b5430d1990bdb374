from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.web.ahead.starting import MOST_JOBS, last_start_ms


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
