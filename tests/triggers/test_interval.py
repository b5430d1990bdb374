"""Intervals and their phase: what is stored of them, when they fire, how they read back, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import every_row
from workkit import wire
from workkit.errors import CronError, Invalid, PhraseError, TriggerError
from workkit.triggers import Trigger, cron, explain, parse
from workkit.triggers.between import between
from workkit.triggers.cuckoo import clojure_order
from workkit.triggers.dialect import from_fields
from workkit.triggers.english.sentence import how_counted
from workkit.triggers.trigger import Interval
from workkit.triggers.when import When, read_when

VECTORS = json.loads((Path(__file__).parents[2] / "spec/vectors/intervals.json").read_text())["items"]
NOW = datetime(2026, 11, 18, 10, 15, 30, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = ("UTC", "Europe/Paris", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def added(given: dict[str, str], *, now: datetime = NOW) -> Trigger:
    """The trigger of an addition with these keywords."""
    words = {name: value for name, value in given.items() if name != "start"}
    trigger = read_when(When(**words), now=now)
    start = utc(given["start"]) if "start" in given else None
    return trigger if start is None else between(trigger, start=start, end=None, now=now, tz=given.get("tz", "UTC"))


@pytest.mark.parametrize("item", [pytest.param(item, id=item["what"]) for item in VECTORS])
def test_an_interval_has_the_recorded_bytes_and_instants(item: dict[str, Any]) -> None:
    after, fires = utc(item["after"]), [utc(fire) for fire in item["fires"]]
    trigger = added(item["given"], now=after)
    assert trigger.upcoming(after, len(fires)) == fires
    fields = trigger.fields()
    payload = wire.payload(cron=fields.pop("cron"), job="#'app/tick", args=[], extra=fields)
    assert payload.decode() == item["payload"]
    assert sha1(payload).hexdigest() == item["id"]
    read = wire.read_payload(payload)
    again = from_fields({"cron": read.cron, **read.extra})
    assert again.upcoming(after, len(fires)) == fires
    assert again.fields() == trigger.fields()


@pytest.mark.parametrize("later", [timedelta(days=1), timedelta(days=200), timedelta(seconds=1)], ids=str)
@pytest.mark.parametrize("item", [pytest.param(item, id=item["what"]) for item in VECTORS])
def test_the_same_addition_is_the_same_job_whenever_it_is_made(item: dict[str, Any], later: timedelta) -> None:
    assert added(item["given"], now=NOW - later).fields() == added(item["given"]).fields()


@pytest.mark.parametrize(
    "period", [timedelta(seconds=90), timedelta(seconds=45), timedelta(minutes=45), timedelta(hours=36)], ids=str
)
def test_a_timedelta_is_as_the_words(period: timedelta) -> None:
    seconds = int(period.total_seconds())
    trigger = added({"every": period})  # type: ignore[dict-item]
    assert trigger.fields() == added({"every": f"{seconds} seconds"}).fields()
    first, second = trigger.upcoming(NOW, 2)
    assert second - first == period


@pytest.mark.parametrize(
    ("period", "remedy"),
    [
        (timedelta(days=1), 'Write every="day at 9am".'),
        (timedelta(days=3), 'Write every="3 days at 9am".'),
        (timedelta(weeks=1), 'Write every="7 days at 9am", or every="monday at 9am".'),
        (timedelta(weeks=2), 'Write every="14 days at 9am", or every="2 weeks on monday at 9am".'),
    ],
    ids=str,
)
def test_a_number_of_days_is_refused_with_a_hint_that_keeps_it(period: timedelta, remedy: str) -> None:
    with pytest.raises(TriggerError) as refusal:
        added({"every": period})  # type: ignore[dict-item]
    assert refusal.value.remedy == remedy


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("every 3 days", "every 3 days at 9am"),
        ("every other day", "every 2 days at 9am"),
        ("every 2 weeks", "every 2 weeks on monday at 9am"),
        ("fortnightly", "every 2 weeks on monday at 9am"),
        ("every 6 weeks", "every 6 weeks on monday at 9am"),
        ("every week", "every monday at 9am"),
        ("every 7 hours starting at 9am", "every 7 hours starting 2026-11-19 at 9:00"),
        ("every 50 minutes starting at 11:15am", "every 50 minutes starting 2026-11-18 at 11:15"),
    ],
)
def test_a_refused_interval_has_a_hint_that_keeps_it_and_is_understood(text: str, hint: str) -> None:
    with pytest.raises(PhraseError) as refusal:
        parse(text, now=NOW)
    assert refusal.value.accepted == f'Say "{hint}"'
    parse(hint, now=NOW)


@every_row("n", [*range(2, 130), 3_599, 3_601, 5_000, 43_201, 86_399, 86_401, 100_000])
def test_what_stands_beside_seconds_never_runs_more_often(n: int) -> None:
    trigger = parse(f"every {n} seconds", now=NOW)
    runs = trigger.upcoming(NOW, 3)
    assert [after - before for before, after in pairwise(runs)] == [timedelta(seconds=n)] * 2
    peer = cron(trigger.fields()["cron"])  # what a peer makes of it that knows the published fields alone
    runs = peer.upcoming(NOW, 40)
    assert min(after - before for before, after in pairwise(runs)) >= timedelta(seconds=n)


CHOSEN = """
every 6 hours     | 2026-11-20T03:30:00Z | UTC                 | * * * * 3-21/6 30 0
every 2 hours     | 2026-11-20T02:30:00Z | Europe/Paris        | * * * * 1-23/2 30 0
every 15 minutes  | 2026-11-20T09:05:00Z | UTC                 | * * * * * 5-50/15 0
every 15 minutes  | 2026-11-20T09:00:00Z | UTC                 | * * * * * */15 0
every hour        | 2026-11-20T09:30:00Z | UTC                 | * * * * * 30 0
every 20 seconds  | 2026-11-20T09:30:07Z | UTC                 | * * * * * * 7,27,47
every minute      | 2026-11-20T09:30:07Z | America/St_Johns    | * * * * * * 7
every 30 minutes  | 2026-11-20T09:00:00Z | Asia/Kathmandu      | * * * * * 15,45 0
every 3 hours     | 2026-11-20T00:00:00Z | Australia/Lord_Howe | * * * * 2-23/3 0 0
"""


@pytest.mark.parametrize(
    ("text", "start", "tz", "rule"),
    [[cell.strip() for cell in line.split("|")] for line in CHOSEN.strip().splitlines()],
)
def test_an_interval_that_divides_its_unit_stays_in_seven_fields(text: str, start: str, tz: str, rule: str) -> None:
    trigger = added({"when": text, "start": start, "tz": tz})
    assert trigger.rules == (rule,)
    assert "interval" not in trigger.fields()
    assert trigger.upcoming(NOW, 1) == [utc(start)]


@pytest.mark.parametrize(
    "trigger",
    [
        cron("* * * * * * 0/45"),
        cron("*/15 * * * *", "standard"),
        *(
            parse(text, now=NOW)
            for text in (
                "every 15 minutes from 9am to 5pm", "every hour at :15", "every 5 minutes on sundays",
                "every day at 9am", "twice a day", "every 5 months", "every other year on march 3",
                "every 2 weeks on monday at 9am in 2027",
                "every 6 hours starting at 3am",
            )
        ),
    ],
    ids=lambda trigger: explain(trigger),
)  # fmt: skip
def test_a_start_only_bounds_a_calendar(trigger: Trigger) -> None:
    start = datetime(2026, 11, 20, 11, 7, 12, tzinfo=UTC)
    bounded = between(trigger, start=start, end=None, now=NOW, tz="UTC")
    assert bounded.rules == trigger.rules
    assert bounded.upcoming(NOW, 3) == trigger.upcoming(start - timedelta(seconds=1), 3)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("every 2 weeks starting 2026-11-27 at 3pm", "every 2 weeks on friday at 3pm starting 2026-11-27"),
        ("every 2 weeks starting friday at 3pm", "every 2 weeks on friday at 3pm starting 2026-11-20"),
        ("every week starting tomorrow at 9am", "every thursday at 9am starting 2026-11-19"),
        ("every 3 days starting 2026-12-01T09:00", "every 3 days at 9am starting 2026-12-01"),
        ("every day starting at 9am", "every day at 9am"),
        ("every 36 hours starting tomorrow at 9am", "every 36 hours starting 2026-11-19T09:00"),
    ],
)
def test_a_start_says_what_days_and_weeks_leave_open(text: str, same: str) -> None:
    assert parse(text, now=NOW).upcoming(NOW, 5) == parse(same, now=NOW).upcoming(NOW, 5)


@pytest.mark.parametrize("text", ["every 90 seconds starting now", "every 45 minutes from now on"])
def test_now_is_no_phase(text: str) -> None:
    assert parse(text, now=NOW).fields() == parse(text, now=NOW + timedelta(seconds=7)).fields()


def paces() -> st.SearchStrategy[str]:
    sub_day = st.tuples(st.integers(2, 200), st.sampled_from(("seconds", "minutes", "hours")))
    days = st.integers(2, 40).map(lambda n: f"every {n} days at 9:30")
    weeks = st.tuples(st.integers(2, 9), st.sampled_from(("monday", "tuesday and wednesday", "sunday")))
    return (
        sub_day.map(lambda pair: f"every {pair[0]} {pair[1]}")
        | days
        | weeks.map(lambda pair: f"every {pair[0]} weeks on {pair[1]} at 18:00")
    )


STARTS = st.integers(1_700_000_000, 2_000_000_000).map(lambda second: EPOCH + timedelta(seconds=second))


@given(paces(), STARTS, st.sampled_from(ZONES))
def test_an_interval_with_a_start_is_kept_by_its_payload_and_by_its_words(text: str, start: datetime, tz: str) -> None:
    trigger = between(parse(text, now=NOW, tz=tz), start=start, end=None, now=NOW, tz=tz)
    after = max(NOW, start - timedelta(seconds=1))
    fires = trigger.upcoming(after, 5)
    stored = from_fields(trigger.fields())
    assert stored.upcoming(after, 5) == fires
    assert stored.fields() == trigger.fields()
    for one in (trigger, stored):
        assert parse(explain(one), now=NOW).upcoming(after, 5) == fires, explain(one)


@given(paces(), STARTS, st.sampled_from(ZONES))
def test_days_and_weeks_keep_their_hour_and_distance_through_changes_of_the_clock(
    text: str, start: datetime, tz: str
) -> None:
    trigger = between(parse(text, now=NOW, tz=tz), start=start, end=None, now=NOW, tz=tz)
    local = [run.astimezone(ZoneInfo(tz)) for run in trigger.upcoming(start - timedelta(seconds=1), 60)]
    n = int(text.split()[1])
    if "days" in text:
        assert {(run.hour, run.minute) for run in local} == {(9, 30)}
        assert {(after.date() - before.date()).days for before, after in pairwise(local)} == {n}
        assert (local[0].date() - start.astimezone(ZoneInfo(tz)).date()).days in (0, 1)
    elif "weeks" in text:
        weeks = [run.date() - timedelta(days=run.weekday()) for run in local]
        assert {(after - before).days for before, after in pairwise(weeks)} <= {0, 7 * n}
    elif 60 % n and "seconds" in text:
        runs = [run.astimezone(UTC) for run in local]
        assert {after - before for before, after in pairwise(runs)} == {timedelta(seconds=n)}


@given(
    st.sampled_from(("* * * * * */15 0", "* * * * * * 0/45", "* * * * 9/3 0 0", "* * * 1/2 9 0 0", "* * * * */6 0 0")),
    STARTS,
    st.sampled_from(ZONES),
)
def test_the_words_of_a_start_that_only_bounds_are_never_read_as_one_that_is_counted_from(
    rule: str, start: datetime, tz: str
) -> None:
    trigger = Trigger(cron=None, tz=tz, recurs=True, rules=(rule,), start=start)
    after = start - timedelta(seconds=1)
    try:
        again = parse(explain(trigger), now=NOW)
    except PhraseError:
        assert "not before" in explain(trigger)
        return
    assert again.upcoming(max(after, NOW), 4) == trigger.upcoming(max(after, NOW), 4)


@given(
    st.sampled_from(("seconds", "days", "weeks")),
    st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))),
    st.sampled_from(("* * * * 9/3 0 0", "* * * 1/2 9 0 0", "* * * * 9 0 0", "* * * * * */15 0")),
    st.none() | STARTS,
)
def test_the_words_of_any_stored_interval_mean_the_same_or_are_refused(
    unit: str, phased: tuple[int, int], rule: str, start: datetime | None
) -> None:
    n, phase = phased
    bound: dict[str, int] = {} if start is None else {"from": int(start.timestamp()) * 1000}
    trigger = from_fields({"cron": rule, "interval": {unit: n, "phase": phase}, **bound})
    try:
        again = parse(explain(trigger), now=NOW)
    except PhraseError:
        return
    after = max(NOW, NOW if start is None else start)
    assert again.upcoming(after, 4) == trigger.upcoming(after, 4), explain(trigger)


@pytest.mark.parametrize(
    ("given", "words", "how"),
    [
        ({"every": "15 minutes"}, "every 15 minutes", "aligned to the clock"),
        ({"every": "45 minutes"}, "every 45 minutes", "counted from 0:44 UTC"),
        ({"every": "5 hours"}, "every 5 hours", "counted from 1 January 1970 at 4:00 UTC"),
        ({"every": "3 days at 9am"}, "every 3 days at 9:00 UTC",
         "counted from 3 January 1970 at 9:00 UTC"),
        ({"every": "2 weeks on monday at 9am"}, "every other Monday at 9:00 UTC",
         "counted from 12 January 1970 at 9:00 UTC"),
        ({"every": "90 seconds"}, "every 90 seconds", "counted from 0:00 UTC"),
        ({"every": "90 seconds starting at 0:01"}, "every 90 seconds starting at 0:01 UTC", "counted from 0:01 UTC"),
        ({"every": "90 seconds", "start": "2026-11-20T09:00:01Z"},
         "every 90 seconds, starting 2026-11-20T09:00:01Z", "counted from its start"),
        ({"every": "3 days at 9am", "start": "2026-11-21T00:00:00Z"},
         "every 3 days at 9:00 UTC, starting 21 November 2026", "counted from its start"),
        ({"every": "3 days at 9am", "start": "2026-11-20T00:00:00Z"},
         "every 3 days at 9:00 UTC, starting 20 November 2026", "counted from its start"),
        ({"every": "5 minutes", "start": "2026-11-20T09:04:56Z"},
         "every 5 minutes, starting 2026-11-20T09:04:56Z", "counted from its start"),
        ({"every": "5 minutes", "start": "2026-11-20T09:00:00Z"},
         "every 5 minutes, starting 2026-11-20T09:00:00Z", "aligned to the clock"),
        ({"every": "20 seconds starting at 9:00:07"},
         "every 20 seconds starting at 9:00:07 UTC", "aligned to the clock"),
        ({"every": "6 hours starting at 3am"}, "every day at 3:00, 9:00, 15:00 and 21:00 UTC", None),
        ({"every": "day at 9am"}, "every day at 9:00 UTC", None),
        ({"every": "monday"}, "every Monday at 0:00 UTC", None),
        ({"at": "7pm tomorrow"}, "once, Thursday 19 November 2026 at 19:00 UTC", None),
    ],
    ids=str,
)  # fmt: skip
def test_words_say_how_an_interval_is_counted(given: dict[str, str], words: str, how: str | None) -> None:
    trigger = added(given)
    assert (explain(trigger), how_counted(trigger)) == (words, how)
    assert how_counted(from_fields(trigger.fields())) == how


@pytest.mark.parametrize(
    "member",
    [
        5, [], "90", {}, {"seconds": 90.0}, {"seconds": "90"}, {"seconds": 0}, {"seconds": True},
        {"seconds": 1 << 40}, {"seconds": 90, "phase": 90}, {"seconds": 90, "phase": -1}, {"days": 2, "weeks": 2},
        {"phase": 1}, {"months": 2},
    ],
    ids=str,
)  # fmt: skip
def test_half_of_an_interval_is_not_an_interval(member: Any) -> None:
    with pytest.raises(TriggerError, match="is no interval"):
        from_fields({"cron": "* * * * * * 0", "interval": member})


def test_an_interval_without_a_phase_is_counted_from_1970_and_null_is_none() -> None:
    assert from_fields({"cron": "?", "interval": {"seconds": 90}}).interval == Interval(n=90, unit="seconds", phase=0)
    assert from_fields({"cron": "* * * * * * 0", "interval": None}).interval is None


@pytest.mark.parametrize(
    ("member", "rule", "first"),
    [
        ({"seconds": 999_999_999, "phase": 5}, "* * * * * * 0", EPOCH + timedelta(seconds=2_000_000_003)),
        ({"days": 999_999_999}, "* * * * 9/3 0 0", None),
        ({"weeks": 2, "phase": 1}, "2026 * * 1 9 0 0", datetime(2026, 11, 23, 9, tzinfo=UTC)),
        ({"days": 7, "phase": 0}, "* * * 2 9 0 0", None),
    ],
    ids=str,
)
def test_an_interval_that_never_fires_is_found_out_at_once(member: Any, rule: str, first: datetime | None) -> None:
    trigger = from_fields({"cron": rule, "interval": member})
    assert trigger.next_after(NOW) == first


def test_an_interval_ends_with_the_years() -> None:
    trigger = added({"every": "90 seconds"})
    last = datetime(9999, 12, 31, 23, 58, 30, tzinfo=UTC)
    assert trigger.upcoming(last - timedelta(seconds=1), 3) == [last]
    assert trigger.next_after_ms(-(10**18)) == 0
    assert replace(trigger, end=NOW).next_after(NOW) is None


@pytest.mark.parametrize("given", [{"every": "90 seconds"}, {"every": "45 minutes starting at 9am"}], ids=str)
def test_the_clojure_order_cannot_say_an_interval(given: dict[str, str]) -> None:
    with pytest.raises(CronError):
        clojure_order(added(given))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"every": "90 seconds on weekdays"},
         '"90 seconds on weekdays" cannot be kept: 90 does not divide a minute, so it fits no days and no window. '
         'Say an interval that divides a minute or an hour, or "every 90 seconds" alone.'),
        ({"every": "90 seconds from 3am"},
         '"90 seconds from 3am": "from" (column 12) leaves open whether it is a window. '
         'Say "90 seconds starting at 3am", or name the end of a window: "from 3am until ...".'),
    ],
    ids=str,
)  # fmt: skip
def test_a_refusal_says_what_to_write(given: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid) as refusal:
        added(given)
    assert str(refusal.value) == message
