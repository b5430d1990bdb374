"""What follows a failed run: the rule, and the retries that Go pools recorded."""

from __future__ import annotations

import pytest

from tests.brokers.gocraft import vectors
from workkit.brokers.gocraft.failure_times import backoff_seconds, fate
from workkit.brokers.gocraft.text import read

CHANCES = [n / 30 for n in range(30)] + [0.999999]


@pytest.mark.parametrize(("fails", "least", "most", "step"), [(1, 16, 74, 2), (2, 31, 118, 3), (3, 96, 212, 4)])
def test_the_pause_grows_with_the_failures(fails: int, least: int, most: int, step: int) -> None:
    pauses = [backoff_seconds(fails, chance=chance) for chance in CHANCES]
    assert sorted(set(pauses)) == list(range(least, most + 1, step))


def test_the_recorded_retries_are_pauses_of_the_rule() -> None:
    members = {
        (text, int(score))
        for step in vectors.steps("failed_retry")
        for text, score in step.get("dump", {}).get("gv:retry", {}).get("value", ())
    }
    assert len(members) == 2
    for text, score in members:
        job = read(text.encode())
        assert score - job.failed_at in {backoff_seconds(job.fails, chance=chance) for chance in CHANCES}


@pytest.mark.parametrize(
    ("fails", "max_fails", "skip_dead", "expected"),
    [
        (1, 0, False, "retry"),
        (3, 0, False, "retry"),
        (4, 0, False, "dead"),
        (10, 0, False, "dead"),
        (1, 1, False, "dead"),
        (1, 1, True, "dropped"),
        (2, 3, True, "retry"),
        (3, 3, True, "dropped"),
        (-4, 1, False, "retry"),
    ],
)
def test_a_job_is_dead_once_it_failed_as_often_as_it_may(
    fails: int, max_fails: int, skip_dead: bool, expected: str
) -> None:
    assert fate(fails, max_fails=max_fails, skip_dead=skip_dead) == expected


def test_the_recorded_deaths_follow_the_rule() -> None:
    first, second = vectors.recordings("failed_dead")
    for recording, max_fails in ((first, 3), (second, 1)):
        for step in recording["steps"]:
            dump = step.get("dump", {})
            for key in ("retry", "dead"):
                for text, _ in dump.get(f"gv:{key}", {}).get("value", ()):
                    assert fate(read(text.encode()).fails, max_fails=max_fails) == key
    skipped = [text for text in vectors.job_texts("failed_dead") if "export_skip" in text]
    assert not any('"fails"' in text for text in skipped)
    assert fate(1, max_fails=1, skip_dead=True) == "dropped"
