"""Priorities, weights, strict order and pauses, with two listener processes on each schedule. What a crash does to
priorities and pauses: `test_features_crash`.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.acceptance import feature_jobs
from tests.acceptance.feature_jobs import HERE, SLACK, WAIT, Cast, doubled
from tests.metronome import Metronome
from tests.processes import until
from tests.servers import Server
from workkit import schedule
from workkit.schedule import Schedule

SHORT = 0.02  # seconds of a run: too long for a listener to take more than it has threads
IN_HAND = 4  # runs of two listeners with a thread each that others may overtake
SEEN = 2.0  # seconds within which a listener sees that a pause is over


@pytest.fixture
def cast(server: Server, tmp_path: Path) -> Iterator[Cast]:
    with closing(Cast(server, tmp_path)) as cast:
        yield cast


def add(s: Schedule, labels: list[str], **how: int) -> None:
    schedule.add_many(s, [{"fn": feature_jobs.note, "at": "now", "args": [label, SHORT], **how} for label in labels])


def order(cast: Cast) -> list[str]:
    return [line["label"] for line in cast.lines("start")]


def listeners(cast: Cast) -> int:
    """How many have run anything."""
    return len({line["listener"] for line in cast.lines("start")})


def test_of_a_backlog_the_highest_priorities_run_first(cast: Cast, name: str) -> None:
    s = cast.schedule(name)
    both = cast.listeners(2, [name], threads=1)
    schedule.pause(s)
    wanted = ["3"] * 20 + ["2"] * 20 + ["1"] * 20 + ["0"] * 20
    shuffled = random.sample(wanted, len(wanted))
    schedule.add_many(
        s, [{"fn": feature_jobs.note, "at": "now", "args": [p, SHORT], "priority": int(p)} for p in shuffled]
    )
    schedule.resume(s)
    cast.done(*wanted)
    began = order(cast)
    overtaken = [sum(later > label for later in began[n:]) for n, label in enumerate(began)]
    assert max(overtaken) <= IN_HAND
    assert Counter(began) == Counter(wanted)
    assert listeners(cast) == 2
    cast.tidy(s)
    cast.stop(*both)


def test_schedules_get_their_share_by_weight(cast: Cast, name: str) -> None:
    """Seen for a while in which none is empty. The bound is far beyond chance, and equal shares are far beyond it."""
    weights = {f"{name}-{weight}": weight for weight in (1, 3, 6)}
    number = 200
    for one in weights:
        add(cast.schedule(one), [one] * number)
    cast.listeners(2, weights, threads=1)
    until(lambda: len(order(cast)) >= number, what="runs", timeout=WAIT)
    began = Counter(order(cast)[:number])
    assert max(began.values()) < number, "one was empty, and the others had its share"
    expected = {one: number * weight / 10 for one, weight in weights.items()}
    spread = sum((began[one] - wanted) ** 2 / wanted for one, wanted in expected.items())
    assert spread < 50, began
    assert listeners(cast) == 2


def test_strict_order_empties_one_schedule_before_the_next(cast: Cast, name: str) -> None:
    names = [f"{name}-{n}" for n in "ab"]
    for one in reversed(names):
        add(cast.schedule(one), [one] * 40)
    words = [
        "listen",
        *names,
        "--strict",
        "--threads",
        "1",
        "--import",
        HERE,
        "--only-imports",
        "--redis",
        cast.server.url,
    ]
    both = [cast.processes.workkit(*words, env=cast.env) for _ in range(2)]
    cast.done(*names * 40)
    began = order(cast)
    late = sum(label == names[1] for label in began[: len(began) - began[::-1].index(names[0])])
    assert late <= IN_HAND
    assert listeners(cast) == 2
    for process in both:
        process.send(signal.SIGTERM)
        assert process.wait(timeout=WAIT) == 0, process.transcript()


def test_pauses_are_seen_by_all_at_once_and_end_at_their_time(cast: Cast, name: str, machine: Metronome) -> None:
    whole, parts = cast.schedule(f"{name}-whole"), cast.schedule(f"{name}-parts")
    both = cast.listeners(2, [whole.name, parts.name], threads=4)
    cast.open("guarded")
    schedule.add(parts, feature_jobs.note, every="second", args=["tick"], name="tick")
    add(whole, ["whole"] * 400)
    until(lambda: len(cast.starts("whole")) >= 20 and listeners(cast) == 2, what="both to run")

    end = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3)
    schedule.pause(whole, until=end)
    schedule.pause(parts, fn=feature_jobs.guarded, until=end)
    schedule.pause(parts, "tick")
    for _ in range(6):
        schedule.add_now(parts, feature_jobs.guarded, args=["guarded"])
    schedule.add_now(parts, feature_jobs.note, args=["other"])
    until(lambda: not schedule.counts(whole).running, what="what had begun to end")
    before, ticks = len(cast.starts("whole")), len(cast.starts("tick"))
    assert before < 300, "nothing was left to be paused"
    until(lambda: schedule.counts(parts).paused == 7, what="all to be parked")
    cast.done("other")

    cast.done(*["whole"] * 400, *["guarded"] * 6)
    resumed = cast.starts("whole")[before:] + cast.starts("guarded")
    assert min(line["at"] for line in resumed) >= end.timestamp()
    assert cast.starts("whole")[before]["at"] <= end.timestamp() + SEEN + SLACK + machine.slack
    assert max(line["at"] for line in cast.starts("guarded")) <= end.timestamp() + SEEN + SLACK + machine.slack
    assert len({line["listener"] for line in cast.starts("whole")[before:]}) == 2

    assert schedule.counts(parts).paused == 1
    assert len(cast.starts("tick")) == ticks, "the pause of a job has no end of its own"
    resumed_at = time.time()
    schedule.resume(parts, "tick")
    until(lambda: cast.starts("tick")[ticks + 1 :], what="the next ticks")
    assert [line for line in cast.starts("tick")[ticks:] if line["due"] < resumed_at * 1000] == []
    schedule.cancel(parts, "tick")
    for s in (whole, parts):
        cast.tidy(s)
    assert doubled(cast.story()) == []
    cast.stop(*both)
