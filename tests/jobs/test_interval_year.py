"""A year of every 90 seconds, as listeners re-arm it: no drift and no double, whatever the policy or the outage."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workkit import wire
from workkit.jobs.terms import PLAIN, Terms, first_run, is_missed, next_run
from workkit.triggers import Trigger
from workkit.triggers.between import between
from workkit.triggers.dialect import from_fields
from workkit.triggers.when import When, read_when

SECOND, DAY = 1_000, 86_400_000
STEP = 90 * SECOND
ADDED = datetime(2026, 11, 21, 12, 0, 20, 500_000, tzinfo=UTC)
BEGIN = round(ADDED.timestamp() * 1_000)
YEAR = 366 * DAY  # both changes of the clock of every zone lie in it
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia")
STARTS = (None, "2026-11-22T00:00:37Z", "2026-11-20T09:01:00+01:00")
TERMS = {
    "once": PLAIN,
    "named": Terms(name="poll"),
    "all": Terms(catch_up="all"),
    "skip": Terms(catch_up="skip"),
    "within": Terms(catch_up="all", catch_up_within_ms=3_600_000),
}


def added(tz: str, start: str | None, *, now: datetime = ADDED) -> Trigger:
    """What `add(every="90 seconds", tz=tz, start=start)` makes, as a listener reads it from its payload."""
    trigger = read_when(When(every="90 seconds", tz=tz), now=now)
    if start is not None:
        trigger = between(trigger, start=datetime.fromisoformat(start), end=None, now=now, tz=tz)
    return restarted(trigger)


def restarted(trigger: Trigger) -> Trigger:
    """The trigger as the next listener reads it."""
    fields = trigger.fields()
    stored = wire.read_payload(wire.payload(cron=fields.pop("cron"), job="#'app/f", args=[], extra=fields))
    return from_fields({"cron": stored.cron, **stored.extra})


def expected_first(start: str | None) -> int:
    """The first tick, by arithmetic of its own."""
    if start is None:
        return -(-BEGIN // STEP) * STEP
    at = round(datetime.fromisoformat(start).timestamp() * 1_000)
    return at if at >= BEGIN else at - (at - BEGIN) // STEP * STEP


def ran(
    trigger: Trigger, terms: Terms, outages: Sequence[tuple[int, int]], *, span: int = YEAR
) -> Iterator[tuple[int, int]]:
    """Run for so long with listeners away from `begin` to `end` each; yield (due, started), and read the payload anew
    after each outage. A run starts 20 ms late otherwise.
    """
    due = first_run(trigger, now_ms=BEGIN, offset_ms=0)
    left = sorted(outages)
    now = BEGIN
    while due is not None and due < BEGIN + span:
        now = max(now, due + 20)
        while left and left[0][0] <= now:
            now = max(now, left.pop(0)[1])
            trigger = restarted(trigger)
        follows = next_run(trigger, due_ms=due, now_ms=now, terms=terms, offset_ms=0)
        if not is_missed(due_ms=due, now_ms=now, terms=terms):
            yield due, now
        due = follows.due_ms


@pytest.mark.parametrize("start", STARTS)
def test_a_year_of_ninety_seconds_has_every_tick_once(start: str | None) -> None:
    first = expected_first(start)
    ticks = range(first, BEGIN + YEAR, STEP)
    assert [due for due, _ in ran(added("Europe/Paris", start), PLAIN, [])] == list(ticks)


@pytest.mark.parametrize("start", STARTS)
def test_the_same_interval_is_the_same_payload_in_every_zone_on_every_day(start: str | None) -> None:
    days = (ADDED, ADDED + timedelta(days=1), ADDED + timedelta(days=200, seconds=13))
    assert len({json.dumps(added(tz, start, now=now).fields()) for tz in ZONES for now in days}) == 1


# Outages of up to two weeks, wherever in five months: each zone that changes its clock does so once. What is between
# two outages is as it is in a year without any.
MONTHS = 150 * DAY
OUTAGES = st.lists(st.tuples(st.integers(0, MONTHS), st.integers(1, 14 * DAY)), min_size=1, max_size=6)


@settings(max_examples=12, deadline=None)
@given(OUTAGES, st.sampled_from(sorted(TERMS)), st.sampled_from(STARTS), st.sampled_from(ZONES))
def test_outages_leave_no_drift_and_no_double(
    spans: list[tuple[int, int]], policy: str, start: str | None, tz: str
) -> None:
    terms, first = TERMS[policy], expected_first(start)
    away = [(BEGIN + begin, BEGIN + begin + length) for begin, length in spans]
    runs = list(ran(added(tz, start), terms, away, span=MONTHS))
    dues, late = [due for due, _ in runs], [started - due for due, started in runs]
    assert {(due - first) % STEP for due in dues} <= {0}
    assert all(after > before for before, after in pairwise(dues))
    ticks = range(first, BEGIN + MONTHS, STEP)
    lost = set(ticks) - set(dues)
    assert all(any(begin <= tick + 20 <= end + 20 for begin, end in away) for tick in lost)
    match policy:
        case "all":
            assert not lost
        case "skip":
            assert max(late) <= 60_000
        case "within":
            assert max(late) <= 3_600_000
        case _:  # one late run for each outage, then on time
            assert sum(ms > STEP for ms in late) <= len(away)
