"""The tests of the pipeline: nights pass in a moment. The fixture `wk` comes with workkit."""

import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pipeline
import pytest

from workkit import schedule, testing

PLAN, s = tomllib.loads((pipeline.HERE / "plan.toml").read_text()), pipeline.s


asked: list[tuple[str, str]] = []
down: set[str] = set()


def fetch(source: str, day: str) -> int:
    asked.append((source, day))
    if source in down:
        raise ConnectionError(f"{source} does not answer")
    return len(source)


@pytest.fixture(autouse=True)
def evening(wk: testing.Workkit, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: Any) -> None:
    """Begin each test on an evening, with an empty database and sources that all answer."""
    asked.clear()
    down.clear()
    monkeypatch.setattr(pipeline, "DATABASE", tmp_path / "pipeline.sqlite3")
    monkeypatch.setattr(pipeline, "fetch", fetch)
    wk.travel(f"{getattr(request, 'param', '2026-03-02')} 20:00", tz="Europe/Paris")
    schedule.sync(s, PLAN)


def nights() -> dict[str, int]:
    with pipeline.database() as db:
        return dict(db.execute("SELECT day, rows FROM nights ORDER BY day"))


def test_a_night_is_extracted_loaded_and_reported(wk: testing.Workkit, capsys: pytest.CaptureFixture[str]) -> None:
    ran = [run.fn.removeprefix("pipeline.") for run in wk.run_until("tomorrow at 7am")]
    assert ran == ["nightly", "extract", "extract", "extract", "load", "report"]
    assert capsys.readouterr().out == "night of 2026-03-03: 17 rows\n"


@pytest.mark.parametrize("evening", ["2026-03-27", "2026-10-23"], indirect=True)
def test_each_day_has_one_night_at_four_when_clocks_change(wk: testing.Workkit) -> None:
    began = [run.at.astimezone(pipeline.PARIS) for run in wk.run_until("in 3 days") if run.fn == "pipeline.nightly"]
    assert [f"{at:%a %H:%M}" for at in began] == ["Sat 04:00", "Sun 04:00", "Mon 04:00"]
    assert [f"{at:%Y-%m-%d}" for at in began] == list(nights())


def test_a_source_that_is_down_is_asked_again_after_longer_and_longer_pauses(
    wk: testing.Workkit, capsys: pytest.CaptureFixture[str]
) -> None:
    down.add("stock")
    ran = wk.run_until("tomorrow at 7am", raise_errors=False)
    of_stock = [run for run in ran if "stock" in run.job.args]
    assert [run.ending for run in of_stock] == ["failed"] * 4 + ["dead"]
    pauses = [later.at - run.at for run, later in pairwise(of_stock)]
    assert pauses == sorted(pauses)
    assert nights() == {}
    assert capsys.readouterr().out.startswith("extract/2026-03-03/stock: ConnectionError: stock does not answer")

    down.clear()  # somebody has repaired it, and tries again what is dead
    assert [dead.name for dead in schedule.dead(s)] == ["extract/2026-03-03/stock"]
    assert schedule.retry(s, where="extract") == 1
    wk.run_due()
    assert capsys.readouterr().out == "night of 2026-03-03: 17 rows\n"
    assert asked.count(("orders", "2026-03-03")) == 1  # the other sources are not asked again


def test_a_night_that_waits_at_seven_is_late(wk: testing.Workkit) -> None:
    schedule.pause(s, fn=pipeline.extract)
    wk.run_until("tomorrow at 7:01")
    late = schedule.counts(s).past_deadline
    assert sorted(one.job.args[1] for one in late) == list(pipeline.SOURCES)


def test_nights_without_a_listener_are_made_up_for(wk: testing.Workkit) -> None:
    wk.travel("2026-03-06 12:00")
    wk.run_due()
    assert list(nights()) == ["2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"]


def test_a_night_that_begins_twice_asks_each_source_once(wk: testing.Workkit) -> None:
    for _ in range(2):
        schedule.run(s, "nightly", args=["2026-02-01"])
    wk.run_due()
    assert sorted(asked) == [(source, "2026-02-01") for source in pipeline.SOURCES]
    assert nights() == {"2026-02-01": 17}


def test_a_night_whose_beginning_was_cut_off_is_completed(wk: testing.Workkit, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_off() -> Iterator[str]:
        yield "orders"
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(pipeline, "SOURCES", cut_off())
        schedule.run(s, "nightly", args=["2026-02-01"])
        wk.run_due(raise_errors=False)
    assert asked == []  # no source is asked before the night is whole
    schedule.run(s, "nightly", args=["2026-02-01"])
    wk.run_due()
    assert sorted(asked) == [(source, "2026-02-01") for source in pipeline.SOURCES]
    assert nights() == {"2026-02-01": 17}
