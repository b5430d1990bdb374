"""Functions that a listener runs under job names although nothing marks them: ``{"orders.created": on_created}``.

A name given there allows this one function, and nothing else of its module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from workkit.errors import CannotRun, InvalidFunction
from workkit.jobs.functions.marks import Handler, marked, options_of
from workkit.jobs.functions.registry import Registry
from workkit.jobs.names import brief, generator, read_name
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
        """Import the modules, and find the consumers. Raises as `Registry.load`, and InvalidFunction for a consumer
        that is no function which can be run, or whose name belongs to another function.
        """
        super().load()
        for name, target in self._given:
            where = f'consumers="{brief(name)}={brief(target if isinstance(target, str) else _called(target))}"'
            fn = self._located(target, where) if isinstance(target, str) else _checked(target, where)
            known = marked(name)
            if known not in (None, fn):
                trouble = f"takes a name that belongs to {known.__module__}.{known.__qualname__} already"
                remedy = "Leave it out, or take that @job away."
                raise InvalidFunction.about(where, trouble, remedy, where="consumers", given=name)
            self.consumers[name] = fn

    def serves(self) -> dict[str, RunOptions]:
        """The job names that are registered, and those of consumers, with the options of their functions."""
        return {**super().serves(), **{name: options_of(fn) for name, fn in self.consumers.items()}}

    def _find(self, job: str) -> Handler:
        return self.consumers[job] if job in self.consumers else super()._find(job)

    def _located(self, target: str, where: str) -> Handler:
        """Import the module of a consumer, which is allowed because it is named, and find the function."""
        name = read_name(target)
        if name is None or not name.is_python:
            trouble, remedy = "names no function", "Write it as MODULE:FUNCTION, for example app.orders:on_created."
            raise InvalidFunction.about(where, trouble, remedy, where="consumers", given=target)
        try:
            return Registry(imports=(name.space,), folder=self.folder).resolve(target)
        except CannotRun as error:
            message = f"{where}: {error.trouble}."
            raise InvalidFunction(message, where="consumers", given=target, trouble=error.trouble) from error


def _checked(fn: Callable[..., Any], where: str) -> Handler:
    trouble = None
    if not isinstance(fn, FunctionType | MethodType):
        trouble = f"is a {type(fn).__name__}, not a function"
    elif kind := generator(fn):
        trouble = f"is {kind}, whose call runs nothing of its body"
    if trouble is not None:
        raise InvalidFunction.about(where, trouble, "Give a function.", where="consumers", given=fn)
    return fn


def _called(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or repr(fn))
