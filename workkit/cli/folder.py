"""The Python files of this folder: the meaning of a FUNCTION on the command line, and the completions of `--consumer`.
The files are parsed for their names (functions with their parameters, classes), and never run.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem
from click.types import StringParamType

from workkit.brokers.layout import chosen_layout, layouts
from workkit.errors import InvalidArguments, InvalidFunction
from workkit.jobs.arguments import as_called, misfit, parameters_text
from workkit.jobs.importing import OURS, source_folder
from workkit.jobs.job import Job, spoken
from workkit.jobs.marks import job_name_of
from workkit.jobs.names import (
    NO_YIELD,
    Name,
    brief,
    clojure,
    hidden_part,
    is_consumed,
    is_plain,
    library_trouble,
    read_name,
    said_plain,
    stored_name,
)
from workkit.text.nearest import nearest_word
from workkit.text.wording import listed

SHOWN = 6
FOREIGN = ("site-packages", "dist-packages")
Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def checked(
    text: str, folder: Path, *, call: Arguments | None = None, is_stored: bool = False
) -> tuple[str, str | None]:
    """Return FUNCTION as `schedule.add` takes it, and a note if the files of this folder do not confirm it.

    Raises InvalidFunction for a function that no listener runs, and if the module is here without such a function,
    naming the nearest. `call` holds the arguments: InvalidArguments if the function is here and does not accept them.
    `is_stored`: they are those of a stored job, which may be of an earlier version of the function.
    """
    layout = chosen_layout()
    if layout.has_any_name:
        return job_name_of(text), None
    if text.startswith("("):
        return (text if read_name(text) else clojure(text)), None
    if text.startswith("#'"):
        return text, None
    _refuse_file(text)
    plain = said_plain(text) or text
    if layout.has_job_names and is_consumed(plain):
        return plain, None
    said = read_name(text)
    if said is not None and (trouble := library_trouble(said)):
        raise InvalidFunction(f'"{text}": {trouble}', given=text)
    name = read_name(stored_name(text))
    if is_plain(plain):
        runs = f'a forward passes it on, and a function marked @job("{plain}") runs it'
        return text, f"{plain} is a plain name: {runs}{_no_message(call)}"
    if name is None or not name.is_python:
        return text, None
    if hidden := hidden_part(name):
        raise InvalidFunction(
            f'"{text}": {hidden} begins with _, and listeners run public names only. Give it a public name.',
            given=text,
            position=text.rfind(hidden),
        )
    is_ours = name.space.partition(".")[0] == OURS.name
    place = OURS.parent if is_ours else folder
    file = find_function(name.space, place)
    if file is None:
        return text, _elsewhere(name.space, folder)
    note = _look(name, file, text, place, call, is_stored)
    return text, f"a listener runs {name.space} only where it is told: --import {name.space}" if is_ours else note


def check_arguments(job: Job, *, args: Sequence[Any] | None, kwargs: Mapping[str, Any] | None) -> None:
    """Refuse other arguments for a stored job if its function is in this folder and does not accept them. Absent
    arguments are those of the job; `accepts` of its function may lift them. Raises InvalidArguments.
    """
    call = job.args if args is None else args, (job.kwargs if kwargs is None else kwargs) or {}
    with suppress(InvalidFunction):  # the job keeps its function, even if it is elsewhere
        checked(spoken(job.fn), Path.cwd(), call=call, is_stored=args is None and kwargs is None)


def function_at(option: str, text: str) -> Callable[..., Any]:
    """Import the function that an option names as MODULE:FUNCTION, as a listener of this folder does. Raises
    InvalidFunction.
    """
    from workkit.jobs.consumers import located

    sys.path.insert(0, str(Path.cwd()))
    return located(text, f'{option}="{brief(text)}"', folder=Path.cwd(), option=option)


def _no_message(call: Arguments | None) -> str:
    """Name the forward that refuses these arguments (spec/forward.md 2); empty if none does."""
    args, kwargs = call or ([{}], None)
    why = next((why for one in layouts() if (why := one.unfit(args, kwargs))), "")
    return why and f"; {why}"


def _elsewhere(module: str, folder: Path) -> str:
    """Say that a module is not here, and where it may be."""
    where = f"no module {module} under ./"
    if below := source_folder(module, folder):
        return f"{where}, but it is under {below}/. A listener finds it with PYTHONPATH={below}"
    near = nearest_word(module, modules(folder, depth=module.count(".") + 1))
    return f"{where}; nearest: {near}" if near else f"no module {module} under ./ (this folder)"


def _refuse_file(text: str) -> None:
    """Refuse a path, and name the module of that path."""
    module, _, function = text.partition(":")
    if module.endswith(".py") or "/" in module:
        named = module.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
        hint = f"{named}:{function or 'FUNCTION'}"
        message = f'"{text}" names a file. Name the module, as Python imports it: {hint}.'
        raise InvalidFunction(message, given=text, accepted="pkg.mod:func", suggestion=hint)


def _look(name: Name, file: Path, text: str, folder: Path, call: Arguments | None, is_stored: bool) -> str | None:
    shown = _shown(file, folder)
    try:
        names = names_in(file.read_bytes())
    except (SyntaxError, ValueError, OSError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        return f"{shown} cannot be read as Python{line}"
    *outer, last = name.path.split(".")
    for part in outer:
        if part not in names.classes:
            if names.may_bind(part):
                return None
            raise _missing(text, part, shown, f"{name.space}:", names.classes)
        names = names.classes[part]
    if last in names.functions and last not in names.others:
        lifts = is_stored and _lifts(names.functions[last])
        _check(names.functions[last], name, text, shown, None if lifts else call)
    if last in names.functions or names.may_bind(last):
        return None
    if last in names.classes:
        raise InvalidFunction(f'"{text}": {last} is a class in {shown}. Name a function.', given=text)
    prefix = "".join(f"{part}." for part in outer)
    raise _missing(text, last, shown, f"{name.space}:{prefix}", names.functions)


def _check(function: Function, name: Name, text: str, shown: str, call: Arguments | None) -> None:
    """Refuse a generator function, and arguments that a function does not accept."""
    if yields(function):
        raise InvalidFunction(f'"{text}": {function.name} in {shown} is a generator function: {NO_YIELD}', given=text)
    signature = signature_of(function)
    if signature is None or call is None:
        return
    args, kwargs = as_called(signature, call[0], call[1] or None)
    if trouble := misfit(signature, args=args, kwargs=kwargs or {}, said=f"{len(args)} given"):
        called = f"{name.path}{parameters_text(signature)} in {shown}"
        raise InvalidArguments.about(called, trouble, where="args", given=list(args))


def _missing(text: str, part: str, shown: str, start: str, known: Iterable[str]) -> InvalidFunction:
    public = sorted(name for name in known if not name.startswith("_"))
    near = nearest_word(part, public)
    if near:
        hint = f"; nearest: {near}. Write {start}{near}."
    elif public:
        more = ", ..." if len(public) > SHOWN else ""
        hint = f". It has {', '.join(public[:SHOWN])}{more}." if more else f". It has {listed(public)}."
    else:
        hint = ". It defines none."
    message = f'"{text}": no such function in {shown}{hint}'
    return InvalidFunction(message, given=text, position=text.rfind(part), suggestion=near)


def find_function(module: str, folder: Path) -> Path | None:
    """Find the file of a module under `folder`, as a listener started here would import it."""
    for root in _roots(folder):
        place = root.joinpath(*module.split("."))
        for file in (place.with_name(place.name + ".py"), place / "__init__.py"):
            if file.is_file():
                return file
    return None


def _roots(folder: Path) -> list[Path]:
    """Return this folder, and folders under it that Python searches, such as the src/ of an editable installation."""
    here = folder.resolve()
    searched = [Path(entry).resolve() for entry in sys.path if entry]
    under = [path for path in searched if path != here and path.is_relative_to(here) and not _is_foreign(path, here)]
    return [here, *under]


def _is_foreign(path: Path, here: Path) -> bool:
    inside = [path, *(parent for parent in path.parents if parent.is_relative_to(here) and parent != here)]
    return any(part.name in FOREIGN or (part / "pyvenv.cfg").exists() for part in inside)


def modules(folder: Path, *, depth: int) -> set[str]:
    """Return the modules under `folder` with `depth` parts in their names."""
    found = set()
    for root in _roots(folder):
        for file in root.glob("/".join(["*"] * depth)):
            if file.suffix == ".py" or (file / "__init__.py").is_file():
                found.add(".".join(file.relative_to(root).with_suffix("").parts))
    return found


def _shown(file: Path, folder: Path) -> str:
    try:
        return file.relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(file)


Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
OPEN_ENDED = ("*", "__getattr__")
KEEPING = ("job", "staticmethod", "every", "at", "cron")  # decorators that leave the parameters as they are: @s.job


@dataclass(slots=True)
class Names:
    """The names that a module or class binds: functions, classes with their own names, and all others."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Names] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def may_bind(self, name: str) -> bool:
        """Return whether only running the file could decide: the name is assigned, imported, or created at run time."""
        return name in self.others or any(sign in self.others or sign in self.functions for sign in OPEN_ENDED)


