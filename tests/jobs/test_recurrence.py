"""What runs next, and what is missed: by tables, and by what must hold of any downtime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha1

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workkit.jobs.terms import PLAIN, NextRun, Terms, first_run, is_missed, next_run, spread_offset_ms
from workkit.triggers import Trigger, cron

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
NOON = round(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp() * 1000)
EVERY_MINUTE = cron("* * * * * * 0", "published")
UNTIL_MIDNIGHT = replace(EVERY_MINUTE, end=datetime(2026, 11, 22, tzinfo=UTC))
MIDNIGHT = NOON + 12 * HOUR

ALL, SKIP, ONCE = Terms(catch_up="all"), Terms(catch_up="skip"), Terms(name="n")
ALL_WITHIN = Terms(catch_up="all", catch_up_within_ms=3 * MINUTE)
ONCE_WITHIN = Terms(catch_up_within_ms=3 * MINUTE)


@pytest.mark.parametrize(
    ("terms", "late", "expected"),
    [
        (PLAIN, 20, (MINUTE, 0)),
        (PLAIN, 10 * MINUTE + 20, (11 * MINUTE, 0)),
        (Terms(priority=1), 10 * MINUTE, (11 * MINUTE, 0)),
        (ONCE, 20, (MINUTE, 0)),
        (ONCE, 10 * MINUTE + 20, (11 * MINUTE, 10)),
        (ONCE, 10 * MINUTE, (11 * MINUTE, 10)),
        (ONCE, 10 * MINUTE - 1, (10 * MINUTE, 9)),
        (ONCE, 5000 * MINUTE, (5001 * MINUTE, 1000)),
        (ALL, 20, (MINUTE, 0)),
        (ALL, 10 * MINUTE + 20, (MINUTE, 0)),
        (ALL_WITHIN, 3 * MINUTE, (MINUTE, 0)),
        (ALL_WITHIN, 10 * MINUTE, (7 * MINUTE, 6)),
        (ALL_WITHIN, 10 * MINUTE + 1, (8 * MINUTE, 7)),
        (ONCE_WITHIN, 3 * MINUTE, (4 * MINUTE, 3)),
        (ONCE_WITHIN, 3 * MINUTE + 1, (MINUTE, 0)),
        (ONCE_WITHIN, 10 * MINUTE + 1, (8 * MINUTE, 7)),
        (SKIP, 30 * SECOND, (MINUTE, 0)),
        (SKIP, MINUTE, (2 * MINUTE, 1)),
        (SKIP, 10 * MINUTE, (9 * MINUTE, 8)),
        (SKIP, 10 * MINUTE + 1, (10 * MINUTE, 9)),
    ],
    ids=str,
)
def test_what_follows_a_run_that_is_late(terms: Terms, late: int, expected: tuple[int, int]) -> None:
    found = next_run(EVERY_MINUTE, due_ms=NOON, now_ms=NOON + late, terms=terms, offset_ms=0)
    assert (found.due_ms and found.due_ms - NOON, found.missed) == expected


@pytest.mark.parametrize(
    ("terms", "late", "missed"),
    [
        (PLAIN, DAY, False),
        (ONCE, DAY, False),
        (ALL, DAY, False),
        (SKIP, MINUTE, False),
        (SKIP, MINUTE + 1, True),
        (Terms(catch_up="skip", catch_up_within_ms=HOUR), HOUR, False),
        (Terms(catch_up="skip", catch_up_within_ms=HOUR), HOUR + 1, True),
        (ALL_WITHIN, 3 * MINUTE, False),
        (ALL_WITHIN, 3 * MINUTE + 1, True),
        (ONCE_WITHIN, 3 * MINUTE + 1, True),
        (SKIP, -MINUTE, False),
    ],
    ids=str,
)
def test_a_run_is_missed_when_it_is_later_than_allowed(terms: Terms, late: int, missed: bool) -> None:
    assert is_missed(due_ms=NOON, now_ms=NOON + late, terms=terms) is missed


@pytest.mark.parametrize(
    ("terms", "due", "now", "expected"),
    [
        (PLAIN, -MINUTE, 5 * HOUR, NextRun(due_ms=None)),
        (ONCE, -MINUTE, 5 * HOUR, NextRun(due_ms=None)),
        (ONCE, -3 * MINUTE, 5 * HOUR, NextRun(due_ms=None, missed=2)),
        (ALL, -3 * MINUTE, 5 * HOUR, NextRun(due_ms=MIDNIGHT - 2 * MINUTE)),
        (SKIP, -3 * MINUTE, 5 * HOUR, NextRun(due_ms=None, missed=2)),
    ],
    ids=str,
)
def test_a_trigger_that_ends_has_no_next(terms: Terms, due: int, now: int, expected: NextRun) -> None:
    found = next_run(UNTIL_MIDNIGHT, due_ms=MIDNIGHT + due, now_ms=MIDNIGHT + now, terms=terms, offset_ms=0)
    assert found == expected


def test_spread_moves_every_run_by_the_same_and_loses_none() -> None:
    terms, offset = Terms(spread_ms=HOUR, catch_up="all"), 40 * SECOND
    due = first_run(EVERY_MINUTE, now_ms=NOON + 41 * SECOND, offset_ms=offset)
    assert due == NOON + 100 * SECOND
    assert first_run(EVERY_MINUTE, now_ms=NOON + 40 * SECOND, offset_ms=offset) == NOON + 40 * SECOND
    assert next_run(EVERY_MINUTE, due_ms=due, now_ms=due, terms=terms, offset_ms=offset).due_ms == due + MINUTE
    plain = Terms(spread_ms=HOUR)
    assert next_run(EVERY_MINUTE, due_ms=due, now_ms=due + 90 * SECOND, terms=plain, offset_ms=offset) == NextRun(
        due_ms=due + 2 * MINUTE
    )


def test_the_offset_is_the_one_of_the_specification() -> None:
    def digits(text: str) -> int:
        return int(sha1(text.encode()).hexdigest()[:8], 16)

    assert spread_offset_ms(PLAIN, "#'a/b", [1]) == 0
    named = Terms(name="nightly", spread_ms=HOUR + 500)
    assert spread_offset_ms(named, "#'a/b", [1]) == digits("nightly") % (HOUR + 500) // 1000 * 1000
    by_content = Terms(spread_ms=HOUR)
    assert spread_offset_ms(by_content, "#'a/b", [1, "é"]) == digits('["#\'a/b",1,"\\u00e9"]') % HOUR // 1000 * 1000
    assert spread_offset_ms(by_content, "#'a/b", (1, "é")) == spread_offset_ms(by_content, "#'a/b", [1, "é"])


def test_offsets_use_the_whole_window() -> None:
    offsets = [spread_offset_ms(Terms(name=f"job {n}", spread_ms=10 * MINUTE), "f", ()) for n in range(400)]
    assert all(0 <= offset < 10 * MINUTE and offset % 1000 == 0 for offset in offsets)
    assert all(sum(offset // MINUTE == part for offset in offsets) > 15 for part in range(10))


CRONS = [
    "* * * * * * 0", "* * * * * */15 0", "* * * * */2 0 0", "* * * * 9 0 0", "* * * 1-5 9 0 0", "* * * * * * */5",
    "2026 11 21 * * * 0",
]  # fmt: skip
triggers = st.sampled_from([*(cron(text, "published") for text in CRONS), UNTIL_MIDNIGHT])
lengths = st.none() | st.integers(1, 3 * DAY)
any_terms = st.builds(
    Terms,
    catch_up=st.sampled_from([None, "all", "skip"]),
    catch_up_within_ms=lengths,
    name=st.none() | st.just("n"),
    spread_ms=st.just(2 * DAY),
)
lateness = st.integers(-MINUTE, 2 * HOUR)


def chain(trigger: Trigger, terms: Terms, offset: int, late: list[int]) -> Iterator[tuple[int, int, int | None, int]]:
    """Runs one after another, each looked at so much later than it is due, the clock never going back."""
    due, now = first_run(trigger, now_ms=NOON, offset_ms=offset), NOON
    for delay in late:
        if due is None:
            return
        now = max(now, due + delay)
        following = next_run(trigger, due_ms=due, now_ms=now, terms=terms, offset_ms=offset)
        yield due, now, following.due_ms, following.missed
        due = following.due_ms


def ticks(trigger: Trigger, after: int, before: int) -> list[int]:
    found, tick = [], trigger.next_after_ms(after)
    while tick is not None and tick < before:
        found.append(tick)
        tick = trigger.next_after_ms(tick)
    return found


@given(triggers, any_terms, st.integers(0, 2 * 86_400), st.lists(lateness, max_size=8))
def test_runs_follow_one_another_at_ticks(trigger: Trigger, terms: Terms, seconds: int, late: list[int]) -> None:
    offset = seconds * 1000
    for due, _, following, missed in chain(trigger, terms, offset, late):
        assert missed >= 0
        if following is not None:
            assert following > due
            assert trigger.next_after_ms(following - offset - 1000) == following - offset


@given(triggers, st.lists(lateness, max_size=8))
def test_nothing_is_lost_under_all(trigger: Trigger, late: list[int]) -> None:
    for due, _, following, missed in chain(trigger, ALL, 0, late):
        assert missed == 0
        assert following == trigger.next_after_ms(due)


@given(triggers, any_terms, st.lists(lateness, max_size=8))
def test_what_is_allowed_to_be_late_is_never_passed_over_unless_runs_join(
    trigger: Trigger, terms: Terms, late: list[int]
) -> None:
    for due, now, following, missed in chain(trigger, terms, 0, late):
        passed = ticks(trigger, due, following if following is not None else now + 1)
        counted = terms.name is not None or terms.catch_up is not None or terms.catch_up_within_ms is not None
        assert missed == (min(len(passed), 1000) if counted else 0)
        if terms.catch_up == "all" or is_missed(due_ms=due, now_ms=now, terms=terms):
            assert all(is_missed(due_ms=tick, now_ms=now, terms=terms) for tick in passed)
        elif following is not None:
            assert following > now


@given(triggers, st.lists(lateness, max_size=8))
def test_plain_terms_keep_the_published_rule(trigger: Trigger, late: list[int]) -> None:
    for due, now, following, missed in chain(trigger, PLAIN, 0, late):
        assert (following, missed) == (trigger.next_after_ms(max(due, now)), 0)
        same = next_run(trigger, due_ms=due, now_ms=now, terms=Terms(priority=1), offset_ms=0)
        assert same.due_ms == following
