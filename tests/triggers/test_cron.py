"""The seven-field grammar against the vectors, and every way of being refused."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tests.rows import every_row
from workkit.errors import CronError
from workkit.triggers import cron
from workkit.triggers.crons.cron import Cron, parse_cron

VECTORS = Path(__file__).parents[2] / "spec" / "vectors" / "cron_next.json"


@cache
def vectors() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(VECTORS.read_text(encoding="utf-8"))
    return loaded


def seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def upcoming(read: Cron, after: int, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count and (later := read.next(found[-1] if found else after)) is not None:
        found.append(later)
    return found


def first(text: str, count: int = 3, *, after: str = "2026-11-20 10:15:30", rule: bool = False) -> list[str]:
    """The next firings, as texts."""
    found = upcoming(parse_cron(text, rule=rule), seconds(after), count)
    return [datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S") for second in found]


def test_next_gives_the_recorded_times() -> None:
    cases = vectors()["cases"]
    wrong = [
        (case["cron"], case["from"])
        for case in cases
        if [s * 1000 for s in upcoming(parse_cron(case["cron"]), case["from"] // 1000, 3)] != (case["next"] or [])
    ]
    assert not wrong
    assert len(cases) >= 792


@every_row("case", vectors()["errors"])
def test_recorded_errors_are_refused_in_one_line(case: dict[str, str]) -> None:
    with pytest.raises(CronError) as caught:
        cron(case["cron"])
    assert caught.value.given == case["cron"]
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 400
    assert "Accepted: " in message


def test_the_readme_example_fires_on_sundays_9_and_23_march_2014() -> None:
    read = parse_cron("2014 3 * 0/2,3 9-17 * */5")
    found = upcoming(read, 0, 1_000_000)
    days = sorted({datetime.fromtimestamp(second, UTC).day for second in found})
    assert days == [5, 9, 12, 19, 23, 26]
    assert len(found) == len(days) * 9 * 60 * 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* * L * 0 0 0", ["2026-11-30 00:00:00", "2026-12-31 00:00:00", "2027-01-31 00:00:00"]),
        ("* 2 l * 0 0 0", ["2027-02-28 00:00:00", "2028-02-29 00:00:00", "2029-02-28 00:00:00"]),
        ("* * 15,L * 0 0 0", ["2026-11-30 00:00:00", "2026-12-15 00:00:00", "2026-12-31 00:00:00"]),
        ("* * 30-L * 0 0 0", ["2026-11-30 00:00:00", "2026-12-30 00:00:00", "2026-12-31 00:00:00"]),
        ("* * * 5L 0 0 0", ["2026-11-27 00:00:00", "2026-12-25 00:00:00", "2027-01-29 00:00:00"]),
        ("* * ? friL 0 0 0", ["2026-11-27 00:00:00", "2026-12-25 00:00:00", "2027-01-29 00:00:00"]),
        ("* * ? Sunday#1 0 0 0", ["2026-12-06 00:00:00", "2027-01-03 00:00:00", "2027-02-07 00:00:00"]),
        ("* * ? 1#5 0 0 0", ["2026-11-30 00:00:00", "2027-03-29 00:00:00", "2027-05-31 00:00:00"]),
        ("* * ? 1#1,1#3 0 0 0", ["2026-12-07 00:00:00", "2026-12-21 00:00:00", "2027-01-04 00:00:00"]),
        ("* JAN,july 1 ? 0 0 0", ["2027-01-01 00:00:00", "2027-07-01 00:00:00", "2028-01-01 00:00:00"]),
        ("* * * MON-wednesday 0 0 0", ["2026-11-23 00:00:00", "2026-11-24 00:00:00", "2026-11-25 00:00:00"]),
        ("* * * wed/2 9 0 0", first("* * * 3/2 9 0 0")),
        ("* * ? ? 0 0 0", ["2026-11-21 00:00:00", "2026-11-22 00:00:00", "2026-11-23 00:00:00"]),
        ("* * * * 09 05 00", ["2026-11-21 09:05:00", "2026-11-22 09:05:00", "2026-11-23 09:05:00"]),
        ("* * * * 9-17/4 0 0", ["2026-11-20 13:00:00", "2026-11-20 17:00:00", "2026-11-21 09:00:00"]),
        ("2020-2099/10 1 1 * 0 0 0", ["2030-01-01 00:00:00", "2040-01-01 00:00:00", "2050-01-01 00:00:00"]),
        ("* * * * *,5 0 0", ["2026-11-20 11:00:00", "2026-11-20 12:00:00", "2026-11-20 13:00:00"]),
        ("* * * * 3/1 0 0", ["2026-11-21 03:00:00", "2026-11-22 03:00:00", "2026-11-23 03:00:00"]),
    ],
)
def test_forms_beyond_the_vectors(text: str, expected: list[str]) -> None:
    assert first(text) == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("* * &13 5 0 0 0", ["2027-08-13 00:00:00", "2028-10-13 00:00:00", "2029-04-13 00:00:00"]),
        ("* * &L 5L 0 0 0", ["2027-04-30 00:00:00", "2027-12-31 00:00:00", "2028-03-31 00:00:00"]),
        ("* 2 &29 1 0 0 0", ["2044-02-29 00:00:00", "2072-02-29 00:00:00", "2112-02-29 00:00:00"]),
        ("* * ? =1-5L 0 0 0", ["2026-11-30 00:00:00", "2026-12-31 00:00:00", "2027-01-29 00:00:00"]),
        ("* * ? =1-5#1 0 0 0", ["2026-12-01 00:00:00", "2027-01-01 00:00:00", "2027-02-01 00:00:00"]),
        ("* * ? =0,6#3 0 0 0", ["2026-12-12 00:00:00", "2027-01-09 00:00:00", "2027-02-13 00:00:00"]),
    ],
)
def test_forms_that_only_rules_have_are_read_in_rules(rule: str, expected: list[str]) -> None:
    assert first(rule, rule=True) == expected
    with pytest.raises(CronError):
        parse_cron(rule)


@pytest.mark.parametrize(
    "text",
    [
        "* 2 30 * 0 0 0",
        "* 2,4,6,9,11 31 * 0 0 0",
        "* 2 30,31 * * * *",
        "2100 2 29 * 0 0 0",
        "1971-9999/4 2 29 * 0 0 0",
        "* * * 0 9/7 0 0",
        "* * * * 5 0/24 0",
        "* 1 13/2 * 0 0 0",
        "* 3/3 13/2 * 0 0 0",
        "* * * * 0/999999999 0 0",
        "* * * 0/999999999 0 0 0",
    ],
)
def test_what_never_fires_is_known_from_the_start(text: str) -> None:
    assert parse_cron(text).next(-1) is None


def test_nothing_fires_before_1970_or_after_9999() -> None:
    every = parse_cron("* * * * * * *")
    assert every.next(-(10**15)) == 0
    last = seconds("9999-12-31 23:59:59")
    assert every.next(last - 1) == last
    assert every.next(last) is None
    assert every.next(10**18) is None


def test_a_step_of_four_digits_is_no_year() -> None:
    """A minute has no 1440th occurrence but once a day, so this is 23:59 every day."""
    assert first("* * * * * * 0/1440", 2) == ["2026-11-20 23:59:00", "2026-11-21 23:59:00"]


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("* * * * 24 0 0", 'cron="* * * * 24 0 0": 24 (field 5, hour) is out of range. Accepted: 0-23.', 8),
        (
            "0 0 9 * * 1 2027",
            'cron="0 0 9 * * 1 2027" ends in a year: it is in the order of the Clojure code. '
            'Write "2027 * * 1 9 0 0", or use a schedule with dialect="cuckoo".',
            12,
        ),
        ("* * * * 17-9 0 0", 'cron="* * * * 17-9 0 0": 17-9 (field 5, hour) runs backwards.', 8),
        ("* * * * * */0 0", 'cron="* * * * * */0 0": */0 (field 6, minute) has a step of zero.', 10),
        ("* * * * * 1,,2 0", 'cron="* * * * * 1,,2 0": "" (field 6, minute) is an empty item.', 12),
        ("* * * thurs 0 0 0", 'cron="* * * thurs 0 0 0": thurs (field 4, day-of-week) is not a day-of-week name.', 6),
        ("* * * 1#6 0 0 0", 'cron="* * * 1#6 0 0 0": 1#6 (field 4, day-of-week) names no weekday of a month.', 6),
        ("26 1 1 * 0 0 0", 'cron="26 1 1 * 0 0 0": 26 (field 1, year) is not a year of four digits.', 0),
        ("2026/2 1 1 * 0 0 0", "2026/2 (field 1, year) can't be counted, as a year comes once.", 0),
        ("* * * * * 5, 0 0", 'cron="* * * * * 5, 0 0" has 8 fields. Accepted: seven', 0),
        ("* * * * * * *\n", 'cron="* * * * * * *\\n" has a blank too many', 13),
    ],
)
def test_refusals_say_what_where_and_what_instead(text: str, message: str, position: int) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert message in str(caught.value)
    assert caught.value.position == position
    assert caught.value.accepted
    assert str(caught.value).endswith(f"{caught.value.trouble}. {caught.value.remedy}")


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(CronError) as caught:
        parse_cron("* * * wensday 0 0 0")
    assert "Did you mean wednesday?" in str(caught.value)
    assert caught.value.suggestion == "* * * wednesday 0 0 0"


@pytest.mark.parametrize("value", [None, 5, b"* * * * * * *", ["*"] * 7])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    with pytest.raises(CronError, match="is not text"):
        parse_cron(value)


def test_stored_text_may_have_any_run_of_blanks() -> None:
    assert parse_cron(" \t* *  * 1-5\t9 0 0  ", stored=True) == parse_cron("* * * 1-5 9 0 0")
    with pytest.raises(CronError):
        parse_cron("* *  * 1-5 9 0 0")


def test_a_repeated_text_is_not_read_again() -> None:
    assert parse_cron("* * * 1-5 9 0 7") is parse_cron("* * * 1-5 9 0 7")


@pytest.mark.parametrize(
    "text",
    [
        "*" * 1_000_000,
        "* " * 500_000,
        "* * * * * " + "0," * 400 + "0 0",
        "* * * * * 9" + "9" * 100_000 + " 0",
        "* * * * * " + ",".join(f"{v}/2" for v in range(60)) + " " + ",".join(f"{v}/3" for v in range(60)),
        "* * * * " + ",".join(f"{v}/{v + 2}" for v in range(24)) + " 0/5,1/6,2/7,3/8,4/9 0",
        "\x00 * * * * * *",
        "\ud800 * * * * * *",
        "* * * * * * " + "-" * 500,
    ],
)
def test_hostile_texts_are_read_or_refused_at_once(text: str) -> None:
    began = process_time()
    with suppress(CronError):
        parse_cron(text).next(0)
    assert process_time() - began < 0.3