def names_in(data: bytes) -> Names:
    """Return the names that the text of a module binds. Raises SyntaxError, ValueError."""
    return _bound(ast.parse(data).body)


def signature_of(function: Function) -> inspect.Signature | None:
    """Return the parameters of a function; None if a decorator may change them."""
    if any(_dotted(decorator).rpartition(".")[2] not in KEEPING for decorator in function.decorator_list):
        return None
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    required = len(positional) - len(given.defaults)
    found = [
        inspect.Parameter(
            argument.arg,
            inspect.Parameter.POSITIONAL_ONLY
            if n < len(given.posonlyargs)
            else inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if n < required else None,
        )
        for n, argument in enumerate(positional)
    ]
    if given.vararg:
        found.append(inspect.Parameter(given.vararg.arg, inspect.Parameter.VAR_POSITIONAL))
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        value = inspect.Parameter.empty if default is None else None
        found.append(inspect.Parameter(argument.arg, inspect.Parameter.KEYWORD_ONLY, default=value))
    if given.kwarg:
        found.append(inspect.Parameter(given.kwarg.arg, inspect.Parameter.VAR_KEYWORD))
    return inspect.Signature(found)


def _lifts(function: Function) -> bool:
    """Return whether a decorator names functions that lift arguments of earlier versions."""
    calls = [one for one in function.decorator_list if isinstance(one, ast.Call)]
    return any(keyword.arg == "accepts" for call in calls for keyword in call.keywords)


