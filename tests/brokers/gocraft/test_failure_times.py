"""When a failed job of a pool runs again, or is dead: the usual rule, and what Go pools recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.codec import USUAL_RUN
from workkit.brokers.gocraft.text import read
from workkit.jobs.outcome import Again, Dead, decide
from workkit.worker.run.call import failure_of

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


def test_the_recorded_deaths_are_those_of_the_usual_rule() -> None:
    first, second = vectors.recordings("failed_dead")
    seen = set()
    for recording, max_fails in ((first, 3), (second, 1)):
        options = replace(USUAL_RUN, retries=max_fails - 1)
        for step in recording["steps"]:
            for key, outcome in (("retry", Again), ("dead", Dead)):
                for text, _ in step.get("dump", {}).get(f"gv:{key}", {}).get("value", ()):
                    error = OSError("disk full")
                    attempt = read(text.encode()).fails - 1
                    ended = decide(error, failure_of(error), attempt=attempt, options=options)
                    assert isinstance(ended, outcome), (text, ended)
                    seen.add(key)
    assert seen == {"retry", "dead"}
