"""docs/scale.md: its tables are those of the measured points, and the model does what the page says."""

from __future__ import annotations

import math

import pytest

from docs.scale.__main__ import PAGE, PLACE, written
from docs.scale.model import Fleet, Model, errors, fit
from docs.scale.points import read_points
from docs.scale.simulate import Load, simulate


@pytest.fixture(scope="module")
def model() -> Model:
    return fit(*read_points())


def test_the_page_has_the_tables_of_the_points() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(PLACE.findall(text)) == 7
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
    assert model.memory("recurring", 10**6) == 10**6 * model.kinds["recurring"].bytes
