"""The fixture `wk` as a project has it, also where workkit was installed before it had a plugin."""

from __future__ import annotations

import pytest

from workkit.jobs.call import ListenOptions
from workkit.testing.plugin import wk, wk_server

__all__ = ["wk", "wk_options", "wk_server"]


@pytest.fixture
def wk_options() -> ListenOptions:
    return {"imports": ["tests.handlers", "tests.testing"], "folder": None}
