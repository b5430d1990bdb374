"""A function as its listeners know it: what somebody needs to fill in a call of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function. `annotation` and `default` are texts; `default` None: a value is needed. `kind`:
    "positional", "keyword", "rest" (``*args``) or "options" (``**kwargs``).
    """

    name: str
    kind: str = "positional"
    annotation: str = ""
    default: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A function that listeners know. `fn`: its name as jobs store it; `doc`: the first line of its docstring;
    `limits`: its options of `@job` that say how much runs at once; `listeners`: how many know it.
    """

    fn: str
    parameters: tuple[Parameter, ...] = ()
    doc: str = ""
    limits: Mapping[str, int | float] = field(default_factory=dict)
    listeners: int = 1

    __repr__ = brief_repr
