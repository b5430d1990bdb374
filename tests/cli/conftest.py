from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from tests.servers import Server
from workkit import schedule
from workkit.cli import main


class Ran(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Ran]


def begin(server: Server, *names: str) -> None:
    """Have a server know schedules without jobs."""
    for name in names:
        schedule.mark(schedule.create(name, redis=server.url), "begun")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to stand in, and an environment that says nothing. What a test writes into it ends with it."""
    for name in list(os.environ):
        if name.startswith("WORKKIT_") or name in ("REDIS_URL", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    with patch.dict(os.environ):
        yield tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command line in this process, without a shell. What it writes into the environment ends with it."""

    def ran(*words: str) -> Ran:
        capsys.readouterr()
        with patch.dict(os.environ):
            status = main(list(words))
        out, err = capsys.readouterr()
        return Ran(status, out, err)

    return ran
