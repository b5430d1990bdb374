"""A function as its listeners know it: what somebody needs to fill in a call of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from workkit.errors import InvalidArguments
from workkit.jobs.arguments import misfit, parameters_text
from workkit.jobs.names import shown
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


_KINDS: Final = {
    "positional": inspect.Parameter.POSITIONAL_OR_KEYWORD,
    "keyword": inspect.Parameter.KEYWORD_ONLY,
    "rest": inspect.Parameter.VAR_POSITIONAL,
    "options": inspect.Parameter.VAR_KEYWORD,
}


def check_known(known: Known | None, *, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> None:
    """Refuse arguments that a function does not take, as far as its listeners tell. Raises InvalidArguments.

    They tell nothing of one without parameters, and it may have others. A single positional parameter may take the
    keyword arguments whole (`as_called`).
    """
    if known is None or not known.parameters or (len(known.parameters) == 1 and not args):
        return
    try:
        signature = inspect.Signature(
            [
                inspect.Parameter(
                    one.name, _KINDS[one.kind], default=inspect.Parameter.empty if one.default is None else one.default
                )
                for one in known.parameters
            ]
        )
    except (ValueError, KeyError):  # written by another program
        return
    if trouble := misfit(signature, args=args, kwargs=kwargs or {}, said=f"args has {len(args)}"):
        called = f"{shown(known.fn)}{parameters_text(signature)}"
        raise InvalidArguments.about(called, trouble, where="args", given=list(args))