def yields(function: Function) -> bool:
    """Return whether a call only makes a generator, unless a decorator changes that."""
    return signature_of(function) is not None and any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in _inside(function)
    )


def _inside(function: Function) -> Iterator[ast.AST]:
    """Walk the body of a function without the functions and classes in it."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, SCOPES):
            left.extend(ast.iter_child_nodes(node))


def _dotted(decorator: ast.expr) -> str:
    """Return the name of a decorator, without the arguments of its call; empty if it is no name."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _bound(body: Iterable[ast.stmt]) -> Names:
    names = Names()
    for node in _statements(body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name in names.functions:  # only running the file decides which of them is bound at the end
                    names.others.add(name)
                names.functions[name] = node
            case ast.ClassDef(name=name, body=inner, bases=bases):
                names.classes[name] = _bound(inner)
                if bases:  # this body does not contain inherited functions
                    names.classes[name].others.add("*")
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names.others.update((alias.asname or alias.name).partition(".")[0] for alias in imported)
            case _:
                names.others.update(
                    leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
                )
    return names


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield every statement that binds in the same scope: those inside if, try, with and loops too."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from _statements(handler.body)


DEEPEST = 3  # the most parts of the names of modules that are completed


class Consumer(StringParamType):
    """NAME=MODULE:FUNCTION. The verb checks it, because its message is the same as in Python."""

    name = "consumer"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Complete the modules of this folder, and after a colon the functions of one."""
        job, equals, target = incomplete.rpartition("=")
        if not equals:
            return []
        module, colon, _ = target.partition(":")
        found = _functions(module) if colon else {f"{name}:" for name in _modules()}
        return [CompletionItem(f"{job}={one}") for one in sorted(found) if one.startswith(target)]


def _modules() -> set[str]:
    found = {name for depth in range(1, DEEPEST + 1) for name in modules(Path.cwd(), depth=depth)}
    return {name for name in found if all(part.isidentifier() and part[0] != "_" for part in name.split("."))}


def _functions(module: str) -> set[str]:
    file = find_function(module, Path.cwd())
    if file is None:
        return set()
    try:
        names = names_in(file.read_bytes())
    except (SyntaxError, ValueError, OSError):
        return set()
    return {f"{module}:{name}" for name in names.functions if not name.startswith("_")}
