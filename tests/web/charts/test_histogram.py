from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.web.charts.rects import rects
from workkit.contract.history import BUCKETS, Buckets, bucket_of
from workkit.web.charts.histogram import STEP, durations, lateness


def counted(*ms: float) -> Buckets:
    return Buckets((bucket_of(one), 1) for one in ms)


def test_a_bar_is_half_an_octave() -> None:
    shown = durations(counted(*[2_000] * 4, *[2_900] * 2, *[8_000]))
    drawn = rects(shown.paths["d"])
    assert [height for *_, height in drawn] == [56, 28, 14]
    first, second, third = (x / STEP for x, *_ in drawn)
    assert (second - first, third - first) == (1, 4)  # 8 s is two octaves above 2 s
    assert {width for _, _, width, _ in drawn} == {16}


def test_a_single_run_among_thousands_is_still_seen() -> None:
    shown = durations(counted(*[1_000] * 5_000, 9_000))
    assert min(height for *_, height in rects(shown.paths["d"])) == 3


def test_late_starts_are_amber_from_a_second_on() -> None:
    shown = lateness(counted(4, 5, 900, 1_500, 62_000, 80_000))
    assert len(rects(shown.paths["l"])) == 3
    assert shown.sentence == "Half within 1.1 s, 95 % within 1 min 44 s. 2 started more than 52.4 s late."


def test_its_sentence_says_quantiles_and_the_timeout() -> None:
    shown = durations(counted(*[4_000] * 10), timeout_ms=1_200_000)
    assert shown.sentence == "Half within 4.6 s, 95 % within 4.6 s. Its timeout is 20 min."
    assert shown.label == (
        "How long runs took: half within 4.6 s, 95 % within 4.6 s, none longer than 4.6 s. Its timeout is 20 min."
    )
    assert durations(Buckets()).sentence == "No run yet."
    assert lateness(Buckets()).label == "How late runs started: no run yet."


def test_the_timeout_is_a_line_at_its_place() -> None:
    shown = durations(counted(*[1_000] * 3, 2_000), timeout_ms=4_000)
    assert shown.limit_x is not None
    bars = [x for x, *_ in rects(shown.paths["d"])]
    one_second, two_seconds = bars[0], bars[1]
    assert two_seconds < shown.limit_x <= shown.width
    assert abs(shown.limit_x - one_second - 4 * STEP) < STEP  # two octaves, to a bucket


def test_a_timeout_far_beyond_is_only_said() -> None:
    shown = durations(counted(20), timeout_ms=86_400_000)
    assert shown.limit_x is None
    assert shown.sentence.endswith("Its timeout is 1 d.")


@pytest.mark.parametrize(
    ("ms", "labels"),
    [
        ((1, 2, 4, 8, 16), ("0.8 ms", "2 ms", "3 ms", "6 ms", "13 ms")),
        ((150_000, 450_000), ("1 min", "2 min", "4 min", "9 min", "19 min")),
        ((0, 0), ("0 ms", "0.1 ms", "0.3 ms", "0.6 ms", "1 ms")),
    ],
)
def test_labels_are_lower_ends(ms: tuple[float, ...], labels: tuple[str, ...]) -> None:
    assert durations(counted(*ms)).labels == labels


@given(st.lists(st.tuples(st.integers(0, BUCKETS - 1), st.integers(1, 10**9))), st.none() | st.floats(0.05, 4e8))
def test_every_bucket_is_drawn_inside(pairs: list[tuple[int, int]], timeout: float | None) -> None:
    buckets = Buckets(pairs)
    for shown in (durations(buckets, timeout_ms=timeout), lateness(buckets)):
        drawn = [one for data in shown.paths.values() for one in rects(data)]
        assert all(x >= 0 and x + width <= shown.width for x, _, width, _ in drawn)
        assert all(y >= 0 and y + height <= 56.05 and height >= 3 for _, y, _, height in drawn)
        assert len(drawn) == len({bucket for bucket, _ in pairs})
        assert bool(drawn) == bool(pairs)
        assert len(shown.labels) == 5
        assert shown.limit_x is None or 0 <= shown.limit_x <= shown.width
        if pairs:
            assert max(height for *_, height in drawn) == 56
