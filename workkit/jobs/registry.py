"""The functions that a listener may run, and the search for one by its stored name.

A name on the server can never run arbitrary code. It resolves only to a function that was *defined* in an allowed
module: a function marked with `@job`, one of a module in `imports`, or one of a module with its file under `folder`.
"""

from __future__ import annotations

import errno
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from workkit.errors import CannotRun, FunctionNotFound, InvalidFunction, ListenerStopped, NotAllowed
from workkit.jobs.importing import OURS, import_module, import_trouble, modules_under, source_folder
from workkit.jobs.marks import Handler, marked, named, options_of, served
from workkit.jobs.names import (
    LONGEST,
    NO_YIELD,
    Name,
    brief,
    function_of,
    generator,
    hidden_part,
    is_library,
    is_module,
    is_plain,
    main_module,
    read_name,
    shown,
)
from workkit.jobs.outcome import NotBegun
from workkit.jobs.run_options import RunOptions
from workkit.text.nearest import nearest_word

MOST_NAMES = 10_000


class Registry:
    """The functions that one listener may run: those of `imports` (modules with their submodules), and those of modules
    under `folder`, unless it is None.
    """

    def __init__(self, *, imports: Iterable[str] = (), folder: Path | None = None) -> None:
        self.imports = tuple(imports)
        self.folder = folder.resolve() if folder is not None else None
        self.consumers: dict[str, Handler] = {}  # see `Functions`
        self.found: dict[
            str, tuple[Handler, RunOptions] | CannotRun
        ] = {}  # by stored name, the result or error of `handler`

    def load(self) -> None:
        """Import the modules of `imports`. Raises InvalidFunction for a name that is no module, and for a module that
        fails or exits while it is imported; ListenerStopped for a module that starts a listener.
        """
        for module in self.imports:
            if not is_module(module):
                raise _no_import(module, f" {_no_name(module)}")
            if is_library(module):
                raise _no_import(module, ": the standard library is never run.")
            try:
                import_module(module)
            except (KeyboardInterrupt, ListenerStopped):  # a user's Ctrl-C, and an error with its own sentence
                raise
            except BaseException as error:
                if _is_missing(module, error):
                    hint = f' For a file write imports=["{module[:-3]}"].' if module.endswith(".py") else ""
                    if self.folder is not None and (below := source_folder(module, self.folder)):
                        hint = f" It is under {below}/: start with PYTHONPATH={below}."
                    trouble = ": no such module. Name it as Python imports it, for example app.jobs."
                    raise _no_import(module, f"{trouble}{hint}") from error
                raise _no_import(module, f": importing it failed: {import_trouble(error)}") from error

    def resolve(self, job: str) -> Handler:
        """Find the function that a stored `job` names. Raises NotAllowed or FunctionNotFound, always the same one."""
        return self.handler(job)[0]

    def handler(self, job: str) -> tuple[Handler, RunOptions]:
        """Find the function that a stored `job` names, with its options of `@job`. Raises as `resolve`."""
        found = self.found.get(job)
        if found is None:
            if len(job) > LONGEST:  # not remembered: it may have any length
                raise _too_long(job)
            try:
                function = self._find(job)
                found = function, options_of(function)
            except CannotRun as error:
                found = error
            except BaseException as error:  # an import runs any code, which may raise anything
                found = _cannot_run(brief(shown(job)), f"looking it up failed: {import_trouble(error)}")
                found.__cause__ = error
            if isinstance(found, CannotRun):
                cause, found.__cause__ = found.__cause__, None
                if type(cause) is OSError and cause.errno in (errno.EMFILE, errno.ENFILE):  # not remembered
                    raise NotBegun(str(found), where=found.where, trouble=found.trouble)
            if len(self.found) >= MOST_NAMES:  # a producer of endless new names must not fill this memory
                self.found.clear()
            self.found[job] = found
        if isinstance(found, CannotRun):
            raise found.with_traceback(None)
        return found

    def knows(self, job: str) -> bool:
        """Return whether `resolve` and `refusal` answer at once, without an import."""
        return job in self.found or len(job) > LONGEST

    def refusal(self, job: str) -> CannotRun | None:
        """Return why `job` cannot run here; None if it can."""
        try:
            self.resolve(job)
        except CannotRun as error:
            return error
        return None

    def serves(self) -> dict[str, RunOptions]:
        """Return the registered job names, with the options of their functions. A name may be any text."""
        return served()

    def _find(self, job: str) -> Handler:
        if (function := named(job)) is not None:
            return function
        said = read_name(job)
        if said is None and is_plain(job):
            raise _cannot_run(brief(job), f'no function is registered under it with @job("{brief(job)}").', given=job)
        if said is None:
            raise _cannot_run(brief(job), "a Clojure form, for a Clojure listener.", given=job)
        munged = Name(said.space.replace("-", "_"), said.path.replace("-", "_"))
        for key in (str(said), str(munged)):
            if (function := marked(key)) is not None:
                return function
        if not munged.is_python:
            raise _cannot_run(shown(job), "not a Python name, and none is registered.", given=job)
        if hidden := hidden_part(munged):
            raise _may_not_run(munged, f"{hidden} begins with _, and is private.", given=job)
        module = self._module(munged)
        return self._checked(function_of(_attribute(module, munged)), munged)

    def _module(self, name: Name) -> ModuleType:
        """Import the module of a name, if its top-level package is allowed."""
        if name.space == main_module() and (main := sys.modules.get("__main__")) and self._allows(main):
            return main
        if not self._may_import(name.space):
            raise self._outside(name)
        try:
            module = import_module(name.space)
        except BaseException as error:
            if _is_missing(name.space, error):
                raise _cannot_run(name, self._no_module(name.space), given=name) from error
            raise _cannot_run(name, f"importing {name.space} failed: {import_trouble(error)}", given=name) from error
        if not self._allows(module):
            raise self._outside(name)
        return module

    def _may_import(self, module: str) -> bool:
        """Return whether a module may be imported, by the place of its top-level package."""
        if is_library(module):
            return False
        if self._is_named(module):
            return True
        if self.folder is None:
            return False
        try:
            spec = importlib.util.find_spec(_top(module))
        except (ImportError, ValueError):
            return False
        if spec is None:
            raise _cannot_run(module, self._no_module(module), given=module)
        places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
        return any(self._under_folder(Path(place)) for place in places)

    def _allows(self, module: ModuleType) -> bool:
        name = main_module() if module.__name__ == "__main__" else module.__name__
        if name is None or is_library(name):
            return False
        file = getattr(module, "__file__", None)
        return self._is_named(name) or (file is not None and self._under_folder(Path(file)))

    def _is_named(self, module: str) -> bool:
        return any(module == named or module.startswith(named + ".") for named in self.imports)

    def _under_folder(self, file: Path) -> bool:
        if self.folder is None:
            return False
        file = file.resolve()
        if not file.is_relative_to(self.folder) or file.is_relative_to(OURS):
            return False
        for part in file.parents:
            if part.name in ("site-packages", "dist-packages") or (part / "pyvenv.cfg").exists():
                return False
            if part == self.folder:
                break
        return True

    def _checked(self, function: Any, name: Name) -> Handler:
        if not isinstance(function, FunctionType):
            raise _may_not_run(name, f"{name.path} is not a function of {name.space}.", given=name)
        home = sys.modules.get(function.__module__)
        if home is None or not self._allows(home):
            raise _may_not_run(name, f"it is defined in {function.__module__}, not there.", given=name)
        if kind := generator(function):
            raise _may_not_run(name, f"it is {kind}: {NO_YIELD}", given=name)
        return function

    def _outside(self, name: Name) -> NotAllowed:
        top = _top(name.space)
        if is_library(top):
            return _may_not_run(name, f"{top} is Python's own, and never run.", given=name)
        place = "is not named with imports=" if self.folder is None else "is not under ./ and not named with imports="
        return _may_not_run(name, f"{name.space} {place}.", given=name)

    def _no_module(self, module: str) -> str:
        known = {m for m in list(sys.modules) if self._is_named(m)}
        if self.folder is not None:
            known.update(modules_under(self.folder, depth=module.count(".") + 1))
        place, here = ("", "") if self.folder is None else (" under ./", " under ./ (this folder)")
        if self.folder is not None and (below := source_folder(module, self.folder)):
            return f"no module {module} under ./, but it is under {below}/: start with PYTHONPATH={below}."
        near = nearest_word(module, known)
        return f"no module {module}" + (f"{place}; nearest: {near}." if near else f"{here}.")


