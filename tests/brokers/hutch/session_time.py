"""Shorter periods for a session under test."""

from __future__ import annotations

import pytest

from workkit.brokers.hutch import session


def hoard_for(monkeypatch: pytest.MonkeyPatch, *, seconds: float) -> None:
    monkeypatch.setattr(session, "HOARDED", seconds)
