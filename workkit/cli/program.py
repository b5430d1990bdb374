"""How this program is called again from the same folder: what a command line must begin with to reach it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

NAME = "workkit"


def program() -> str:
    """Give ``workkit`` where a shell finds this very program under that name; else its path, or ``python -m workkit``.

    A path under the current folder is relative to it: ``.venv/bin/workkit``.
    """
    started = Path(sys.argv[0])
    if started.name == NAME and started.is_file():
        return NAME if _is_found(NAME, started) else _path(started)
    beside = Path(sys.executable).with_name(NAME)
    if beside.is_file():
        return NAME if _is_found(NAME, beside) else _path(beside)
    python = Path(sys.executable)
    name = next((name for name in ("python", "python3") if _is_found(name, python)), None)
    return f"{name or _path(python)} -m {NAME}"


def _is_found(name: str, program: Path) -> bool:
    """Tell whether a shell runs this program by its bare name."""
    found = shutil.which(name)
    return found is not None and os.path.abspath(found) == os.path.abspath(program)


def _path(program: Path) -> str:
    path = os.path.abspath(program)
    under = os.path.relpath(path)
    return shlex.quote(path if under.startswith(os.pardir) else under)
