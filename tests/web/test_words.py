from __future__ import annotations

from typing import Any

import pytest

from workkit.contract.limit_use import LimitUse
from workkit.jobs.job import Job
from workkit.jobs.terms import Terms
from workkit.web.words import left_out, may_wait

WAITS = LimitUse(key="over:nightly", used=1, limit=1, waiting=1)
FULL = LimitUse(key="over:nightly", used=1, limit=1, waiting=0)
OTHER = LimitUse(key="over:other", used=1, limit=1, waiting=3)


@pytest.mark.parametrize(
    ("overlap", "state", "uses", "because"),
    [
        ("skip", "running", (), "A run of it has not ended"),
        ("skip", "cancelling", (), "A run of it has not ended"),
        ("skip", "retrying", (), "A run of it waits for another attempt"),
        ("skip", "held", (), "A run of it waits to start"),
        ("skip", "waiting", (), ""),
        (None, "running", (), ""),
        (None, "running", (WAITS,), ""),
        ("queue", "running", (FULL, OTHER), ""),
        ("queue", "running", (WAITS,), "One run of it waits already"),
        ("cancel", "cancelling", (OTHER, WAITS), "One run of it waits already"),
        ("queue", "waiting", (WAITS,), ""),
    ],
)
def test_a_run_by_hand_is_asked_about_where_overlap_leaves_it_out(
    overlap: str | None, state: Any, uses: tuple[LimitUse, ...], because: str
) -> None:
    job = Job(id="1", schedule="s", fn="f", state=state, terms=Terms(name="nightly", overlap=overlap))
    asked = left_out(job, uses)
    assert asked.startswith(because)
    assert bool(asked) == bool(because)
    assert may_wait(job) == (overlap in ("queue", "cancel") and state != "waiting")
