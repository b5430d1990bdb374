"""What a FUNCTION on the command line means, looked up in this folder's files. They are read, never run."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workkit.errors import InvalidFunction
from workkit.jobs.names import Name, clojure, hidden_part, read_name, stored_name
from workkit.text.listing import listed
from workkit.text.nearest import nearest_word

SHOWN = 6
FOREIGN = ("site-packages", "dist-packages")
OPEN_ENDED = ("*", "__getattr__")


@dataclass(slots=True)
class Names:
    """What a module or class binds: functions, classes with what they bind, and everything else."""

    functions: set[str] = field(default_factory=set)
    classes: dict[str, Names] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)


def checked(text: str, folder: Path) -> tuple[str, str | None]:
    """Return FUNCTION as `schedule.add` takes it, and a note where this folder cannot vouch for it.

    Raises InvalidFunction where the module is here and has no such function, naming the nearest.
    """
    if text.startswith("("):
        return (text if read_name(text) else clojure(text)), None
    if text.startswith("#'"):
        return text, None
    _refuse_file(text)
    name = read_name(stored_name(text))
    if name is None or not name.is_python:
        return text, None
    if hidden := hidden_part(name):
        raise InvalidFunction(
            f'"{text}": {hidden} begins with _, and listeners run public names only. Give it a public name.',
            given=text,
            position=text.rfind(hidden),
        )
    file = find_function(name.space, folder)
    if file is None:
        near = nearest_word(name.space, modules(folder, depth=name.space.count(".") + 1))
        return text, f"no module {name.space} under ./{f'; nearest: {near}' if near else ''}"
    return text, _look(name, file, text, folder)


def _refuse_file(text: str) -> None:
    """A path is not a module; say which module it is."""
    module, _, function = text.partition(":")
    if module.endswith(".py") or "/" in module:
        named = module.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
        hint = f"{named}:{function or 'FUNCTION'}"
        message = f'"{text}" names a file. Name the module, as Python imports it: {hint}.'
        raise InvalidFunction(message, given=text, accepted="pkg.mod:func", suggestion=hint)


def _look(name: Name, file: Path, text: str, folder: Path) -> str | None:
    shown = _shown(file, folder)
    try:
        names = _bound(ast.parse(file.read_bytes()).body)
    except (SyntaxError, ValueError, OSError) as error:
        line = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        return f"{shown} cannot be read as Python{line}"
    *outer, last = name.path.split(".")
    for part in outer:
        if part not in names.classes:
            if _may_bind(names, part):
                return None
            raise _missing(text, part, shown, f"{name.space}:", names.classes)
        names = names.classes[part]
    if last in names.functions or _may_bind(names, last):
        return None
    if last in names.classes:
        raise InvalidFunction(f'"{text}": {last} is a class in {shown}. Name a function.', given=text)
    prefix = "".join(f"{part}." for part in outer)
    raise _missing(text, last, shown, f"{name.space}:{prefix}", names.functions)


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


def _may_bind(names: Names, part: str) -> bool:
    """Names that only running the file could decide: assigned, imported, or made up on the way."""
    return part in names.others or any(sign in names.others | names.functions for sign in OPEN_ENDED)


def _bound(body: Iterable[ast.stmt]) -> Names:
    names = Names()
    for node in _statements(body):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.functions.add(name)
            case ast.ClassDef(name=name, body=inner, bases=bases):
                names.classes[name] = _bound(inner)
                if bases:  # inherited functions are not in this body
                    names.classes[name].others.add("*")
            case ast.Import(names=imported) | ast.ImportFrom(names=imported):
                names.others.update((alias.asname or alias.name).partition(".")[0] for alias in imported)
            case _:
                names.others.update(
                    leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store)
                )
    return names


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that binds in the same scope: those inside if, try, with and loops too."""
    for node in body:
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from _statements(handler.body)


def find_function(module: str, folder: Path) -> Path | None:
    """Find the file of a module under `folder`: as a listener started here would import it."""
    for root in _roots(folder):
        place = root.joinpath(*module.split("."))
        for file in (place.with_name(place.name + ".py"), place / "__init__.py"):
            if file.is_file():
                return file
    return None


def _roots(folder: Path) -> list[Path]:
    """This folder, and folders under it that Python searches, such as the src/ of an editable installation."""
    here = folder.resolve()
    searched = [Path(entry).resolve() for entry in sys.path if entry]
    under = [path for path in searched if path != here and path.is_relative_to(here) and not _is_foreign(path, here)]
    return [here, *under]


def _is_foreign(path: Path, here: Path) -> bool:
    inside = [path, *(parent for parent in path.parents if parent.is_relative_to(here) and parent != here)]
    return any(part.name in FOREIGN or (part / "pyvenv.cfg").exists() for part in inside)


def modules(folder: Path, *, depth: int) -> set[str]:
    """Name the modules under `folder` that have so many parts."""
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
