"""The user's program, which an import has to import: what it names is looked up, and nothing of it is run."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from workkit.errors import InvalidOptions, NotFound, WorkkitError, described

T = TypeVar("T")


@contextmanager
def folder_first(folder: Path) -> Iterator[None]:
    """Let Python find modules of a folder first, as it does for `python -m`."""
    here = str(folder)
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def package(name: str, *, source: str) -> None:
    """Check that the package of another scheduler is installed. Raises InvalidOptions."""
    try:
        importlib.import_module(name)
    except ImportError as error:
        remedy = "Run workkit in the environment of that program"
        raise InvalidOptions(f"{source} needs its own package: {error}. {remedy}.", given=name) from error


def imported(named: str, look: Callable[[], T]) -> T:
    """Import a module of the user and take something of it, with `look`. Raises NotFound where there is none of that
    name, InvalidOptions for whatever else the module raises.
    """
    try:
        return look()
    except WorkkitError:
        raise
    except ModuleNotFoundError as error:
        module = named.partition(":")[0]
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise InvalidOptions(f"{module} cannot be imported: {error}. Correct it there.", given=named) from error
        raise NotFound(f"{named}: no module {error.name} here. Name one of this folder.", given=named) from error
    except AttributeError as error:
        raise NotFound(f"{named}: {error}. Write MODULE:NAME.", given=named) from error
    except (Exception, SystemExit) as error:  # whatever its code raises
        raise InvalidOptions(
            f"{named} cannot be imported: {described(error)}. Correct it there.", given=named
        ) from error
