"""Reads the rectangles of path data back, and makes runs to draw."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from workkit.contract.history import Ended, PastRun

NOW = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")
_RECT = re.compile(r"M(-?[\d.]+) (-?[\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)z")


def rects(data: str) -> list[tuple[float, float, float, float]]:
    """Read path data of nothing but rectangles: x, y, width, height."""
    found = [tuple(map(float, one)) for one in _RECT.findall(data)]
    assert _RECT.sub("", data) == "", data
    assert all(width == back for _, _, width, _, back in found), data
    return [(x, y, width, height) for x, y, width, height, _ in found]


def ran(
    due: datetime = NOW, ending: Ended = "done", *, took_ms: int = 2_000, late_ms: int = 4, error: str | None = None
) -> PastRun:
    """A past run of the job "nightly"."""
    ended = due + timedelta(milliseconds=late_ms + took_ms)
    return PastRun(
        id="5" * 40,
        name="nightly",
        fn="#'app.reports/nightly",
        due=due,
        ended=ended,
        ending=ending,
        late_ms=late_ms,
        took_ms=took_ms,
        listener="worker-1",
        error=error,
    )
