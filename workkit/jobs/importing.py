"""Imports by a listener, the refusal of additions during an import, and the modules under a folder.

A module that a listener imports is often the program that adds the jobs. Each listener would repeat its additions. So
every verb that adds asks here first. A job that runs in another thread at the same time may add.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType

from workkit.errors import AddedAtImport, described
from workkit.jobs.marks import drop_failed, marks
from workkit.jobs.names import is_library

_OURS = __name__.partition(".")[0]
_HERE = os.path.join(os.path.dirname(__file__), "")  # a mark that is refused was written elsewhere
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_IMPORT = os.path.dirname(importlib.__file__)


@dataclass(slots=True, eq=False)
class _Import:
    """An import. `frame`: the frame that imports; None after its end. Tasks that the module has started may keep this
    context for longer.
    """

    module: str
    frame: FrameType | None


_present: ContextVar[_Import | None] = ContextVar("workkit_importing", default=None)
import_here = _present.get
"""Return the import around this code. None: there is none, and `refuse_addition` refuses nothing."""


def import_module(module: str) -> ModuleType:
    """Import a module for a listener. Raises every error of the import; drops the marks of a module that fails."""
    present = _Import(module, sys._getframe())
    token, before = _present.set(present), marks().keys()
    try:
        return importlib.import_module(module)
    except BaseException:
        drop_failed(before)
        raise
    finally:
        present.frame = None
        _present.reset(token)


def importing() -> str | None:
    """Return the module that a listener imports now in this thread, or in the thread that waits for this coroutine."""
    present = _present.get()
    return None if present is None or present.frame is None else present.module


def refuse_addition(verb: str) -> None:
    """Raise AddedAtImport while a listener imports a module in this thread. `verb`: the verb that the module called."""
    present = _present.get()
    if present is None or present.frame is None:
        return
    called, module, where = _user_frames(present.frame), present.module, ""
    if called:
        top = next((frame for frame in called if frame.f_code.co_name == "<module>"), called[-1])
        module = str(top.f_globals.get("__name__"))
        where = f" at {_place(called[0])}" if top is called[0] else f" at {_place(called[0])} (from {_place(top)})"
    remedy = 'Put additions below if __name__ == "__main__":, or into a function.'
    trouble = f"was called{where} while a listener imported {module}"
    raise AddedAtImport.about(verb, trouble, remedy, given=module)


def import_trouble(error: BaseException) -> str:
    """Word why an import failed, and where. Never raises."""
    if issubclass(type(error), AddedAtImport):
        return str(error)  # it names the place and the remedy
    frames = []
    with suppress(Exception):
        frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(("<", _HERE))]
    own = [f for f in frames if not f.filename.startswith(_IMPORT)]
    where = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno})" if own else ""
    if issubclass(type(error), SystemExit):
        return f'{described(error)}{where}. Put what starts a program under if __name__ == "__main__".'
    return f"{described(error)}{where}."


def _user_frames(importer: FrameType) -> list[FrameType]:
    """Return the frames of user code that an import has called, the innermost one first. Frames of installed packages
    are left out if there are others. The addition may run in another thread: in a coroutine for which the importing
    thread waits.
    """
    for innermost in sys._current_frames().values():
        found, frame = [], innermost
        while frame is not importer and frame.f_back is not None:
            name = str(frame.f_globals.get("__name__"))
            if not is_library(name) and name.partition(".")[0] != _OURS:
                found.append(frame)
            frame = frame.f_back
        if frame is importer:
            return [one for one in found if not any(mark in one.f_code.co_filename for mark in _INSTALLED)] or found
    return []


def _place(frame: FrameType) -> str:
    """Name a file as it is under this folder, and the line: ``app/jobs.py:12``."""
    file = near = frame.f_code.co_filename
    with suppress(OSError, ValueError):  # the present folder is gone
        near = os.path.relpath(file)
    return f"{os.path.basename(file) if near.startswith(('..', '/')) else near}:{frame.f_lineno}"


DEEPEST, MOST_FILES = 5, 2000  # bounds of a search: parts of a module's name, files
OURS = Path(__file__).resolve().parents[1]
"""The folder of the package workkit. A listener runs a module of it, such as workkit.shell, only if `imports` names
it.
"""
_MOST_SOURCES = 50  # folders of a repository with several packages


def modules_under(folder: Path, *, depth: int) -> Iterator[str]:
    """Find the modules with `depth` parts in their names, for a guess at a mistyped one. Follows no link, and reads at
    most `MOST_FILES` files.
    """
    if depth > DEEPEST:
        return
    places, looked = [(folder, "")], 0
    for level in range(1, depth + 1):
        inner = []
        for place, prefix in places:
            with suppress(OSError), os.scandir(place) as entries:
                for entry in entries:
                    if (looked := looked + 1) > MOST_FILES:
                        return
                    stem, suffix = os.path.splitext(entry.name)
                    if not stem.isidentifier() or entry.is_symlink():
                        continue
                    if suffix == ".py" and level == depth:
                        yield prefix + stem
                    elif not suffix and entry.is_dir():
                        inner.append((Path(entry.path), f"{prefix}{stem}."))
                        if level == depth and (inner[-1][0] / "__init__.py").exists():
                            yield prefix + stem
        places = inner


def source_folder(module: str, folder: Path) -> str | None:
    """Name the folder below `folder` that Python has to search to find a module: ``src``, or ``PACKAGE/src``."""
    relative = module.replace(".", "/")
    with suppress(OSError):
        for below in (folder / "src", *sorted(folder.glob("*/src"))[:_MOST_SOURCES]):
            if (below / f"{relative}.py").is_file() or (below / relative / "__init__.py").is_file():
                return below.relative_to(folder).as_posix()
    return None
