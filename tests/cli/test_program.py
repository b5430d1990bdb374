"""How the command line names itself in commands to try next: as it can be called from the same folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT

SOURCE = f"#!{sys.executable}\nfrom workkit.cli.commands.demo import program\nprint(program())\n"


def called(command: list[str], *, cwd: Path, path: str = "/usr/bin:/bin") -> str:
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def script(folder: Path) -> Path:
    file = folder / ".venv" / "bin" / "workkit"
    file.parent.mkdir(parents=True)
    file.write_text(SOURCE)
    file.chmod(0o755)
    return file


def test_a_program_off_the_path_is_named_by_its_path(folder: Path, script: Path) -> None:
    assert called([".venv/bin/workkit"], cwd=folder) == ".venv/bin/workkit"
    assert called([str(script)], cwd=folder) == ".venv/bin/workkit"
    (folder / "other").mkdir()
    assert called([str(script)], cwd=folder / "other") == str(script)


def test_a_program_on_the_path_is_named_by_its_name(folder: Path, script: Path) -> None:
    assert called([str(script)], cwd=folder, path=f"{script.parent}:/usr/bin:/bin") == "workkit"


def test_another_program_of_the_same_name_is_not_taken_for_it(folder: Path, script: Path) -> None:
    other = folder / "bin" / "workkit"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert called([str(script)], cwd=folder, path=f"{other.parent}:/usr/bin:/bin") == ".venv/bin/workkit"
