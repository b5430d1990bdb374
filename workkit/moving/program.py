"""The user's program, which an import of schedules must import. An import looks its names up, and runs none of its
functions. A job's callable becomes a function name, with arguments that JSON carries.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from workkit.errors import InvalidArguments, InvalidOptions, NotFound, WorkkitError, described
from workkit.jobs.json_value import at_key, check_finite, check_key, plain_value
from workkit.moving.found import NotCarried

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
    """Import a module of the user and take something from it, with `look`. Raises NotFound if the name does not exist,
    InvalidOptions for any other error of the module.
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
    except (Exception, SystemExit) as error:  # any error of the user's code
        raise InvalidOptions(
            f"{named} cannot be imported: {described(error)}. Correct it there.", given=named
        ) from error


_ONE_OF_ITS_OWN = "Write a function of a module, and pass it what it needs as arguments."


def name_of(function: Any, *, what: str) -> str:
    """Name a module-level function as ``module:function``. Raises NotCarried for a function that cannot be found by a
    name.
    """
    module, path = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not path or path == "<lambda>":
        raise NotCarried(f"{what} is {_kind(function)}, which has no name.", _ONE_OF_ITS_OWN)
    if "." in path:
        raise NotCarried(f"{what} is {path}, which is no function of the module {module} itself.", _ONE_OF_ITS_OWN)
    if module == "__main__" or not hasattr(sys.modules.get(module), path):
        raise NotCarried(f"{what} is {path} of {module}, which no listener could import.", _ONE_OF_ITS_OWN)
    return f"{module}:{path}"


def _kind(function: Any) -> str:
    name = type(function).__name__
    return "a lambda" if getattr(function, "__name__", "") == "<lambda>" else f"a {name}"


def arguments(args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> tuple[list[object], dict[str, object]]:
    """Convert arguments to JSON types: tuples become lists. Raises NotCarried for a value that JSON cannot carry."""
    try:
        return (
            [carried(value, f"args[{place}]") for place, value in enumerate(args or ())],
            {str(name): carried(value, f"kwargs[{name!r}]") for name, value in (kwargs or {}).items()},
        )
    except InvalidArguments as error:
        raise NotCarried(str(error)) from error


def carried(value: Any, place: str) -> object:
    """Convert one value to JSON types. Raises InvalidArguments."""
    if value is None or isinstance(value, bool):
        return value
    plain = plain_value(value, place)
    if isinstance(plain, float):
        check_finite(plain, place)
    if isinstance(plain, list):
        return [carried(item, f"{place}[{n}]") for n, item in enumerate(plain)]
    if isinstance(plain, dict):
        for key in plain:
            check_key(key, place)
        return {key: carried(item, at_key(place, key)) for key, item in plain.items()}
    return plain
