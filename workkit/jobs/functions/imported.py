"""What a program knows of a function that a stored name names, without an import."""

from __future__ import annotations

import sys

from workkit.jobs.functions.marks import Handler, marked, options_of
from workkit.jobs.names import Name, main_module, read_name
from workkit.jobs.run_options import RunOptions


def imported_options(job: str) -> RunOptions | None:
    """The options of `@job` of the function that a stored `job` names, if this program has imported it; else None."""
    found = imported(job)
    return None if found is None else options_of(found)


def imported(job: str) -> Handler | None:
    """The function that a stored `job` names, if this program has imported it; else None."""
    found = marked(job)
    if found is None and (said := read_name(job)) is not None:
        names = (said, Name(said.space.replace("-", "_"), said.path.replace("-", "_")))
        found = next((fn for name in names if (fn := marked(str(name)) or _here(name)) is not None), None)
    return found


def _here(name: Name) -> Handler | None:
    """Find a function of a module that is imported; its module may be the main program."""
    space = "__main__" if name.space == main_module() else name.space
    found = getattr(sys.modules.get(space), name.path, None)
    return found if callable(found) and hasattr(found, "__qualname__") else None
