"""The hostile storm, short: `python -m tests.acceptance.hostile_storm --values 20000` is the real one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.hostile_storm import Storm
from tests.acceptance.hostile_values import every_key
from tests.servers import Server

VALUES, BATCH, SEED = 600, 200, 20261122


@pytest.fixture(autouse=True)
def _undisturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the environment; and a second look at an orphan at once, as no foreign peer is here."""
    for name in list(os.environ):
        if name.startswith("WORKKIT_") or name in ("REDIS_URL", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.setattr("workkit.brokers.native.look.published.MOMENT", 0.05)


def test_hostile_values_in_every_key_stop_no_listener_no_command_and_no_good_job(
    server: Server, name: str, tmp_path: Path
) -> None:
    report = Storm(server, name=name, folder=tmp_path, seed=SEED).run(VALUES, batch=BATCH)
    assert not report.complaints, f"\n{report}"
    assert (report.deaths, report.hangs, report.bugs, report.lost, report.twice) == (0, 0, 0, [], [])
    assert report.values.total() >= VALUES
    assert report.values.keys() == every_key()
