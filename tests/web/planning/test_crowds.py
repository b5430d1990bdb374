"""Crowded seconds are found by counting ever shorter spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.web.planning.crowds import crowded

START = 1_800_000_000_000
DAY = 86_400_000


class Queue:
    """Counts as an inspector does, and how often it is asked."""

    def __init__(self, dues: dict[int, int]) -> None:
        self.dues, self.asked = Counter(dues), 0

    def ahead(self, edges: Sequence[int]) -> list[int]:
        self.asked += 1
        assert list(edges) == sorted(edges)
        return [sum(n for due, n in self.dues.items() if since <= due < until) for since, until in pairwise(edges)]


def second(ms: int) -> datetime:
    return datetime.fromtimestamp(ms // 1000, UTC)


@pytest.mark.parametrize("length", [60_000, 900_000, 6_300_000, DAY])
def test_a_crowded_second_is_found_in_few_questions(length: int) -> None:
    due = START + 3 * length + 7_000
    queue = Queue({due: 200, due + 400: 5, due + 20_000: 49, START + 30_000: 3})
    edges = [START + k * length for k in range(9)]
    counts = queue.ahead(edges)
    assert crowded(queue.ahead, edges, counts) == {second(due): 205}
    assert queue.asked <= 5


def test_nothing_is_asked_where_no_span_is_crowded() -> None:
    queue = Queue({START: 49})
    edges = [START, START + 60_000]
    counts = queue.ahead(edges)
    assert crowded(queue.ahead, edges, counts) == {}
    assert queue.asked == 1


@given(
    st.dictionaries(st.integers(0, DAY - 1), st.integers(1, 120), max_size=20),
    st.integers(0, 999),
)
def test_what_is_found_is_there(dues: dict[int, int], shift: int) -> None:
    queue = Queue({START + due: n for due, n in dues.items()})
    edges = [START + shift, *range(START + 901_000, START + DAY - 900_000, 901_000), START + DAY - shift]
    for at, n in crowded(queue.ahead, edges, queue.ahead(edges)).items():
        ms = round(at.timestamp() * 1000)
        assert n == queue.ahead([max(ms, edges[0]), min(ms + 1_000, edges[-1])])[0] >= 50
