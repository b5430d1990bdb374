"""Dataclasses that a process makes in a third of the time. `dataclass` has the options of the standard one, with the
same meaning; `fields`, `replace` and pickle work as usual.

The standard decorator compiles up to seven functions for each class, one by one. That was a third of the time in which
a program or a command starts. This one compiles `__init__`, `__eq__` and `__hash__` in one step, and classes share the
others. Import `dataclass` from here in all code of this package.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from dataclasses import KW_ONLY, MISSING, Field, FrozenInstanceError, field, fields, replace
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["KW_ONLY", "dataclass", "field", "fields", "replace"]


def _dataclass(
    cls: Any = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Any:
    """Make a dataclass of a class; also in the form ``@dataclass(frozen=True)``. A method that the class defines itself
    stays.
    """
    if cls is None:
        return partial(_dataclass, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)
    own: dict[str, Any] = dict(cls.__dict__)
    if own["__doc__"] is None:
        cls.__doc__ = cls.__name__  # otherwise its signature is made, which takes long
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    methods = _compiled(made, fields(made), frozen=frozen, eq=eq)
    methods["__repr__"] = _repr
    if eq and not frozen:
        methods["__hash__"] = None
    if frozen:
        methods |= {"__setattr__": _refuse_change, "__delattr__": _refuse_deletion}
    if frozen and slots:  # pickle sets the members of other objects by `__setattr__`
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if own.get("__hash__", MISSING) is None and "__eq__" in own:  # Python sets it beside an `__eq__`
        del own["__hash__"]
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _compiled(cls: type, members: Iterable[Field[Any]], *, frozen: bool, eq: bool) -> dict[str, Any]:
    """Compile the methods that name the fields of a class."""
    known: dict[str, Any] = {"__set": object.__setattr__, "__absent": _ABSENT}
    plain, named = ["self"], list[str]()
    body, compared = list[str](), list[str]()
    for one in members:
        name, default, value = one.name, "", one.name
        if one.default_factory is not MISSING:
            known[f"__make_{name}"] = one.default_factory
            default = "=__absent"
            value = f"__make_{name}() if {name} is __absent else {name}" if one.init else f"__make_{name}()"
        elif one.default is not MISSING:
            known[f"__default_{name}"] = one.default
            default = f"=__default_{name}"
            value = name if one.init else f"__default_{name}"
        if one.init:
            (named if one.kw_only else plain).append(name + default)
        if one.init or default:
            body.append(f"__set(self,{name!r},{value})" if frozen else f"self.{name}={value}")
        if one.compare:
            compared.append(name)
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    text = f" def __init__({','.join([*plain, *(['*', *named] if named else [])])}):\n  {';'.join(body) or 'pass'}\n"
    if eq:
        mine, others = ("".join(f"{of}.{name}," for name in compared) for of in ("self", "other"))
        text += f" def __eq__(self,other):\n  return ({mine})==({others}) if other.__class__ is self.__class__ "
        text += "else NotImplemented\n"
        if frozen:
            text += f" def __hash__(self):\n  return hash(({mine}))\n"
    made: dict[str, Any] = {}
    space = vars(sys.modules[cls.__module__])  # of the functions: their annotations name what the module has
    exec(f"def __made({','.join(known)}):\n{text} return locals()", space, made)  # the names of fields are identifiers
    found = {name: method for name, method in made["__made"](**known).items() if name not in known}
    for name, method in found.items():
        method.__qualname__, method.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    found["__init__"].__annotations__ = {one.name: one.type for one in members if one.init} | {"return": None}
    return found


class _Absent:
    def __repr__(self) -> str:
        return "<factory>"


_ABSENT = _Absent()


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse_change(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: Iterable[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
