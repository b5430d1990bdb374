"""What is remarked of words with two common readings: which was taken, and how to say the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from workkit.errors import PhraseError
from workkit.triggers import Trigger, parse

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)  # a Friday


def first(text: str, *, now: datetime = NOW, tz: str = "UTC") -> datetime | None:
    return parse(text, now=now, tz=tz).next_after(now)


def runs_of_a_day(trigger: Trigger) -> list[datetime]:
    midnight = datetime(2026, 11, 23, tzinfo=UTC)
    runs = trigger.upcoming(midnight - timedelta(seconds=1), 100)
    return [at for at in runs if at < midnight + timedelta(days=1)]


@pytest.mark.parametrize(
    ("text", "last", "until"),
    [
        ("every 15 minutes between 9am and 5pm", "17:45", "9:00 until 17:00"),
        ("every 15 minutes from 9am to 5pm", "17:45", "9:00 until 17:00"),
        ("every minute 9-10", None, None),
        ("every 30 minutes 9am-noon on weekdays", "12:30", "9:00 until 12:00"),
        ("every hour at :15 and :45 from 9am to 5pm", "17:45", "9:00 until 17:00"),
        ("every 5 seconds from 9:30 to 9:31", "9:31:55", "9:30 until 9:31"),
        ("every 20 minutes between 22:00 and 02:00", "2:40", "22:00 until 2:00"),
    ],
)
def test_a_window_names_its_last_run_and_the_other_wording(text: str, last: str | None, until: str | None) -> None:
    if last is None:
        with pytest.raises(PhraseError, match="from 9:00 to 10:00"):
            parse(text, now=NOW)
        return
    trigger = parse(text, now=NOW)
    end = until.split()[-1] if until else ""
    assert trigger.warnings == (
        f'The last run of the day is at {last}. Say "from {until}" to end with the run at {end}.',
    )
    shown = {f"{at:%-H:%M:%S}".removesuffix(":00") for at in runs_of_a_day(trigger)}
    assert last in shown


@pytest.mark.parametrize(
    "text", ["every hour from 9am to 5pm", "every 2 hours from 8am to 6pm", "every 20 minutes from 9am until 5pm"]
)
def test_a_window_with_one_reading_has_no_remark(text: str) -> None:
    assert parse(text, now=NOW).warnings == ()


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("every 15 minutes from 9am until 5pm", "17:00"),
        ("every 15 minutes from 9am till 5pm on weekdays", "17:00"),
        ("every 10 seconds from 9am until 5pm", "17:00:00"),
        ("every 20 minutes from 9:00 until 17:30", "17:20"),
        ("every hour from 9am until 5pm", "17:00"),
    ],
)
def test_until_ends_with_the_run_at_that_hour(text: str, last: str) -> None:
    trigger = parse(text, now=NOW)
    midnight = datetime(2026, 11, 23, tzinfo=UTC)
    hour = datetime.fromisoformat(f"2026-11-23T{last:0>5}+00:00")
    assert trigger.next_after(hour - timedelta(seconds=1)) == hour
    assert (trigger.next_after(hour) or midnight) >= midnight + timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "at", "remarks"),
    [
        ("this friday at 3pm", "2026-11-20 15:00", 0),
        ("this saturday at 3pm", "2026-11-21 15:00", 0),
        ("friday at 3pm", "2026-11-27 15:00", 1),
        ("next friday at 3pm", "2026-11-27 15:00", 0),
        ("next sunday at 3pm", "2026-11-22 15:00", 1),
        ("next monday at 3pm", "2026-11-23 15:00", 0),
        ("monday at 3pm", "2026-11-23 15:00", 0),
        ("midnight monday", "2026-11-23 00:00", 1),
        ("midnight tonight", "2026-11-21 00:00", 0),
        ("tomorrow at 5", "2026-11-21 05:00", 1),
        ("tomorrow at 5am", "2026-11-21 05:00", 0),
        ("tomorrow at 05:00", "2026-11-21 05:00", 0),
        ("tomorrow at 9", "2026-11-21 09:00", 0),
        ("tomorrow at 7 in the morning", "2026-11-21 07:00", 0),
        ("19h", "2026-11-21 05:15:30", 1),
        ("2h", "2026-11-20 12:15:30", 0),
        ("end of month at 5pm", "2026-11-30 17:00", 1),
        ("end of this month at 5pm", "2026-11-30 17:00", 0),
        ("end of next month at 5pm", "2026-12-31 17:00", 0),
        ("end of the quarter at 5pm", "2026-12-31 17:00", 0),
    ],
)
def test_a_day_with_two_common_readings_has_a_remark(text: str, at: str, remarks: int) -> None:
    trigger = parse(text, now=NOW)
    assert trigger.upcoming(NOW, 2) == [datetime.fromisoformat(at).replace(tzinfo=UTC)]
    assert len(trigger.warnings) == remarks


def test_this_friday_is_refused_once_its_hour_is_over() -> None:
    with pytest.raises(PhraseError, match="passed 1 h ago"):
        parse("this friday at 9am", now=NOW)
    with pytest.raises(PhraseError):
        parse("this friday", now=NOW)


@pytest.mark.parametrize("text", ["friday week at 9am", "a week from friday at 9am", "a week on friday at 9am"])
def test_a_week_from_a_day_that_is_today_is_refused_with_both_dates(text: str) -> None:
    with pytest.raises(PhraseError, match='Say "2026-11-27 9:00" or "2026-12-04 9:00"'):
        parse(text, now=NOW)
    thursday = NOW - timedelta(days=1)
    assert first(text, now=thursday) == datetime(2026, 11, 27, 9, tzinfo=UTC)


@pytest.mark.parametrize("today", range(7))
@pytest.mark.parametrize("weekday", ["monday", "wednesday", "saturday", "sunday"])
def test_next_week_is_the_same_for_weeks_from_sunday_and_from_monday_or_refused(weekday: str, today: int) -> None:
    now = NOW + timedelta(days=today)
    text = f"{weekday} next week at 9am"
    if "sunday" in (weekday, f"{now:%A}".lower()) and weekday != f"{now:%A}".lower():
        with pytest.raises(PhraseError, match=r'Say "2026-\S+ 9:00" or "2026-\S+ 9:00"'):
            parse(text, now=now)
        return
    found = first(text, now=now)
    assert found is not None
    assert f"{found:%A}".lower() == weekday
    monday = (now - timedelta(days=now.isoweekday() - 1)).date()
    assert timedelta(7) <= found.date() - monday < timedelta(14)


@pytest.mark.parametrize(
    ("text", "tz", "now", "remark"),
    [
        (
            "tomorrow at 2:30am",
            "Europe/Paris",
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            "2:30 on Sunday 25 October 2026 comes twice in Europe/Paris: clocks go back from 3:00 to 2:00 then. "
            'It runs at the first. Say "2026-10-25T01:30:00Z" for the second.',
        ),
        (
            "2026-11-01 1:00",
            "America/New_York",
            datetime(2026, 10, 24, 12, tzinfo=UTC),
            "1:00 on Sunday 1 November 2026 comes twice in America/New_York: clocks go back from 2:00 to 1:00 then. "
            'It runs at the first. Say "2026-11-01T06:00:00Z" for the second.',
        ),
        (
            "in 1 day",
            "Australia/Lord_Howe",
            datetime(2027, 4, 2, 14, 45, tzinfo=UTC),
            "1:45 on Sunday 4 April 2027 comes twice in Australia/Lord_Howe: clocks go back from 2:00 to 1:30 then. "
            'It runs at the first. Say "2027-04-03T15:15:00Z" for the second.',
        ),
    ],
)
def test_a_time_that_the_clock_shows_twice_has_a_remark(text: str, tz: str, now: datetime, remark: str) -> None:
    trigger = parse(text, now=now, tz=tz)
    assert trigger.warnings == (remark,)
    second = remark.split('"')[1]
    found, other = trigger.next_after(now), parse(second, now=now, tz=tz).next_after(now)
    assert found is not None
    assert other is not None
    assert other > found


@pytest.mark.parametrize(
    ("text", "tz"),
    [
        ("2026-10-25 1:59am", "Europe/Paris"), ("2026-10-25 3am", "Europe/Paris"), ("2026-10-25 2:30am", "UTC"),
        ("2026-10-25T01:30:00Z", "Europe/Paris"), ("2026-10-25 02:30 +02:00", "Europe/Paris"),
        ("in 13 hours", "Europe/Paris"), ("in 14 hours", "Europe/Paris"), ("every day at 2:30am", "Europe/Paris"),
    ],
)  # fmt: skip
def test_a_time_that_the_clock_shows_once_has_none(text: str, tz: str) -> None:
    assert parse(text, now=datetime(2026, 10, 24, 11, 30, tzinfo=UTC), tz=tz).warnings == ()


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-12-24 18:00 +01:00", "2026-12-24 17:00"),
        ("2026-12-24 18:00 UTC+1", "2026-12-24 17:00"),
        ("2026-12-24 18:00 -05:30", "2026-12-24 23:30"),
        ("tomorrow at 9am GMT-5", "2026-11-21 14:00"),
        ("tomorrow at 1am UTC+14", "2026-11-21 11:00"),
        ("today at 11:30pm UTC-11", "2026-11-20 10:30"),
        ("18:00Z", "2026-11-20 18:00"),
    ],
)
def test_an_offset_is_that_of_the_wall_clock_and_of_its_date(text: str, at: str) -> None:
    found = parse(text, now=NOW, tz="Asia/Tokyo")
    assert found.next_after(NOW) == datetime.fromisoformat(at).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "same"),
    [("every day at 9am UTC+2", "Etc/GMT-2"), ("every day at 9am -05:00", None), ("mondays at 9am GMT-5", "Etc/GMT+5")],
)
def test_what_recurs_at_an_offset_is_refused_with_a_zone(text: str, same: str | None) -> None:
    with pytest.raises(PhraseError) as caught:
        parse(text, now=NOW)
    if same is not None:
        assert same in (caught.value.remedy or "")
        assert parse(f"every day at 9am {same}", now=NOW).cron is not None


@pytest.mark.parametrize("text", ["2026-12-24 18:00 UTC+25", "9am UTC+2 UTC", "9am UTC UTC+2", "9am +99:00"])
def test_an_offset_that_there_is_not_or_a_second_zone_is_refused(text: str) -> None:
    with pytest.raises(PhraseError):
        parse(text, now=NOW)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-12-24", "24 december", "the 24th", "christmas eve", "tomorrow", "monday", "day after tomorrow"),
        *("monday week", "a week from monday", "the day before christmas", "1st of next month", "first of december"),
        *("start of the month", "monday next week", "Thu, 24 dec 2026"),
    ],
)
def test_a_day_without_an_hour_is_its_beginning(text: str) -> None:
    found = first(text)
    assert found is not None
    assert (found.hour, found.minute, found.second) == (0, 0, 0)
    assert found == first(f"{text} at 0:00")


@pytest.mark.parametrize("text", ["today", "end of month", "end of the year", "end of november", "every month end"])
def test_a_day_whose_beginning_cannot_be_meant_is_refused_with_an_hour(text: str) -> None:
    with pytest.raises(PhraseError, match=rf'"{text} at 5pm"'):
        parse(text, now=NOW)
    assert first(f"{text} at 5pm") is not None
