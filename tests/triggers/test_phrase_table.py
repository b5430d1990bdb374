"""Phrases beyond the recorded ones: what is understood, as what, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.rows import every_row
from workkit.errors import PhraseError
from workkit.triggers.english.phrase import parse

NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)  # a Wednesday

ONCE = """
12 noon tomorrow                        | 2026-11-19 12:00:00
first of march                          | 2027-03-01 00:00:00
the second                              | 2026-12-02 00:00:00
20th at 8am                             | 2026-11-20 08:00:00
day after tomorrow at noon              | 2026-11-20 12:00:00
tonight at 8                            | 2026-11-18 20:00:00
this evening at 7                       | 2026-11-18 19:00:00
tomorrow evening at 7                   | 2026-11-19 19:00:00
7 in the evening                        | 2026-11-18 19:00:00
tomorrow at 9 in the morning            | 2026-11-19 09:00:00
at 10 at night                          | 2026-11-18 22:00:00
monday evening at 7pm                   | 2026-11-23 19:00:00
at ten past seven                       | 2026-11-19 07:10:00
5 minutes to 9                          | 2026-11-19 08:55:00
a quarter past 11                       | 2026-11-18 11:15:00
in 3 days at 9am                        | 2026-11-21 09:00:00
in a month at noon                      | 2026-12-18 12:00:00
in half a minute                        | 2026-11-18 10:16:00
in twenty-five minutes                  | 2026-11-18 10:40:30
in twenty five minutes                  | 2026-11-18 10:40:30
three quarters of an hour               | 2026-11-18 11:00:30
two and a half hours                    | 2026-11-18 12:45:30
in 1.5 seconds                          | 2026-11-18 10:15:32
in 1h 30m 10s                           | 2026-11-18 11:45:40
in 1 year and 2 months                  | 2028-01-18 10:15:30
last day of february 2028 at noon       | 2028-02-29 12:00:00
first monday of may 2027 at 9am         | 2027-05-03 09:00:00
last friday of may 2027                 | 2027-05-28 00:00:00
2026-12-1                               | 2026-12-01 00:00:00
2026-12-01T09:00:00.000Z                | 2026-12-01 09:00:00
2026-12-01T09:00:00.5Z                  | 2026-12-01 09:00:01
2026-12-01 09:00:00+0200                | 2026-12-01 07:00:00
Tue, 1 Dec 2026 09:00                   | 2026-12-01 09:00:00
dec the 1st, 2026 at 9                  | 2026-12-01 09:00:00
monday the 23rd at 9                    | 2026-11-23 09:00:00
once, Friday 20 November 2026 at 10:20  | 2026-11-20 10:20:00
9am in Europe/Paris                     | 2026-11-19 08:00:00
9am europe/paris tomorrow               | 2026-11-19 08:00:00
7pm, tomorrow                           | 2026-11-19 19:00:00
a week on monday                        | 2026-11-30 00:00:00
9am tomorrow +02:00                     | 2026-11-19 07:00:00
9.30am                                  | 2026-11-19 09:30:00
at 0930                                 | 2026-11-19 09:30:00
9 o'clock pm                            | 2026-11-18 21:00:00
at 9 p.m.                               | 2026-11-18 21:00:00
"""

EVERY = """
every weekday except friday at 9am             | * * * 1-4 9 0 0
every day except weekends at 9                 | * * * 1-5 9 0 0
every day but sunday at noon                   | * * * 1-6 12 0 0
daily at 9 on weekdays                         | * * * 1-5 9 0 0
every weekday and saturday at 8                | * * * 1-6 8 0 0
friday to monday at noon                       | * * * 0-1,5-6 12 0 0
mon-fri at 9                                   | * * * 1-5 9 0 0
mondays and thursdays at noon                  | * * * 1,4 12 0 0
every monday, wednesday, and friday at 7       | * * * 1,3,5 7 0 0
every 2 weeks on friday and saturday           | * * * 5/2,6/2 0 0 0
fortnightly on monday at 9                     | * * * 1/2 9 0 0
every other weekend at 10                      | * * * 0/2,6/2 10 0 0
every other friday and every monday at 9       | * * * 1,5/2 9 0 0
every morning at 7                             | * * * * 7 0 0
every evening at 7                             | * * * * 19 0 0
every night at 10                              | * * * * 22 0 0
every midnight                                 | * * * * 0 0 0
every day at 12 noon                           | * * * * 12 0 0
every 15 minutes on weekdays between 9am and 5pm | * * * 1-5 9-17 */15 0
every hour 9am-5pm on weekdays                 | * * * 1-5 9-17 0 0
every hour from 9:00 to 17:00                  | * * * * 9-17 0 0
every 5 minutes from noon to 12:30pm           | * * * * 12 0-30/5 0
every 20 minutes from 9:00:00 to 9:59:59       | * * * * 9 */20 0
every hour at :15 and :45                      | * * * * * 15,45 0
every hour at half past                        | * * * * * 30 0
every 2 hours at :30                           | * * * * */2 30 0
every hour at :15 from 9am to 5pm              | * * * * 9-17 15 0
every second minute                            | * * * * * */2 0
every second on mondays                        | * * * 1 * * *
every 7 minutes on mondays                     | * * * 1 * * 0/7
every 1h30m                                    | * * * * * * 0/90
every hour and a half                          | * * * * * * 0/90
every 1.5 hours                                | * * * * * * 0/90
every quarter of an hour                       | * * * * * */15 0
every 9 hours at :15                           | * * * * * 15/9 0
4 times a minute                               | * * * * * * */15
six times a day                                | * * * * */4 0 0
twice a day at 9am and 5pm                     | * * * * 9,17 0 0
twice a week on monday and friday at 9         | * * * 1,5 9 0 0
once a month on the 15th                       | * * 15 * 0 0 0
first and third monday of the month            | * * * 1#1,1#3 0 0 0
every 1st and 3rd friday of the month at 9     | * * * 5#1,5#3 9 0 0
every second tuesday of the month at 9         | * * * 2#2 9 0 0
every third friday of march at 9               | * 3 * 5#3 9 0 0
first monday and last friday of the month      | * * * 1#1,5L 0 0 0
monthly on the first monday at 9               | * * * 1#1 9 0 0
first monday at 9am every month                | * * * 1#1 9 0 0
every other month on the last friday           | * */2 * 5L 0 0 0
noon on the last day of the month              | * * L * 12 0 0
on the 15th and last day of every month        | * * 15,L * 0 0 0
on the 1st to 7th of every month               | * * 1-7 * 0 0 0
on the first of every month at 9               | * * 1 * 9 0 0
every 1st and 15th of the month at noon        | * * 1,15 * 12 0 0
every 15th day of the month at 9               | * * 15 * 9 0 0
every december 24 and 25 at 9am                | * 12 24-25 * 9 0 0
every march and june on the 5th                | * 3,6 5 * 0 0 0
9am on the 5th in every march                  | * 3 5 * 9 0 0
every monday from march to june                | * 3-6 * 1 0 0 0
every monday from november to february         | * 1-2,11-12 * 1 0 0 0
every monday in every other march              | * 3/2 * 1 0 0 0
every other year on dec 25                     | * 12/2 25 * 0 0 0
every 12 months                                | * 1 1 * 0 0 0
every 13 months on the 5th                     | * * 5/13 * 0 0 0
yearly in march                                | * 3 1 * 0 0 0
every day at 9am through 2028                  | 1970-2028 * * * 9 0 0
every day at 9am before 2028                   | 1970-2027 * * * 9 0 0
every day at 9am until 31 december 2026        | 1970-2026 * * * 9 0 0
every monday at 9am from 2027                  | 2027-9999 * * 1 9 0 0
every day at 9am starting now                  | * * * * 9 0 0
every day from march 2027 to june 2027 at 9    | 2027 3-6 * * 9 0 0
on the 13th of the month or any friday at 9    | * * 13 5 9 0 0
"""

REFUSED = """
in the morning | tomorrow evening | every morning | tonight | tonight at 7am | 7am in the evening | 12 in the morning
next weekend | this week | next year on march 3 | in a couple of minutes | every few minutes | in a moment | later
weekend | on the weekend | monday and thursday at noon | tomorrow at 9 and 17 | 9am and 5pm | the 1st and 15th at noon
first monday | last friday | last friday at 9 | every first monday | first monday of 2027 | the 15th in 2027
first and third monday of may 2027 | friday the 13th | 6th friday of the month | last weekday of the month
every other monday and thursday | every 2 weeks on monday and friday | every other weekday | every week
every fortnight | biweekly | bimonthly | biannually | monthly on monday | yearly on the 1st
every quarter on the last day
every second march | every 3rd day of march | every 15th | every 2nd second | every 5 months on the 31st
every monday on the 15th | every day on the 15th | every day on monday | every 2 days on weekdays
every hour at 9am | every 5 minutes at :15 | every day at :15 | every day from 9am to 5pm | from 9am to 5pm
every hour from 9 to 5 | every hour from 9:00 to 5:00 | every hour from 9 to 5pm | every hour from 9:30am to 5pm
every hour from 6pm to midnight | every 2 hours from 9am to 5pm | every 20 minutes from 9:10am to 3:15pm
every 7 minutes between 9am and 5pm | every hour from 10pm to 2am on fridays | every 2 hours at :15 from 9am to 5pm
every day at 9am and 5 | every day at 5 and 6pm | at 5:30 and 6:30pm | monday or tuesday at noon
every day at 9am from 1 march to 15 march | every day until march | every day until 2028 | every 5 minutes until 5pm
every day from 2028 to 2027 | every day until 2027-01-31 starting 2027-02-01 | until tomorrow | from tomorrow
every monday and every friday at 9am and every sunday | every monday at 9am until 2027-05-01 and every friday at 9am
every day except sunday except monday | every month except sundays | every weekday except weekdays | every day except
5 times a day | twice a day at 9am | 0 times a day | three times | twice | once | twice a year
every 90 seconds on sundays | every 90 seconds from 9am to 5pm | every 3 days | every other day | every 2 weeks
every 7 hours starting at 9am | every 90 seconds from 3am | every 7 seconds at 9am | starting at 9am
every 6 hours starting at 3am and 4am | every 6 hours starting 2027 at 3am
every 1.5 minutes and | every half day | every 1 day 3 hours | every 0 hours
every 1000000000 minutes | in 9999999999999 days | in 0 minutes | in half a day | 1.5 days | in 5 minutes 2 hours
in 2 hours at 9am | now now | tomorrow today | monday monday | at 9am at 10am | utc | 9am utc utc
9am GMT | 9am CET | tue/thu at 9 | 9am ../etc | 12/25 | 1.12.2026 | 25 dec 26 | december 2026
31 november | 2027-04-31 | feb 30 2028 | 0th | the 0th | 32 january | 2027-00-10 | 1969-12-31 | 10000-01-01
every day at 24:00 | 25:61 | 0930 | 9:5 | at 9:60 | 00:30am | 13:00pm
the the 1st | every every day | every day day | tomorrow, | , tomorrow | at tomorrow | on at 9am | and | every and
in 1,000 seconds | in .5 hours | in five | 5 | second | in a | every other | every 2nd | +5 minutes
* * * * * | */5 * * * * | 0 9 * * mon-fri | @hourly | 0 0 9 * * MON | * * * * * * * * | 2027 1 1 * 24 0 0
"""


def lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.rsplit("|", 1)] for line in table.strip().splitlines()]


@every_row(("text", "utc"), lines(ONCE))
def test_parse_understands_one_time(text: str, utc: str) -> None:
    trigger = parse(text, now=NOW)
    assert not trigger.recurs
    assert trigger.upcoming(NOW, 2) == [datetime.fromisoformat(utc).replace(tzinfo=UTC)]


@every_row(("text", "cron"), lines(EVERY))
def test_parse_understands_what_recurs(text: str, cron: str) -> None:
    trigger = parse(text, now=NOW)
    assert (trigger.recurs, trigger.cron) == (True, cron)


@every_row("text", [text.strip() for text in REFUSED.strip().replace("\n", " | ").split(" | ")])
def test_parse_refuses_words_that_leave_the_time_open(text: str) -> None:
    with pytest.raises(PhraseError):
        parse(text, now=NOW)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("every friday the 13th at 9am", ("* * &13 5 9 0 0",)),
        ("every monday at 9am and every friday at 5pm", ("* * * 1 9 0 0", "* * * 5 17 0 0")),
        ("every 5 minutes and every day at 9:01", ("* * * * * */5 0", "* * * * 9 1 0")),
        ("daily at 9am, noon and 5:30pm", ("* * * * 9,12 0 0", "* * * * 17 30 0")),
        ("every day at 9:00, 9:30, 17:00 and 17:30", ("* * * * 9,17 0,30 0",)),
        ("every 30 minutes from 9:30am to 4:30pm", ("* * * * 9 30 0", "* * * * 10-16 0,30 0")),
        ("every hour from 10pm to 2am", ("* * * * 0-2,22-23 0 0",)),
        ("every 15 minutes from 9am until 5pm", ("* * * * 17 0 0", "* * * * 9-16 */15 0")),
        ("every 5 seconds from 9:30 to 9:31", ("* * * * 9 30-31 */5",)),
    ],
)
def test_times_beyond_one_string_become_several_rules(text: str, rules: tuple[str, ...]) -> None:
    assert parse(text, now=NOW).rules == rules


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("every day at 9am starting tomorrow", "2026-11-19", None),
        ("every day at 9am from monday", "2026-11-23", None),
        ("every day at 9am until friday", None, "2026-11-21"),
        ("every day at 9am until the end of the month", None, "2026-12-01"),
        ("every day at 9am until the end of november 2026", None, "2026-12-01"),
        ("every monday from 10 january 2027 to 20 march 2027", "2027-01-10", "2027-03-21"),
        ("every 5 minutes starting 2027-01-01T09:00", "2027-01-01T09:00", None),
        ("every 5 minutes before 2027-01-02T09:00Z", None, "2027-01-02T09:00"),
        ("every 5 minutes from now on until tomorrow", None, "2026-11-20"),
    ],
)
def test_bounds_that_fit_no_field_go_beside_the_rules(text: str, start: str | None, end: str | None) -> None:
    trigger = parse(text, now=NOW)
    expected = [None if day is None else datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (start, end)]
    assert [trigger.start, trigger.end] == expected
    assert trigger.cron is None


@pytest.mark.parametrize(
    "text",
    [
        "every day at 9am until 2027-02-15",
        "every day at 9am until the end of february 2027",
        "every day at 9am until the end of 2027",
        "every day at 9am starting 2026-03-01",
        "every day at 9am starting 2026-01-01",
        "every monday from 2026-02-01 to 2027-05-31",
        "every other day at 9am in march",
    ],
)
def test_the_same_words_are_the_same_trigger_later_on(text: str) -> None:
    days = [datetime(2025, 12, 31, tzinfo=UTC), NOW, datetime(2027, 2, 1, tzinfo=UTC)]
    assert len({parse(text, now=now) for now in days}) == 1


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Europe/Paris"])
@pytest.mark.parametrize(
    ("text", "cron"), [("every 7 minutes", "* * * * * * 0/7"), ("every 5 hours", "* * * * * 0/5 0")]
)
def test_an_interval_without_a_place_on_the_clock_knows_no_zone(text: str, cron: str, zone: str) -> None:
    trigger = parse(text, now=NOW, tz=zone)
    assert (trigger.cron, trigger.tz) == (cron, "UTC")
    assert "local" not in parse(f"{text.replace('7 minutes', '9 hours')} at :15", now=NOW, tz=zone).fields()


def test_a_bound_may_be_the_second_of_two_equal_times() -> None:
    trigger = parse("every 5 minutes starting 2027-10-31T01:30Z", now=NOW, tz="Europe/Paris")
    assert trigger.start == datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
