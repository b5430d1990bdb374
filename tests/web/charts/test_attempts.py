from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.web.charts.rects import NOW, PARIS, ran
from workkit.contract.history import PastRun
from workkit.jobs.run_options import RunOptions
from workkit.web.charts.attempts import Attempts, attempts

OPTIONS = RunOptions(retries=5, base_ms=5_000, jitter=False)
SECOND = timedelta(seconds=1)


def tried(number: int, back: float, took: float) -> PastRun:
    run = ran(NOW - back * SECOND, "retried", late_ms=0, took_ms=round(took * 1000))
    return replace(run, attempt=number - 1)


FAILED = [tried(1, 27, 2.1), tried(2, 20, 2.0), tried(3, 8, 2.2)]


def drawn(*runs: PastRun, **more: object) -> Attempts:
    return attempts(runs, options=OPTIONS, now=NOW, zone=PARIS, **more)  # type: ignore[arg-type]


def test_failed_attempts_then_the_next_then_those_to_come() -> None:
    shown = drawn(*FAILED, next_due=NOW + 15 * SECOND, usual_ms=2_000)
    assert [(s.number, s.kind, s.at, s.said, s.pause) for s in shown.steps] == [
        (1, "f", "11:15:03", "failed in 2.1 s", "5 s"),
        (2, "f", "11:15:10", "failed in 2 s", "10 s"),
        (3, "f", "11:15:22", "failed in 2.2 s", "21 s"),
        (4, "p", "11:15:45", "in 15 s", "42 s"),
        (5, "p", "about 11:16:27", "", "1 min 22 s"),
        (6, "p", "about 11:17:49", "then dead", ""),
    ]
    assert [s.on for s in shown.steps][:4] == ["worker-1"] * 3 + [""]


def test_a_long_pause_is_said_without_seconds() -> None:
    shown = drawn(*FAILED[:1], next_due=NOW + 1944 * SECOND)
    assert shown.steps[0].pause == "32 min"


def test_now_is_on_its_line() -> None:
    shown = drawn(*FAILED, next_due=NOW + 15 * SECOND)
    assert [s.now_x for s in shown.steps if s.now_x is not None] == [63]  # 5.8 s of 20.8 s are over
    assert [s.soon for s in shown.steps] == [False, False, True, True, True, False]


def test_an_attempt_in_progress_is_one_of_them() -> None:
    shown = drawn(FAILED[0], began=NOW - 4 * SECOND)
    assert [(s.number, s.kind, s.said) for s in shown.steps][:2] == [
        (1, "f", "failed in 2.1 s"),
        (2, "r", "runs for 4 s"),
    ]


def test_the_last_failure_says_that_it_is_dead() -> None:
    shown = drawn(replace(FAILED[0], ending="dead"))
    assert [s.said for s in shown.steps] == ["failed in 2.1 s, then dead"]


def test_a_job_that_never_ran_waits_for_its_first_attempt() -> None:
    shown = attempts([], options=RunOptions(), now=NOW, zone=PARIS, next_due=NOW + 60 * SECOND)
    assert [(s.number, s.kind, s.said, s.pause) for s in shown.steps] == [(1, "p", "in 1 min", "")]
    assert shown.label == "Attempt 1 at 11:16:30, in 1 min."


def test_all_are_one_sentence() -> None:
    shown = drawn(*FAILED[:1], next_due=NOW + 15 * SECOND)
    assert shown.label.startswith("Attempt 1 failed in 2.1 s, 11:15:03, then attempt 2 at 11:15:45, in 15 s, then ")


def test_jitter_places_those_to_come_at_its_middle() -> None:
    options = RunOptions(retries=2, base_ms=40_000, backoff="constant")
    shown = attempts([], options=options, now=NOW, zone=PARIS, next_due=NOW)
    assert [s.at for s in shown.steps] == ["11:15:30", "about 11:16", "about 11:16:30"]


def test_of_many_attempts_the_last_are_drawn() -> None:
    runs = [tried(k + 1, 1000 - 10 * k, 1) for k in range(40)]
    shown = drawn(*runs)
    assert len(shown.steps) == 12
    assert shown.more == 28
