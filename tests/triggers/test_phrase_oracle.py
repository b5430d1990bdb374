"""Phrases that parsedatetime also answers safely: a second opinion by somebody else's grammar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import parsedatetime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.triggers import parse

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)
CALENDAR = parsedatetime.Calendar(version=parsedatetime.VERSION_CONTEXT_STYLE)


def opinion(text: str) -> datetime:
    found, _ = CALENDAR.parseDT(text, sourceTime=NOW.replace(tzinfo=None), tzinfo=UTC)
    assert isinstance(found, datetime)
    return found


@given(st.integers(1, 500), st.sampled_from(["seconds", "minutes", "hours", "days", "weeks"]))
def test_durations_agree(n: int, unit: str) -> None:
    assert parse(f"in {n} {unit}", now=NOW).upcoming(NOW, 2) == [opinion(f"in {n} {unit}")]


@given(st.integers(1, 12), st.sampled_from(["am", "pm"]), st.integers(0, 59))
def test_clock_times_of_tomorrow_agree(hour: int, half: str, minute: int) -> None:
    text = f"tomorrow at {hour}:{minute:02}{half}"
    assert parse(text, now=NOW).upcoming(NOW, 2) == [opinion(text)]


@pytest.mark.parametrize("day", ["2026-12-01", "2027-02-28", "2028-02-29", "2030-12-31"])
@pytest.mark.parametrize("hour", ["09:00", "23:59"])
def test_dates_agree(day: str, hour: str) -> None:
    assert parse(f"{day} {hour}", now=NOW).upcoming(NOW, 2) == [opinion(f"{day} {hour}")]
    assert parse(f"{day} {hour}", now=NOW).next_after(NOW + timedelta(days=3650)) is None
