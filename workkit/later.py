"""Imports at the first use: a program loads what it does, and nothing else.

A package or module has ``__getattr__ = at_first_use(__name__, {...})``, and beside it the same imports under
TYPE_CHECKING, for type checkers and readers. It is defined for programs only, so that type checkers find a wrong name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def at_first_use(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the `__getattr__` of a module. `names`: for each module to import later, the names that it has, separated by
    blanks.
    """
    homes = {name: home for home, all_names in names.items() for name in all_names.split()}

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = home if homes[name] == f"{module}.{name}" else getattr(home, name)
        setattr(sys.modules[module], name, value)
        return value

    return found
