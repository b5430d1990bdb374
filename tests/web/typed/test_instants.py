"""Instants that somebody typed: what has passed comes before what is to come."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from workkit.errors import InvalidOptions
from workkit.web.typed.instants import read_instant

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 20, 11, 15, 30, tzinfo=PARIS)  # a Friday


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("now", "2026-11-20T11:15:30+01:00"),
        ("2 hours ago", "2026-11-20T09:15:30+01:00"),
        ("1h 30min ago", "2026-11-20T09:45:30+01:00"),
        ("today", "2026-11-20T00:00:00+01:00"),
        ("yesterday", "2026-11-19T00:00:00+01:00"),
        ("yesterday 14:00", "2026-11-19T14:00:00+01:00"),
        ("Yesterday at 2pm", "2026-11-19T14:00:00+01:00"),
        ("9am", "2026-11-20T09:00:00+01:00"),
        ("Monday 9am", "2026-11-16T09:00:00+01:00"),
        ("tomorrow 9am", "2026-11-21T09:00:00+01:00"),
        ("2026-11-20T09:00", "2026-11-20T09:00:00+01:00"),
        ("2026-11-20T09:00:00Z", "2026-11-20T10:00:00+01:00"),
        ("2026-10-01", "2026-10-01T00:00:00+02:00"),
    ],
)
def test_an_instant_is_read(text: str, said: str) -> None:
    assert read_instant(text, name="from", now=NOW, zone=PARIS).astimezone(PARIS).isoformat() == said


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "x ago", "every day", "9" * 200, "99999999999 years ago"])
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidOptions, match="is no time that is understood") as caught:
        read_instant(text, name="from", now=NOW, zone=PARIS)
    assert (caught.value.where, caught.value.given) == ("from", text)
