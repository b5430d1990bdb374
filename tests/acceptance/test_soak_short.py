"""The soak, short and hasty: `python -m tests.acceptance.soak --minutes 15` is the real one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.soak import HASTY, HOSTILE, Soak


@pytest.mark.parametrize("product", ["redis"])
def test_some_seconds_of_random_kills_lose_nothing(product: str, tmp_path: Path) -> None:
    with closing(Soak(tmp_path, rate=400, seed=7, product=product)) as soak:
        report = soak.run(14, troubles=HASTY)
    assert report.complaints == [], str(report)
    assert report.acknowledged >= 1000, str(report)
    kinds = {"listeners killed", "listeners stopped", "listeners frozen", "server killed", "connections cut"}
    assert kinds <= report.troubles.keys(), str(report)


def test_random_kills_among_hostile_values_lose_nothing(tmp_path: Path) -> None:
    with closing(Soak(tmp_path, rate=200, seed=11)) as soak:
        report = soak.run(10, troubles=(*HASTY, HOSTILE))
    assert report.complaints == [], str(report)
    assert report.acknowledged >= 300, str(report)
    assert report.troubles["hostile values"] >= 50, str(report)
