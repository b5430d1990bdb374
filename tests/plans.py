"""Versions of a module that plans jobs, for tests: its text as a module of this program, or as a file of a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

HEAD = "from workkit import schedule\ns = schedule.create({schedule!r}, tz='Europe/Paris')\n"
OLD, NEW = 1_700_000_000, 1_700_000_100  # when two versions were written, epoch seconds


def write(folder: Path, module: str, text: str, *, schedule: str, written: int) -> Path:
    """Write a module as it was at that time."""
    file = folder / f"{module}.py"
    file.write_text(HEAD.format(schedule=schedule) + text)
    os.utime(file, (written, written))
    return file


@contextmanager
def imported(file: Path) -> Iterator[ModuleType]:
    """Import a file, as it is now, under its name; forget it at the end."""
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    sys.modules[file.stem] = module
    try:
        exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
        yield module
    finally:
        del sys.modules[file.stem]
