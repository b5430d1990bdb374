"""Predictions of triggers: the same as those of the trigger, however they are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.triggers import Trigger, parse
from workkit.web import predictions
from workkit.web.forecast import instants
from workkit.web.predictions import Prediction, Predictions, between, sparse

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
WORDS = ("every 5 minutes", "every day at 2:30am", "every second", "in 3 hours", "every year on 1 Jan at 9am")


def trigger(words: str) -> Trigger:
    return parse(words, now=NOW, tz="Europe/Paris")


@pytest.mark.parametrize("words", WORDS)
def test_a_window_that_moves_on_has_the_instants_of_its_trigger(words: str) -> None:
    kept, one = Predictions(), trigger(words)
    for minutes in (0, 1, 59, 170, 200, 1_500, 10):
        since = NOW + timedelta(minutes=minutes)
        until = since + 24 * HOUR
        found = kept.of(one, since=since, until=until, most=300)
        wanted = instants(one, since=since, until=until, most=301)
        assert list(found.instants) == wanted[:300]
        assert found.is_whole == (len(wanted) <= 300)


def test_a_window_is_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def counted(*args: Any, **how: Any) -> list[datetime]:
        asked.append(args)
        return instants(*args, **how)

    monkeypatch.setattr(predictions, "instants", counted)
    kept, one = Predictions(), trigger("every 5 minutes")
    for seconds in range(0, 7_200, 600):
        since = NOW + timedelta(seconds=seconds)
        kept.of(one, since=since, until=since + 24 * HOUR)
    assert len(asked) == 1
    kept.of(trigger("every 5 minutes"), since=NOW + HOUR, until=NOW + 25 * HOUR)  # an equal trigger is the same one
    assert len(asked) == 1


def test_so_many_instants_are_kept_and_no_more() -> None:
    kept = Predictions(most_kept=1_000)
    triggers = [trigger(f"every day at {hour}:{minute:02}") for hour in range(24) for minute in range(0, 60, 5)]
    for one in triggers:
        kept.of(one, since=NOW, until=NOW + 240 * HOUR)
    assert 0 < kept._size <= 1_000
    assert kept._size == sum(len(one.instants) + 1 for one in kept._kept.values())


def test_instants_between_two_edges_are_counted() -> None:
    found = Predictions().of(trigger("every hour"), since=NOW, until=NOW + 6 * HOUR)
    at_eleven = NOW.replace(hour=11, minute=0, second=0)
    assert between(found, at_eleven, at_eleven + HOUR) == 1
    assert between(found, at_eleven, at_eleven + HOUR + timedelta(seconds=1)) == 2


def test_what_is_too_frequent_to_be_predicted_is_spread_evenly() -> None:
    found = Predictions().of(trigger("every second"), since=NOW, until=NOW + HOUR, most=100)
    (known, one), (rest, many) = sparse(found, NOW + HOUR, step=timedelta(seconds=50))
    assert ([*known], one) == ([found.instants[0], found.instants[50]], 50)
    assert (len(rest), many) == (70, 50)
    assert rest[-1] <= NOW + HOUR
    assert len(known) * one + len(rest) * many == pytest.approx(3_600, abs=51)


def test_what_is_far_apart_is_given_whole() -> None:
    found = Predictions().of(trigger("every hour"), since=NOW, until=NOW + 24 * HOUR)
    assert sparse(found, NOW + 24 * HOUR, step=timedelta(minutes=6)) == [(found.instants, 1.0)]
    one = Prediction(since=NOW, until=NOW + HOUR, instants=(NOW + HOUR / 2,))
    assert sparse(one, NOW + HOUR, step=timedelta(minutes=1)) == [(one.instants, 1.0)]
