"""The mixed fleet, small: `python -m tests.acceptance.mixed_fleet --jobs 20000` is the real one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.acceptance.mixed_fleet import Fleet

TROUBLES = {"ours killed", "Go killed", "ours stopped", "Go stopped"}


def test_kills_and_stops_on_both_sides_of_a_mixed_fleet_lose_nothing(tmp_path: Path) -> None:
    with closing(Fleet(tmp_path, seed=5, each=2, is_quick=True)) as fleet:
        report = fleet.run(600, rate=200, kill_every=1.0, freeze_every=None, stop_every=1.0, least=TROUBLES)
    assert report.complaints == [], str(report)
    assert report.troubles.keys() >= TROUBLES, str(report)
    assert min(report.ran.values()) >= 50, str(report)
