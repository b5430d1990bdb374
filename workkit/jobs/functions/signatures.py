"""What a listener tells of the functions that it knows: those marked with `@job`, and those of `imports`. It reads
signatures only: nothing of a user's code is called, and no default is written but plain short ones.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any, Final

from workkit.errors import InvalidFunction
from workkit.jobs.arguments import signature_of
from workkit.jobs.functions.marks import Handler, marks, options_of
from workkit.jobs.known import Known, Parameter
from workkit.jobs.names import generator, is_plain, stored_name

MOST: Final = 500  # functions of one listener
MOST_PARAMETERS: Final = 30
LONGEST: Final = 60  # characters of a parameter's name, annotation or default
LONGEST_NAME, LONGEST_DOC = 200, 120
LIMITS: Final = ("limit", "rate_ms", "retries", "timeout_ms")
_KINDS: Final[Mapping[Any, str]] = {
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "rest",
    inspect.Parameter.VAR_KEYWORD: "options",
}


def known_functions(imports: Iterable[str]) -> tuple[Known, ...]:
    """Describe the functions that are marked in this program, and the public ones of the modules of `imports`."""
    found: dict[str, Known] = {}
    for name, fn in _functions(tuple(imports)):
        if len(found) >= MOST:
            break
        if len(name) <= LONGEST_NAME and name not in found:
            found[name] = _known(name, fn)
    return tuple(found.values())


def _functions(imports: tuple[str, ...]) -> Iterator[tuple[str, Handler]]:
    for key, fn in marks().items():
        try:
            yield (key if is_plain(key) else stored_name(key)), fn
        except InvalidFunction:
            continue
    for name, module in sorted(sys.modules.copy().items()):  # other threads import
        if not any(name == one or name.startswith(f"{one}.") for one in imports):
            continue
        for key, fn in sorted(vars(module).items()) if isinstance(getattr(module, "__dict__", None), dict) else ():
            if key[:1] == "_" or type(fn) is not FunctionType or fn.__module__ != name or generator(fn):
                continue
            try:
                yield stored_name(f"{name}:{key}"), fn
            except InvalidFunction:
                continue


def _known(name: str, fn: Handler) -> Known:
    try:
        parameters = tuple(map(_parameter, signature_of(fn).parameters.values()))[:MOST_PARAMETERS]
    except Exception:  # code of somebody else: a __signature__ or an annotation of any kind
        parameters = ()
    doc = getattr(fn, "__doc__", None)
    first = doc.strip().partition("\n")[0].strip()[:LONGEST_DOC] if isinstance(doc, str) else ""
    options = options_of(fn)
    limits = {limit: value for limit in LIMITS if (value := getattr(options, limit)) is not None}
    return Known(fn=name, parameters=parameters, doc=first, limits=limits)


def _parameter(parameter: inspect.Parameter) -> Parameter:
    return Parameter(
        name=parameter.name[:LONGEST],
        kind=_KINDS.get(parameter.kind, "positional"),
        annotation=_annotation(parameter.annotation),
        default=None if parameter.default is inspect.Parameter.empty else _default(parameter.default),
    )


def _annotation(said: Any) -> str:
    if said is inspect.Parameter.empty:
        return ""
    text = said if isinstance(said, str) else said.__name__ if isinstance(said, type) else str(said)
    return text[:LONGEST]


def _default(value: Any) -> str:
    is_plain_value = value is None or type(value) in (bool, int, float, str)
    text = repr(value) if is_plain_value and len(str(value)) <= LONGEST else "…"
    return text[:LONGEST]
