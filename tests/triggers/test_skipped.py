"""A local time that a clock change leaves out is warned of before it happens."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from workkit.triggers import parse
from workkit.triggers.when import with_skipped

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)


def warnings(text: str, tz: str) -> tuple[str, ...]:
    return with_skipped(parse(text, now=NOW, tz=tz), after=NOW).warnings


def test_the_warning_names_the_first_time_that_a_change_skips() -> None:
    assert warnings("every day at 2:30am", "Europe/Paris") == (
        "2:30 on Sunday 28 March 2027 does not exist in Europe/Paris: clocks go from 2:00 to 3:00 then. "
        "It runs at 3:00 that day.",
    )
    assert warnings("every sunday at 2:15am", "Australia/Lord_Howe") == (
        "2:15 on Sunday 3 October 2027 does not exist in Australia/Lord_Howe: clocks go from 2:00 to 2:30 then. "
        "It runs at 2:30 that day.",
    )


@pytest.mark.parametrize(
    ("text", "tz"),
    [
        ("every day at 9am", "Europe/Paris"), ("every day at 3am", "Europe/Paris"), ("every day at 2:30am", "UTC"),
        ("every monday at 2:30am", "Europe/Paris"), ("every day at 2:30am", "Asia/Tokyo"),
        ("every 15 minutes", "Europe/Paris"), ("every 15 minutes on sundays", "Europe/Paris"),
    ],
)  # fmt: skip
def test_times_that_no_change_skips_have_no_warning(text: str, tz: str) -> None:
    assert warnings(text, tz) == ()


@pytest.mark.parametrize(("start", "skipped"), [("2027-03-25", True), ("2027-03-26", False), ("2027-03-27", False)])
def test_the_warning_goes_by_the_days_that_an_interval_counts(start: str, skipped: bool) -> None:
    found = warnings(f"every 3 days at 2:30am starting {start}", "Europe/Paris")  # the change is on 28 March
    assert ("2:30 on Sunday 28 March 2027" in "".join(found)) is skipped
