"""When a failed job of a pool runs again: the usual rule, and the retries that Go pools recorded."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.codec import USUAL_RUN
from workkit.brokers.gocraft.text import read

CHANCES = [n / 30 for n in range(30)] + [0.999999]


def pauses(fails: int) -> set[int]:
    """The pauses in seconds that may follow so many failures."""
    return {USUAL_RUN.delay_ms(fails - 1, chance=chance) // 1000 for chance in CHANCES}


@pytest.mark.parametrize(("fails", "least", "most", "step"), [(1, 16, 74, 2), (2, 31, 118, 3), (3, 96, 212, 4)])
def test_the_pause_grows_with_the_failures(fails: int, least: int, most: int, step: int) -> None:
    assert sorted(pauses(fails)) == list(range(least, most + 1, step))


def test_the_recorded_retries_are_pauses_of_the_rule() -> None:
    members = {
        (text, int(score))
        for step in vectors.steps("failed_retry")
        for text, score in step.get("dump", {}).get("gv:retry", {}).get("value", ())
    }
    assert len(members) == 2
    for text, score in members:
        job = read(text.encode())
        assert score - job.failed_at in pauses(job.fails)
