"""What a Python file binds, as far as reading it tells: functions with their parameters, classes. It is never run."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
OPEN_ENDED = ("*", "__getattr__")
KEEPING = ("job", "workkit.job", "staticmethod")  # decorators that leave the parameters as they are


@dataclass(slots=True)
class Names:
    """What a module or class binds: functions, classes with what they bind, and everything else."""

    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Names] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)

    def may_bind(self, name: str) -> bool:
        """Tell whether only running the file could decide: names that are assigned, imported, or made up on the way."""
        return name in self.others or any(sign in self.others or sign in self.functions for sign in OPEN_ENDED)


def names_in(data: bytes) -> Names:
    """Read what the text of a module binds. Raises SyntaxError, ValueError."""
    return _bound(ast.parse(data).body)


def signature_of(function: Function) -> inspect.Signature | None:
    """Tell the parameters of a function; None where a decorator may change them."""
    if any(_dotted(decorator) not in KEEPING for decorator in function.decorator_list):
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


def yields(function: Function) -> bool:
    """Tell whether a call makes a generator and runs nothing, unless a decorator makes something else of it."""
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
    """Write the name of a decorator, without the arguments of its call; empty where it is no name."""
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
                if name in names.functions:  # which of them is bound at the end, only running the file tells
                    names.others.add(name)
                names.functions[name] = node
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
