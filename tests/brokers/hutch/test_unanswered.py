"""Acknowledgements that stand for several deliveries: exactly those that are meant, and few of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workkit.brokers.hutch.wire.channel import Unanswered


def at_the_broker(left: set[int], answers: list[tuple[int, bool]]) -> set[int]:
    """What a broker still counts as unacknowledged. It closes the channel for a tag that it does not know."""
    for tag, stands_for_all in answers:
        assert tag in left
        left = {one for one in left if one != tag and not (stands_for_all and one < tag)}
    return left


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), max_size=6), st.sets(st.integers(0, 30)))
def test_acknowledgements_answer_exactly_the_deliveries_that_are_meant(
    batches: list[list[int]], given_back: set[int]
) -> None:
    unanswered, left, delivered = Unanswered(), set[int](), 0
    for batch in batches:
        for _ in range(7):
            delivered += 1
            unanswered.add(delivered)
            left.add(delivered)
        for tag in given_back & left:
            unanswered.drop(tag)
            left.discard(tag)
        meant = [tag for tag in dict.fromkeys(batch) if tag in left]
        expected = left - set(meant)
        left = at_the_broker(left, list(unanswered.acknowledged(meant)))
        assert left == expected
        assert len(unanswered) == len(left)


def test_one_acknowledgement_stands_for_all_without_a_gap() -> None:
    unanswered = Unanswered()
    for tag in range(1, 8):
        unanswered.add(tag)
    assert list(unanswered.acknowledged([2, 1, 3, 6])) == [(3, True), (6, False)]
    assert list(unanswered.acknowledged([4, 5, 7])) == [(7, True)]
    assert len(unanswered) == 0
