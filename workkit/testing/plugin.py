"""The plugin for pytest: the fixture `wk`. Only pytest imports this module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workkit.jobs.call import ListenOptions
    from workkit.testing import Workkit


@pytest.fixture(scope="session")
def wk_server() -> Iterator[str]:
    """The URL of a private server, one for each process of tests; it ends with the session."""
    from workkit import testing

    with testing.server() as url:
        yield url


@pytest.fixture
def wk_options() -> ListenOptions:
    """The options of `schedule.listener` under which `wk` runs jobs. Override it in a conftest.py. By default,
    functions of modules under the root folder of the tests may run.
    """
    return {}


@pytest.fixture
def wk(wk_server: str, wk_options: ListenOptions, pytestconfig: pytest.Config) -> Iterator[Workkit]:
    """The schedules of this process on a private server, empty before and after the test, with a clock to move."""
    from workkit import testing

    how: ListenOptions = {"folder": pytestconfig.rootpath}
    how.update(wk_options)
    with testing.Workkit(wk_server, **how) as made:
        yield made
