"""The examples, in a folder of the test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.servers import program

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    program("valkey")
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples")).resolve()
