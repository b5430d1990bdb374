"""Clock changes: every zone that has one in 2026 to 2028, minute by minute, and the sentences about zones."""

from __future__ import annotations

import io
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import pytest

from tests.rows import every_row
from workkit.cli.options import zone_of
from workkit.cli.settings import Settings
from workkit.errors import TriggerError
from workkit.triggers import parse
from workkit.triggers.crons.cron import parse_cron
from workkit.triggers.trigger import Trigger
from workkit.triggers.zone import names_every_hour, nearest_zone, next_local, standard_offset, zone, zone_names

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2026, 2029))
HOUR, DAY = 3_600, 86_400
TZIF = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, 4) + struct.pack(">lbb", 0, 0, 0) + b"UTC\0"
AROUND = 5 * HOUR

BY_WALL_CLOCK = (
    "* * * * 2 30 0",
    "* * * * 0 0 0",
    "* * * * 0-3 */10 0",
    "* * * * 1,2,3,23 0,59 0",
    "* * * * 0-22 17,47 0",
)
BY_ELAPSED_TIME = ("* * * * * 0 0", "* * * * * */15 0", "* * * * * 7,8,9 0")


def offset(tz: ZoneInfo, second: int) -> int:
    found = (EPOCH + timedelta(seconds=second)).astimezone(tz).utcoffset()
    assert found is not None
    return int(found.total_seconds())


def changes(tz: ZoneInfo) -> Iterator[int]:
    """Find the first second of each new offset, by halves."""
    before = offset(tz, FIRST)
    for day in range(FIRST, LAST, DAY):
        after = offset(tz, day + DAY)
        if before != after:
            minutes = range(day, day + DAY + 60, 60)
            yield minutes[bisect_left(minutes, True, key=lambda minute: offset(tz, minute) != before)]
        before = after


@cache
def all_changes() -> list[tuple[str, int]]:
    """List (zone, second), one zone for each change: what is equal around it is crossed in the same way."""
    known: dict[tuple[int, int, int], str] = {}
    for name in sorted(available_timezones()):
        tz = ZoneInfo(name)
        for at in changes(tz):
            known.setdefault((at, offset(tz, at - 1), offset(tz, at)), name)
    return [(name, at) for (at, _, _), name in known.items()]


