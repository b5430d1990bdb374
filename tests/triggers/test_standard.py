"""Crontab lines: what they become, what is refused, and croniter on lines that both read alike."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rows import every_row
from workkit.errors import CronError, TriggerError
from workkit.triggers import cron
from workkit.triggers.dialect import standard

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)


@every_row(
    ("text", "seven"),
    [
        ("* * * * *", "* * * * * * 0"),
        ("0 9 * * 1-5", "* * * 1-5 9 0 0"),
        ("*/15 9-17 * * MON-fri", "* * * 1-5 9-17 */15 0"),
        ("  5\t4  1 1 *  ", "* 1 1 * 4 5 0"),
        ("07 09 1 january,July *", "* 1,7 1 * 9 7 0"),
        ("5/15 * * * *", "* * * * * 5-50/15 0"),
        ("59/15 * * * *", "* * * * * 59 0"),
        ("10-20/3 * * * *", "* * * * * 10-19/3 0"),
        ("*/90 * * * *", "* * * * * 0 0"),
        ("5-5,7-7/2 * * * *", "* * * * * 5,7 0"),
        ("*,5 * * * *", "* * * * * * 0"),
        ("0-59 0-23 1-31 1-12 *", "* * * * * * 0"),
        ("0 0 * * 7", "* * * 0 0 0 0"),
        ("0 0 * * 5-7", "* * * 0,5-6 0 0 0"),
        ("0 0 * * fri-sun", "* * * 0,5-6 0 0 0"),
        ("0 0 * * 1-7/2", "* * * 0-1,3,5 0 0 0"),
        ("0 0 * * 0-7", "* * * * 0 0 0"),
        ("0 0 * * sun-sat", "* * * * 0 0 0"),
        ("0 0 * * 7-7", "* * * 0 0 0 0"),
        ("0 0 * * 2/3", "* * * 2,5 0 0 0"),
        ("0 0 ? * ?", "* * * * 0 0 0"),
        ("0 0 L * *", "* * L * 0 0 0"),
        ("0 0 15,L * *", "* * 15,L * 0 0 0"),
        ("0 0 * * fri#2,1#1", "* * * 1#1,5#2 0 0 0"),
        ("0 0 * * 5L", "* * * 5L 0 0 0"),
        ("0 0 * * 7L", "* * * 0L 0 0 0"),
        ("0 0 31 2 *", "* 2 31 * 0 0 0"),
        ("@hourly", "* * * * * 0 0"),
        ("@daily", "* * * * 0 0 0"),
        ("@MIDNIGHT", "* * * * 0 0 0"),
        ("@weekly", "* * * 0 0 0 0"),
        ("@monthly", "* * 1 * 0 0 0"),
        ("@yearly", "* 1 1 * 0 0 0"),
        ("@annually", "* 1 1 * 0 0 0"),
    ],
)
def test_lines_become_seven_fields(text: str, seven: str) -> None:
    for dialect in ("auto", "standard"):
        read = cron(text, dialect)
        assert (read.cron, read.rules, read.tz, read.recurs, read.warnings) == (seven, (seven,), "UTC", True, ())


@pytest.mark.parametrize(
    ("text", "seven", "either"),
    [
        ("0 0 13 * 5", "* * 13 5 0 0 0", "the 13th, and every Friday"),
        ("0 0 1,15,L * sat,sun", "* * 1,15,L 0,6 0 0 0", "the 1st, 15th and last day, and every Sunday and Saturday"),
        ("0 0 */2 * 1", "* * */2 1 0 0 0", "the days */2 of the month, and every Monday"),
        ("0 0 13 * */2", "* * 13 */2 0 0 0", "the 13th, and every Sunday, Tuesday, Thursday and Saturday"),
        ("0 0 1-31 * 5", "* * 1-31 5 0 0 0", "the days 1-31 of the month, and every Friday"),
        ("0 0 13 * 0-7", "* * 13 0-6 0 0 0", "the 13th, and every Sunday to Saturday"),
        ("0 0 13 * 1#1", "* * 13 1#1 0 0 0", "the 13th, and the weekdays 1#1"),
    ],
)
def test_both_day_fields_mean_either_and_warn(text: str, seven: str, either: str) -> None:
    read = cron(text, "auto")
    assert read.cron == seven
    assert read.warnings == (f'cron="{text}" sets both day fields, so either is enough: {either}.',)


def test_six_fields_put_the_second_first_if_the_caller_says_so() -> None:
    assert cron("0 0 9 * * 1", "standard").cron == "* * * 1 9 0 0"
    assert cron("*/20 30 9 1 JAN ?", "standard").cron == "* 1 1 * 9 30 */20"


def test_six_fields_are_refused_showing_both_readings() -> None:
    with pytest.raises(CronError) as caught:
        cron("0 0 9 * * 1", "auto")
    assert str(caught.value) == (
        'cron="0 0 9 * * 1" has six fields, which has two readings: second first, every Monday at 9:00 = '
        '"* * * 1 9 0 0"; second last, the 9th of the month at 0:00:01 = "* * 9 * 0 0 1". Copy the one you mean.'
    )


@pytest.mark.parametrize(
    ("text", "tz", "said"),
    [
        ("0 0 9 * * MON", "UTC", 'With the second first it is every Monday at 9:00 = "* * * 1 9 0 0"'),
        ("0 9 * * MON 30", "UTC", 'With the second last it is every Monday at 9:00:30 = "* * * 1 9 0 30"'),
        ("0 0 9 * * 1", "Europe/Paris", "every Monday at 9:00 Europe/Paris; second last, the 9th of the month"),
        ("0 0 9 * * 1", "Europe/Paris", "Say the one you mean in words."),
        ("a b c d e f", "UTC", "make no sense second first or second last"),
    ],
)
def test_six_fields_are_refused_with_what_they_could_be(text: str, tz: str, said: str) -> None:
    with pytest.raises(CronError) as caught:
        standard(text, tz=tz)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said", "position"),
    [
        ("60 * * * *", "60 (field 1, minute) is out of range. Accepted: 0-59.", 0),
        ("0 0 0 * *", "0 (field 3, day-of-month) is out of range. Accepted: 1-31.", 4),
        ("0 0 * * 8", "8 (field 5, day-of-week) is out of range. Accepted: 0-7.", 8),
        ("0 0 * * fri-mon", "runs backwards. Accepted: the lower end first. Write 5-6,0-1.", 8),
        ("0 22-2 * * *", "Write 22-23,0-2.", 2),
        ("0 0 * * 5/2", "may leave Sunday out or in. Accepted: 5-6/2 or 5-7/2.", 8),
        ("0 0 * * 7/2", "may leave Sunday out or in", 8),
        ("0 0 * * 1,2#3", "mixes weekdays with weekdays of the month", 8),
        ("0 0 * * 1#6", "is not understood", 8),
        ("0 0 * * L5", "is not understood", 8),
        ("0 0 * * tuesdya", "Did you mean tuesday?", 8),
        ("0 0 * jan,fbe *", "is not a month name", 6),
        ("H * * * *", "H (field 1, minute) is not understood", 0),
        ("H/15 * * * *", "H/15 (field 1, minute) is not understood", 0),
        ("R * * * *", "is not understood", 0),
        ("0 0 15W * *", "15W (field 3, day-of-month) is not understood", 4),
        ("0 0 L-3 * *", "is not understood", 4),
        ("? * * * *", "is not understood", 0),
        ("*/0 * * * *", "has a step out of range", 0),
        ("1, * * * *", '"" (field 1, minute) is an empty item', 0),
        ("-1 * * * *", "is not understood", 0),
        ("٣ * * * *", "is not understood", 0),
        ("@reboot", "is no time, but the start of a machine", None),
        ("@dayly", 'Did you mean "@daily"?', 0),
        ("@daily *", "has 2 fields", 0),
        ("0 9 * *", "has 4 fields. Accepted: five fields", 0),
        ("", "has 0 fields", 0),
    ],
)
def test_refusals_say_what_where_and_what_instead(text: str, said: str, position: int | None) -> None:
    with pytest.raises(CronError) as caught:
        cron(text, "auto")
    assert said in str(caught.value)
    assert caught.value.given == text
    assert caught.value.position == position
    assert caught.value.accepted


def test_the_place_counts_the_second_in_six_fields() -> None:
    with pytest.raises(CronError) as caught:
        cron("0 0 24 * * 1", "standard")
    assert "24 (field 3, hour) is out of range" in str(caught.value)
    assert caught.value.position == 4


@pytest.mark.parametrize("value", [None, 5, b"* * * * *"])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(CronError, match="is not text"):
        cron(value, "auto")


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(TriggerError, match="Europe/Pariss"):
        cron("0 9 * * *", "auto", tz="Europe/Pariss")


@pytest.mark.parametrize(
    ("text", "tz", "seven"),
    [
        ("0 9 * * 1-5", "Asia/Kolkata", "* * * 1-5 3 30 0"),
        ("@weekly", "Asia/Tokyo", "* * * 6 15 0 0"),
        ("*/15 * * * *", "Europe/Paris", "* * * * * */15 0"),
        ("0 9 * * 1-5", "Europe/Paris", None),
        ("0 9 * * *", "Asia/Shanghai", None),
    ],
)
def test_a_line_is_read_in_its_zone(text: str, tz: str, seven: str | None) -> None:
    """It becomes a UTC string only where that is the same at every time since 1970: Shanghai once had summer time."""
    read = cron(text, "auto", tz=tz)
    assert (read.tz, read.cron) == (tz, seven)
    assert read.rules == cron(text, "auto").rules
    assert (read.fields().get("local") is None) is (seven is not None)


@pytest.mark.parametrize("tz", ["Europe/Paris", "Asia/Kathmandu", "America/St_Johns", "Asia/Shanghai", "Etc/GMT+5"])
def test_a_line_fires_by_the_clock_of_its_zone(tz: str) -> None:
    for year in (1990, 2026, 2046):
        for t in cron("30 9 13 * 5", "auto", tz=tz).upcoming(datetime(year, 1, 1, tzinfo=UTC), 90):
            local = t.astimezone(ZoneInfo(tz))
            assert (local.hour, local.minute, local.second) == (9, 30, 0)
            assert local.day == 13 or local.weekday() == 4


def _reads(field: str, value: int, high: int) -> bool:
    """Tell as a crontab does whether a field names a value; `a/n` goes from a to the end."""
    for item in field.split(","):
        body, slash, step = item.partition("/")
        first, dash, last = body.partition("-")
        low, top = (0, high) if body == "*" else (int(first), int(last) if dash else high if slash else int(first))
        if body == "*" and high in (31, 12):
            low = 1
        if low <= value <= top and (value - low) % int(step or 1) == 0:
            return True
    return False


def _field(low: int, high: int) -> st.SearchStrategy[str]:
    value, step = st.integers(low, high), st.integers(1, 20)
    span = st.tuples(value, value).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    item = st.one_of(
        value.map(str),
        span,
        step.map(lambda n: f"*/{n}"),
        st.tuples(span, step).map(lambda drawn: f"{drawn[0]}/{drawn[1]}"),
        st.tuples(value, step).map(lambda drawn: f"{drawn[0]}/{drawn[1]}"),
    )
    return st.one_of(st.just("*"), st.lists(item, min_size=1, max_size=3).map(",".join))


@settings(deadline=None, max_examples=200)
@given(_field(0, 59), _field(0, 23), _field(1, 31), _field(1, 12), _field(0, 7))
def test_the_values_are_those_of_a_crontab(minute: str, hour: str, day: str, month: str, weekday: str) -> None:
    """Walk some days and hours, and compare with the fields tried one by one."""
    text = f"{minute} {hour} {day} {month} {weekday}"
    try:
        found = cron(text, "auto")
    except CronError as error:
        refused = str(error)
        found = None
    if found is None:
        assert "Sunday out or in" in refused
        return
    start, end = datetime(2027, 2, 20, tzinfo=UTC), datetime(2027, 3, 12, tzinfo=UTC)
    expected = []
    for n in range(int((end - start) / timedelta(days=1))):
        today = start + timedelta(days=n)
        names = {today.isoweekday() % 7, today.isoweekday()} if today.isoweekday() == 7 else {today.isoweekday()}
        by_number, by_name = _reads(day, today.day, 31), any(_reads(weekday, name, 7) for name in names)
        fits = by_number and by_name if "*" in (day, weekday) else by_number or by_name
        if fits and _reads(month, today.month, 12):
            expected += [
                today + timedelta(hours=h, minutes=m)
                for h in range(24)
                if _reads(hour, h, 23)
                for m in range(60)
                if _reads(minute, m, 59)
            ]
    assert [t for t in found.upcoming(start - timedelta(seconds=1), 40) if t < end] == expected[:40]


@pytest.mark.parametrize(
    "text",
    [
        "0," * 5_000,
        "9" * 10_000 + " * * * *",
        "*/" + "9" * 900 + " * * * *",
        "@" * 10_000,
        "* * * * " + "mon," * 240 + "1",
    ],
)
def test_hostile_texts_cost_little(text: str) -> None:
    began = time.process_time()
    with suppress(CronError):
        cron(text, "auto").next_after(NOW)
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize("odd", ["\n", "\x1c", "\u2003", "\x00"])
def test_a_field_that_is_another_blank_is_refused(odd: str) -> None:
    with pytest.raises(CronError):
        cron(f"0 9 * {odd} * 1", "auto")