def _is_missing(module: str, error: BaseException) -> bool:
    """Return whether an import failed because this module is missing; False if one that it imports is missing."""
    if not issubclass(type(error), ModuleNotFoundError):
        return False
    name = getattr(error, "name", None)
    return type(name) is str and (module == name or module.startswith(name + "."))


def _no_name(module: str) -> str:
    """Write a hint at the text to use instead of one that names no module."""
    stem = module.removesuffix(".py").removeprefix("./").replace("/", ".")
    if "/" in module and is_module(stem):
        return f"names a file. Name the module, as Python imports it: {stem}."
    kind = "is relative" if module.startswith(".") else "is not the name of a module"
    return f"{kind}. Name it as Python imports it, for example app.jobs."


def _no_import(module: str, trouble: str) -> InvalidFunction:
    return InvalidFunction(f'imports=["{brief(module)}"]{trouble}', given=module, where="imports")


def _cannot_run(name: object, trouble: str, *, given: object = None) -> FunctionNotFound:
    text = f"cannot run {name}: {trouble}"
    return FunctionNotFound(text, given=given, where=str(name), trouble=trouble.removesuffix("."))


def _may_not_run(name: object, trouble: str, *, given: object = None) -> NotAllowed:
    text = f"may not run {name}: {trouble}"
    return NotAllowed(text, given=given, where=str(name), trouble=trouble.removesuffix("."))


def _too_long(job: str) -> FunctionNotFound:
    if job.lstrip()[:1] == "(":
        return _cannot_run(brief(job), "a Clojure form, for a Clojure listener.")
    return _cannot_run(brief(job), f"a name of {len(job):,} characters. Accepted: up to {LONGEST}.")


def _attribute(module: ModuleType, name: Name) -> Any:
    """Walk from the module through classes only. Runs no property and no `__getattr__`, and enters no other module."""
    found: Any = module
    for part in name.path.split("."):
        if not isinstance(found, type) and found is not module:
            raise _may_not_run(name, f"{name.path} leaves what {name.space} defines.", given=name)
        inner = vars(found).get(part)
        if inner is None:
            raise _cannot_run(name, f"no such function in {_file(module, name)}", given=name)
        found = inner.__func__ if isinstance(inner, staticmethod) else inner
    return found


def _file(module: ModuleType, name: Name) -> str:
    file = Path(getattr(module, "__file__", None) or module.__name__)
    public = [key for key, value in vars(module).items() if isinstance(value, FunctionType) and key[:1] != "_"]
    near = nearest_word(name.path, public)
    return "/".join([*name.space.split(".")[:-1], file.name]) + (f"; nearest: {near}." if near else ".")


def _top(module: str) -> str:
    return module.partition(".")[0]