@cache
def minutes_that_fit(rule: str) -> frozenset[int]:
    """List the minutes of a day at which a daily rule fires."""
    read = parse_cron(rule)
    found = []
    second = read.next(-1)
    while second is not None and second < DAY:
        found.append(second // 60)
        second = read.next(second)
    return frozenset(found)


def expected(tz: ZoneInfo, change: int, rule: str, *, by_wall: bool) -> list[int]:
    """Walk the minutes around a change by the rules of spec/cron.md."""
    fits = minutes_that_fit(rule)
    before, after = offset(tz, change - 1), offset(tz, change)
    found = set()
    for second in range(change - AROUND, change + AROUND, 60):
        wall = second + offset(tz, second)
        again = by_wall and change <= second < change + before - after
        if wall // 60 % 1440 in fits and not again:
            found.add(second)
    skipped = range(change + before, change + after, 60)
    if by_wall and any(wall // 60 % 1440 in fits for wall in skipped):
        found.add(change)
    return sorted(found)


def firings(tz: ZoneInfo, change: int, rule: str) -> list[int]:
    found: list[int] = []
    read, at = parse_cron(rule), change - AROUND - 1
    while (later := next_local(read, tz=tz, after=at)) is not None and later < change + AROUND:
        assert later > at
        found.append(at := later)
    return found


@every_row("rule", [*BY_WALL_CLOCK, *BY_ELAPSED_TIME])
def test_every_change_of_every_zone_is_crossed_by_the_rules(rule: str) -> None:
    by_wall = rule in BY_WALL_CLOCK
    assert names_every_hour(parse_cron(rule)) is not by_wall
    wrong = [
        (name, change)
        for name, change in all_changes()
        if firings(ZoneInfo(name), change, rule) != expected(ZoneInfo(name), change, rule, by_wall=by_wall)
    ]
    assert not wrong
    assert len(all_changes()) > 100


def local(rule: str, *, tz: str, after: str, count: int = 3) -> list[str]:
    """The next firings in local time, with their offset."""
    trigger = Trigger(cron=None, tz=tz, recurs=True, rules=(rule,))
    start = datetime.fromisoformat(after).replace(tzinfo=UTC)
    return [t.astimezone(ZoneInfo(tz)).strftime("%d %H:%M%z") for t in trigger.upcoming(start, count)]


@pytest.mark.parametrize(
    ("rule", "tz", "after", "fires"),
    [
        # Paris goes from 2:00 to 3:00 on 28 March 2027, and from 3:00 to 2:00 on 31 October 2027.
        ("* * * * 2 30 0", "Europe/Paris", "2027-03-27 00:00", ["27 02:30+0100", "28 03:00+0200", "29 02:30+0200"]),
        ("* * * * 2 */20 0", "Europe/Paris", "2027-03-28 00:00", ["28 03:00+0200", "29 02:00+0200", "29 02:20+0200"]),
        ("* * * * 2,3 0 0", "Europe/Paris", "2027-03-28 00:00", ["28 03:00+0200", "29 02:00+0200", "29 03:00+0200"]),
        ("* * * * 2 30 0", "Europe/Paris", "2027-10-30 12:00", ["31 02:30+0200", "01 02:30+0100", "02 02:30+0100"]),
        ("* * * * 2 30 0", "Europe/Paris", "2027-10-31 01:10", ["01 02:30+0100", "02 02:30+0100", "03 02:30+0100"]),
        ("* * * * * 0 0", "Europe/Paris", "2027-10-30 23:30", ["31 02:00+0200", "31 02:00+0100", "31 03:00+0100"]),
        ("* * * * * 0 0", "Europe/Paris", "2027-03-27 23:30", ["28 01:00+0100", "28 03:00+0200", "28 04:00+0200"]),
        # Lord Howe moves by half an hour.
        (
            "* * * * 2 15 0",
            "Australia/Lord_Howe",
            "2027-10-02 00:00",
            ["03 02:30+1100", "04 02:15+1100", "05 02:15+1100"],
        ),
        # Cairo skips midnight; Havana shows it twice.
        ("* * * * 0 0 0", "Africa/Cairo", "2027-04-29 12:00", ["30 01:00+0300", "01 00:00+0300", "02 00:00+0300"]),
        ("* * * * 0 0 0", "America/Havana", "2027-11-06 12:00", ["07 00:00-0400", "08 00:00-0500", "09 00:00-0500"]),
    ],
)
def test_a_rule_crosses_the_clock_changes_of_named_zones(rule: str, tz: str, after: str, fires: list[str]) -> None:
    assert local(rule, tz=tz, after=after) == fires


def test_a_day_that_a_zone_left_out_runs_at_its_end() -> None:
    """Samoa had no 30 December 2011: the clocks went from the 29th straight to the 31st."""
    assert local("* * 30 * 9 0 0", tz="Pacific/Apia", after="2011-12-01 00:00", count=2) == [
        "31 00:00+1400",
        "30 09:00+1400",
    ]


def test_a_union_of_rules_fires_once_where_both_fire() -> None:
    union = Trigger(
        cron=None, tz="Europe/Paris", recurs=True, rules=("* * * * 9 0 0", "* * * 1 9 0 0", "* * * * 17 0 0")
    )
    hours = [t.astimezone(ZoneInfo("Europe/Paris")).hour for t in union.upcoming(EPOCH, 6)]
    assert hours == [9, 17] * 3


def test_times_beyond_the_calendar_are_none() -> None:
    tz = ZoneInfo("Europe/Paris")
    last = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())
    for rule in ("* * * * * 0 0", "* * * * 9 0 0"):
        assert next_local(parse_cron(rule), tz=tz, after=last) is None
        assert next_local(parse_cron(rule), tz=tz, after=last - DAY * 2) is not None


def test_the_standard_offset_is_that_of_winter() -> None:
    assert [
        standard_offset(ZoneInfo(name)) // 60 for name in ("Europe/Dublin", "America/New_York", "Asia/Kolkata")
    ] == [
        0,
        -300,
        330,
    ]
    assert standard_offset(ZoneInfo("Australia/Sydney")) == 10 * HOUR


def test_an_unknown_zone_is_refused_with_the_nearest() -> None:
    with pytest.raises(TriggerError) as caught:
        zone("Europe/Pariss")
    assert str(caught.value) == 'tz="Europe/Pariss" is not a zone. Did you mean "Europe/Paris"?'
    assert caught.value.suggestion == "Europe/Paris"


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("europe/paris", "Europe/Paris"), ("Paris", "Europe/Paris"), ("new york", "America/New_York"), ("Utc", "UTC")],
)
def test_a_zone_in_other_letters_or_a_city_alone_is_suggested(name: str, suggestion: str) -> None:
    with pytest.raises(TriggerError) as caught:
        zone(name)
    assert caught.value.suggestion == suggestion
    assert zone(suggestion).key == suggestion


@pytest.mark.parametrize("name", ["localtime", "posixrules", "posix/Europe/Paris", "right/UTC"])
def test_a_zone_that_depends_on_the_machine_is_refused_and_never_suggested(name: str) -> None:
    with pytest.raises(TriggerError, match="depends on the machine") as caught:
        zone(name)
    local = ZoneInfo.from_file(io.BytesIO(TZIF), key=name)
    with pytest.raises(TriggerError, match="depends on the machine"):
        parse("every day at 9am", now=datetime(2026, 11, 20, tzinfo=UTC), tz=local)
    assert caught.value.suggestion is None
    assert name not in zone_names().values()
    assert nearest_zone(name[:-1]) != name


def test_a_zone_without_a_name_is_refused() -> None:
    with pytest.raises(TriggerError, match="is not a zone's name"):
        zone(ZoneInfo.from_file(io.BytesIO(TZIF)))


@pytest.mark.parametrize("name", ["Europe/Paris", "UTC", "localtime", "Europe/Pariss", "Mars", "posix/UTC", "\x00"])
def test_the_command_line_and_python_accept_the_same_zones(name: str) -> None:
    def answer(read: Callable[[], ZoneInfo]) -> str:
        try:
            return read().key
        except TriggerError as error:
            return str(error)

    assert answer(lambda: zone_of(name, Settings())) == answer(lambda: zone(name))


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", "/etc/localtime", "Mars/Olympus", "\x00", "a" * 10_000, None, 5]
)
def test_what_is_no_zone_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(TriggerError) as caught:
        zone(name)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
