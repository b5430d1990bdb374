"""What is said of the one that was tried first, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from workkit.contract.history import PastRun
from workkit.errors import NotFound, Unsupported
from workkit.jobs.job import Job
from workkit.web.background.works import Work
from workkit.web.dead.grave import Grave, grave_of
from workkit.web.dead.trial import trial
from workkit.web.hiding.veil import veil_of

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
ID = "5c0d41" + "0" * 34


def died(id: str, *, error: str = "E: full", seconds: int = 600) -> Grave:
    due = NOW - timedelta(seconds=seconds)
    job = Job(id=id, schedule="s", fn="f", due=due, state="dead", error=error, dead_id=id)
    return grave_of(job, veil_of())


def run(ending: Any) -> PastRun:
    return PastRun(id=ID, name=None, fn="f", due=NOW, ended=NOW, ending=ending, took_ms=2100)


class There:
    """An inspector that knows one job and some runs."""

    def __init__(self, state: Any, runs: list[PastRun] | None) -> None:
        self._state, self._runs, self.asked = state, runs, 0

    def job(self, which: str) -> Job:
        self.asked += 1
        if self._state is None:
            raise NotFound("no such job")
        return Job(id=which, schedule="s", fn="f", state=self._state, due=NOW + timedelta(seconds=15))

    @property
    def history(self) -> There:
        return self

    def runs(self, *, since_ms: int) -> Iterator[PastRun]:
        if self._runs is None:
            raise Unsupported("history is not kept")
        return iter(self._runs)


OTHERS = (died("a" * 40), died("b" * 40))


@pytest.mark.parametrize(
    ("there", "graves", "said", "ran"),
    [
        (There("running", []), OTHERS, "It runs.", False),
        (There("due", []), OTHERS, "It is due.", False),
        (There("retrying", []), OTHERS, "Failed again; its next attempt is in 15 s. 2 left as they are.", False),
        (There("held", []), OTHERS, "It is held.", False),
        (There(None, [run("done")]), OTHERS, "It ran, in 2.1 s.", True),
        (There("waiting", [run("done")]), OTHERS, "It ran, in 2.1 s.", True),
        (There(None, [run("discarded")]), OTHERS, "It ended: discarded.", False),
        (There("dead", [run("dead")]), OTHERS, "Failed again. 2 left as they are.", False),
        (There(None, []), OTHERS, "It is over; how long it took is told in a moment.", False),
        (There(None, None), OTHERS, "It is not dead; more of it is not known here.", False),
        (There("dead", []), (*OTHERS, died(ID, seconds=0)),
         "Failed again with the same error. 2 left as they are.", False),
        (There("dead", []), (*OTHERS, died(ID, seconds=0, error="E: other")),
         "Failed again: E: other. 2 left as they are.", False),
    ],
)  # fmt: skip
def test_where_it_is(there: There, graves: tuple[Grave, ...], said: str, ran: bool) -> None:
    begun_ms = round((NOW - timedelta(seconds=5)).timestamp() * 1000)
    work = Work(
        schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms
    )  # fmt: skip
    found = trial(there, work, graves, now=NOW)  # type: ignore[arg-type]  # as much of one as is asked
    assert (found.said, found.ran, found.left) == (said, ran, 2)
    asked = there.asked
    if work.fate in ("ran", "failed", "over"):
        assert trial(there, work, graves, now=NOW) == found  # type: ignore[arg-type]
        assert there.asked == asked


def test_a_run_that_is_written_late_is_waited_for_a_moment() -> None:
    there = There(None, [])
    begun_ms = round((NOW - timedelta(seconds=5)).timestamp() * 1000)
    work = Work(schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms)
    kept = Work(schedule="s", kind="try", total=3, print=OTHERS[0].print, job_id=ID, job="f", begun_ms=begun_ms)
    for one in (work, kept):
        assert not trial(there, one, OTHERS, now=NOW).ran  # type: ignore[arg-type]  # as much of one as is asked
    later = NOW + timedelta(seconds=3)
    found = trial(there, work, OTHERS, now=later)  # type: ignore[arg-type]
    assert (found.said, found.ran) == ("It ran; how long it took is not kept.", True)
    written = There(None, [run("done")])
    found = trial(written, kept, OTHERS, now=later)  # type: ignore[arg-type]
    assert (found.said, found.ran) == ("It ran, in 2.1 s.", True)
