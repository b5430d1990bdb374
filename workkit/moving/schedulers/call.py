"""What a job of another scheduler calls, as a plan says it: a function by its name, and arguments that JSON carries."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from workkit.errors import InvalidArguments
from workkit.jobs.json_value import at_key, check_finite, check_key, plain_value
from workkit.moving.refusal import NotCarried

_ONE_OF_ITS_OWN = "Write a function of a module, and pass it what it needs as arguments."


def name_of(function: Any, *, what: str) -> str:
    """Name a module-level function as ``module:function``. Raises NotCarried for what cannot be found under a name."""
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
    """Give arguments as JSON carries them: tuples become lists. Raises NotCarried for what it cannot carry."""
    try:
        return (
            [carried(value, f"args[{place}]") for place, value in enumerate(args or ())],
            {str(name): carried(value, f"kwargs[{name!r}]") for name, value in (kwargs or {}).items()},
        )
    except InvalidArguments as error:
        raise NotCarried(str(error)) from error


def carried(value: Any, place: str) -> object:
    """Give one value as JSON carries it. Raises InvalidArguments."""
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
