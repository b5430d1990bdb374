"""When a view is looked at again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from workkit.contract.inspector import Counts, Pulse
from workkit.contract.listener import ListenerInfo
from workkit.jobs.job import Job
from workkit.web.live.channel import Shown, stirred

JOB = Job(id="1", schedule="s", fn="app:f", due=datetime(2026, 11, 20, 10, 15, tzinfo=UTC))
INFO = ListenerInfo(
    listener="host:1:ab", host="host", pid=1, version="1", schedules={"s": 1}, threads=2,
    running=(replace(JOB, id="2", state="running"),),
)  # fmt: skip
PULSE = Pulse(now_ms=1, counts=Counts(waiting=1, running=1, listeners=1), soon=(JOB,), listeners=(INFO,), version="7")


def test_time_beats_and_ages_are_no_change() -> None:
    later = replace(
        PULSE, now_ms=1000, counts=replace(PULSE.counts, late_ms=900, totals={"done": 4}),
        listeners=(replace(INFO, beat_ms=400, up_ms=1000),),
    )  # fmt: skip
    assert not stirred(PULSE, later)


@pytest.mark.parametrize(
    "other",
    [
        replace(PULSE, version="8"),
        replace(PULSE, counts=replace(PULSE.counts, dead=1)),
        replace(PULSE, soon=(replace(JOB, id="3"),)),
        replace(PULSE, soon=(replace(JOB, due=datetime(2026, 11, 20, 10, 16, tzinfo=UTC)),)),
        replace(PULSE, listeners=()),
        replace(PULSE, listeners=(replace(INFO, running=(replace(JOB, id="2", progress="half"),)),)),
    ],
    ids=["version", "dead", "head", "due", "listener", "progress"],
)
def test_what_a_page_shows_is_a_change(other: Pulse) -> None:
    assert stirred(PULSE, other)


@pytest.mark.parametrize(
    ("every_s", "since_s", "is_stirred", "is_due"),
    [
        (5, 0.4, True, False),  # at most twice a second
        (5, 0.6, True, True),
        (5, 4.9, False, False),
        (5, 5, False, True),
        (30, 4.9, True, False),  # drawings are dear
        (30, 5, True, True),
        (30, 29, False, False),
        (30, 30, False, True),
    ],
)
def test_a_view_is_looked_at_again_when_it_is_time(
    every_s: float, since_s: float, is_stirred: bool, is_due: bool
) -> None:
    view: Any = SimpleNamespace(looking=SimpleNamespace(page=SimpleNamespace(every_s=every_s)))
    shown = Shown(view, pulse=PULSE, looked=100, is_stale=False)
    pulse = replace(PULSE, version="8") if is_stirred else PULSE
    assert shown.is_due(pulse, 100 + since_s) is is_due
    shown.is_stale = True
    assert shown.is_due(PULSE, 100 + since_s) is (since_s >= 0.5)
