"""docs/scale.md: its tables are those of the measured points, and the model does what the page says."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from docs.scale.__main__ import PAGE, PLACE, written
from docs.scale.job import STEPS, job_tables, rows
from docs.scale.model import Fleet, Model, errors, fit
from docs.scale.points import read_points, read_section
from docs.scale.simulate import Load, simulate
from tests.benchmarks.peers.installing import checkout
from tests.benchmarks.peers.roster import WORKKIT
from tests.benchmarks.peers.running import Failed, Stage
from tests.processes import ROOT


@pytest.fixture(scope="module")
def model() -> Model:
    return fit(*read_points())


def test_the_page_has_the_tables_of_the_points() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(PLACE.findall(text)) == 10
    assert written(text) == text, "run: python -m docs.scale"


def test_the_model_is_near_to_most_points(model: Model) -> None:
    off = sorted(abs(error) for error in errors(model, read_points()[0]).values())
    assert off[len(off) // 2] < 0.25


def test_more_processes_help_until_the_server_is_the_limit(model: Model) -> None:
    rates = [model.rate("once", Fleet(processes=count)) for count in (1, 2, 4, 8, 64)]
    assert rates[0] < rates[1]
    assert model.bound("once", Fleet(processes=1)) == "listeners"
    assert model.bound("once", Fleet(processes=64)) == "server"
    assert rates[-1] <= rates[-2], "heartbeats take from what the server has"
    shared = Fleet(processes=4, cores=2)
    assert model.rate("once", shared) < model.rate("once", Fleet(processes=4))
    assert model.bound("once", shared) == "processors"


def test_shards_multiply_what_servers_do(model: Model) -> None:
    one, four = (model.rate("once", Fleet(shards=n, processes=1_000)) for n in (1, 4))
    assert 3.9 < four / one < 4.5
    assert model.rate("once", Fleet(processes=10**9)) == 0


def test_what_is_due_together_waits_for_its_turn(model: Model) -> None:
    fleet, load = Fleet(processes=4), Load(jobs=100_000)
    found = simulate(model, load, fleet)
    capacity = model.rate("recurring", fleet, waiting=load.jobs)
    assert found.worst_s == pytest.approx(load.jobs * load.together / capacity, rel=0.2)
    assert found.keeps_up
    assert found.busy == pytest.approx(load.rate / capacity)
    even = simulate(model, Load(jobs=100_000, together=0.0), fleet)
    assert even.worst_s < found.worst_s / 10


def test_too_much_work_is_never_done(model: Model) -> None:
    capacity = model.rate("recurring", Fleet(), waiting=10**8)
    found = simulate(model, Load(jobs=capacity * 3600 * 1.1), Fleet())
    assert not found.keeps_up
    assert math.isinf(found.p50_s)


def test_growth_makes_larger_schedules_dearer(model: Model) -> None:
    small, large = (model.server_us("once", size) for size in (10**4, 10**8))
    assert small <= large < 4 * small


def test_single_additions_are_multiples_of_the_ping_of_their_round() -> None:
    job = {"cores": 2, "against": "old", "sides": {"here": _side(step=30.0), "old": _side(step=40.0)}}
    found = {row.what: row for row in rows(job)}
    assert found["PINGs, add_now"].values == [1.5, 3.0]
    assert found["PINGs, add_now"].others == [2.0, 4.0]
    assert found["PINGs, add_now"].ratios == [0.75, 0.75]


def test_two_listeners_are_set_against_what_the_cores_allow() -> None:
    (found,) = (row for row in rows({"cores": 2, "against": "", "sides": {"here": _side()}}) if "cores" in row.what)
    assert found.values == pytest.approx([0.5, 0.5]), "2 cores allow 100,000 jobs/s of 20 µs, and 50,000 ran"
    assert found.ratios == [], "nothing was measured beside"


def test_rates_of_more_listeners_are_called_computed(model: Model) -> None:
    job, peers = read_section("job"), read_section("peers")
    first, *others = job_tables(job, peers, model)["fleet"].splitlines()[2:5]
    assert first.count("measured") == 1
    assert [line.count("computed (") for line in (first, *others)] == [3, 4, 4]


def _side(step: float = 30.0) -> dict[str, list[float]]:
    names = ("one.add_rate", "one.add_us", "wake.p50_ms", "wake.p99_ms", *(f"step_cpu.{kind}" for kind in STEPS))
    found = {name: [1.0, 1.0] for name in names} | {f"step.{kind}": [step, step] for kind in STEPS}
    for listeners in ("one", "two"):
        found |= {f"{listeners}.{what}": [10.0, 10.0] for what in ("worker_us", "run_server_us")}
        found[f"{listeners}.run_rate"] = [50_000.0, 50_000.0]
    return found | {"step.PING": [20.0, 10.0]}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ([[0, 1, 2], [3]], ""),
        ([[0, 1], [3]], "3 of 4 ran, 0 runs too many"),
        ([[0, 1, 2], [2, 3]], "4 of 4 ran, 1 runs too many: number 2 ran 2 times"),
        ([[0, 1, 2, 3, 4], []], "5 of 4 ran"),
    ],
)
def test_a_run_has_figures_only_if_each_job_ran_exactly_once(told: list[list[int]], why: str, tmp_path: Path) -> None:
    it = Stage(WORKKIT, checkout(ROOT), server="", folder=tmp_path)
    for place, numbers in enumerate(told):
        it.workers.append(tmp_path / f"worker-{place}")
        it.workers[-1].mkdir()
        (it.workers[-1] / "told").write_text(json.dumps([(n, 1.0) for n in numbers]))
    try:
        if why:
            with pytest.raises(Failed, match=re.escape(why)):
                it.await_exactly(4, lambda: None)
        else:
            assert it.await_exactly(4, lambda: None) == [[(n, 1.0) for n in numbers] for numbers in told]
    finally:
        it.close()
