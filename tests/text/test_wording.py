from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.text import wording
from workkit.text.cells import cells, shorten
from workkit.text.wording import duration_text

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("ms", "parts", "said"),
    [
        (0, 2, "0 ms"),
        (41, 2, "41 ms"),
        (999, 2, "999 ms"),
        (1_000, 2, "1 s"),
        (2_100, 2, "2.1 s"),
        (12_449, 2, "12.4 s"),
        (25_000, 2, "25 s"),
        (59_999, 2, "59.9 s"),
        (60_000, 2, "1 min"),
        (934_000, 2, "15 min 34 s"),
        (11_520_000, 2, "3 h 12 min"),
        (86_400_000, 3, "1 d"),
        (114_270_000, 3, "1 d 7 h 44 min"),
        (795_870_000, 2, "9 d 5 h"),
        (86_700_000, 3, "1 d 5 min"),
    ],
)
def test_duration_says_at_most_so_many_units(ms: float, parts: int, said: str) -> None:
    assert duration_text(ms, parts) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "now"), (0.4, "now"), (-0.4, "now"), (5, "in 5 s"), (-182, "3 min 2 s ago")]
)
def test_distance_says_the_direction(seconds: float, said: str) -> None:
    assert wording.distance(NOW + timedelta(seconds=seconds), NOW) == said


def test_instant_says_the_zone_and_utc() -> None:
    at = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
    assert wording.instant_text(at, PARIS) == "Saturday 21 November 2026 at 19:00 Europe/Paris = 18:00 UTC"
    assert wording.instant_text(at, UTC) == "Saturday 21 November 2026 at 18:00 UTC"
    assert wording.instant_text(at, ZoneInfo("UTC")) == "Saturday 21 November 2026 at 18:00 UTC"


def test_instant_names_the_day_where_utc_has_another() -> None:
    at = datetime(2026, 11, 20, 23, 30, 5, tzinfo=UTC)
    assert (
        wording.instant_text(at, PARIS) == "Saturday 21 November 2026 at 0:30:05 Europe/Paris = 23:30:05 UTC on Friday"
    )


@pytest.mark.parametrize(
    ("days", "said"),
    [(0, "today"), (1, "tomorrow"), (-1, "yesterday"), (3, "Mon 23"), (12, "Wed  2"), (-8, "Thu 12"), (28, "18 Dec")],
)
def test_near_day_is_as_short_as_it_is_clear(days: int, said: str) -> None:
    assert wording.near_day(NOW + timedelta(days=days), NOW) == said


def test_near_day_names_another_year() -> None:
    assert wording.near_day(datetime(2028, 2, 3, tzinfo=UTC), NOW) == "2028-02-03"


@given(st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2027, 12, 31)))
def test_near_day_names_one_day_only(at: datetime) -> None:
    """No other day of two years is called the same, seen from the same day."""
    said = wording.near_day(at.replace(tzinfo=UTC), NOW)
    days = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(730)]
    assert [day.date() for day in days if wording.near_day(day, NOW) == said] == [at.date()]


@given(st.text())
def test_printable_leaves_nothing_that_steers_a_terminal(text: str) -> None:
    assert wording.printable(text).isprintable()


@pytest.mark.parametrize("text", ["\x1b[31mred", "\u202eevil", "a\nb", "\x9b2J"])
def test_printable_spells_out(text: str) -> None:
    said = wording.printable(text)
    assert "\\" in said
    assert said.isprintable()


@given(st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc"))), st.integers(0, 20))
def test_shorten_fits(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cells(short) <= width or short == text == ""
    assert short == text or short.endswith("…") or width == 0


def test_wide_characters_take_two_columns() -> None:
    assert cells("日本a") == 5
    assert shorten("日本語", 4) == "日…"
