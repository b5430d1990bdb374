"""The functions of one listener: those that it runs under job names without a mark, and the descriptions it publishes.

A name of `consumers`, as in ``{"orders.created": on_created}``, allows this one function, and nothing else of its
module. The descriptions come from signatures: no user code is called, and only plain short defaults are written.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any, Final

from workkit.errors import CannotRun, InvalidFunction
from workkit.jobs.arguments import KnownFunction, Parameter, signature_of
from workkit.jobs.marks import Handler, marked, marks, options_of
from workkit.jobs.names import brief, function_of, generator, is_plain, read_name, stored_name
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import RunOptions

Consumer = tuple[str, str | Callable[..., Any]]  # a job name, and a function or where it is: "app.orders:on_created"


class Functions(Registry):
    """The functions that one listener may run: those of `Registry`, and `consumers`, which `load` finds."""

    def __init__(
        self, *, imports: Iterable[str] = (), folder: Path | None = None, consumers: Iterable[Consumer] = ()
    ) -> None:
        super().__init__(imports=imports, folder=folder)
        self._given = tuple(consumers)

    def load(self) -> None:
        """Import the modules, and find the consumers. Raises as `Registry.load`. Raises InvalidFunction for a consumer
        that is no function or cannot run, and for a name that belongs to another function.
        """
        super().load()
        for name, target in self._given:
            where = f'consumers="{brief(name)}={brief(target if isinstance(target, str) else _called(target))}"'
            fn = located(target, where, folder=self.folder) if isinstance(target, str) else _checked(target, where)
            known = marked(name)
            if known not in (None, fn):
                trouble = f"takes a name that belongs to {known.__module__}.{known.__qualname__} already"
                remedy = "Leave it out, or take that @job away."
                raise InvalidFunction.about(where, trouble, remedy, where="consumers", given=name)
            self.consumers[name] = fn

    def serves(self) -> dict[str, RunOptions]:
        """Return the registered job names and those of consumers, with the options of their functions."""
        return {**super().serves(), **{name: options_of(fn) for name, fn in self.consumers.items()}}

    def _find(self, job: str) -> Handler:
        return self.consumers[job] if job in self.consumers else super()._find(job)


def located(target: str, where: str, *, folder: Path | None, option: str = "consumers") -> Handler:
    """Import the module of ``MODULE:FUNCTION``, and find the function. The option that names it allows the module.
    Raises InvalidFunction.
    """
    name = read_name(target)
    if name is None or not name.is_python:
        trouble, remedy = "names no function", "Write it as MODULE:FUNCTION, for example app.orders:on_created."
        raise InvalidFunction.about(where, trouble, remedy, where=option, given=target)
    try:
        return Registry(imports=(name.space,), folder=folder).resolve(target)
    except CannotRun as error:
        message = f"{where}: {error.trouble}."
        raise InvalidFunction(message, where=option, given=target, trouble=error.trouble) from error


def _checked(fn: Callable[..., Any], where: str) -> Handler:
    trouble, fn = None, function_of(fn)
    if not isinstance(fn, FunctionType | MethodType):
        trouble = f"is a {type(fn).__name__}, not a function"
    elif kind := generator(fn):
        trouble = f"is {kind}, whose call runs nothing of its body"
    if trouble is not None:
        raise InvalidFunction.about(where, trouble, "Give a function.", where="consumers", given=fn)
    return fn


def _called(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or repr(fn))


MOST: Final = 500  # functions of one listener
MOST_PARAMETERS: Final = 30
LONGEST_TEXT: Final = 60  # characters of a parameter's name, annotation or default
LONGEST_NAME, LONGEST_DOC = 200, 120
LIMITS: Final = ("limit", "rate_ms", "retries", "timeout_ms")
_KINDS: Final[Mapping[Any, str]] = {
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "rest",
    inspect.Parameter.VAR_KEYWORD: "options",
}


def known_functions(imports: Iterable[str]) -> tuple[KnownFunction, ...]:
    """Describe the functions that are marked in this program, and the public ones of the modules of `imports`."""
    found: dict[str, KnownFunction] = {}
    for name, fn in _functions(tuple(imports)):
        if len(found) >= MOST:
            break
        if len(name) <= LONGEST_NAME and name not in found:
            found[name] = _known(name, fn)
    return tuple(found.values())


def coroutine_names(registry: Registry) -> Iterator[str]:
    """Yield the names of the coroutine functions that this program has imported, as far as a registry may know them."""
    for name, fn in (*_functions(registry.imports), *registry.consumers.items()):
        if inspect.iscoroutinefunction(fn):
            yield name


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


def _known(name: str, fn: Handler) -> KnownFunction:
    try:
        parameters = tuple(map(_parameter, signature_of(fn).parameters.values()))[:MOST_PARAMETERS]
    except Exception:  # foreign code: a __signature__ or an annotation of any kind
        parameters = ()
    doc = getattr(fn, "__doc__", None)
    first = doc.strip().partition("\n")[0].strip()[:LONGEST_DOC] if isinstance(doc, str) else ""
    options = options_of(fn)
    limits = {limit: value for limit in LIMITS if (value := getattr(options, limit)) is not None}
    return KnownFunction(fn=name, parameters=parameters, doc=first, limits=limits)


def _parameter(parameter: inspect.Parameter) -> Parameter:
    return Parameter(
        name=parameter.name[:LONGEST_TEXT],
        kind=_KINDS.get(parameter.kind, "positional"),
        annotation=_annotation(parameter.annotation),
        default=None if parameter.default is inspect.Parameter.empty else _default(parameter.default),
    )


def _annotation(said: Any) -> str:
    if said is inspect.Parameter.empty:
        return ""
    text = said if isinstance(said, str) else said.__name__ if isinstance(said, type) else str(said)
    return text[:LONGEST_TEXT]


def _default(value: Any) -> str:
    is_plain_value = value is None or type(value) in (bool, int, float, str)
    text = repr(value) if is_plain_value and len(str(value)) <= LONGEST_TEXT else "…"
    return text[:LONGEST_TEXT]
