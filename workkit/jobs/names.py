"""Conversion between a function and its stored name, the text of a payload's `job`. Clojure's reader can read each
stored name. The grammar of a name (the namespace and the name after ``#'``) is in spec/job.md section 4;
spec/vectors/clojure/names.json holds names that the reader accepts.

A Python function is stored as ``#'pkg.mod/func``. A caller passes the function itself, or ``pkg.mod:func``. A plain
name is stored unchanged. This module imports and evaluates no name.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from workkit.errors import InvalidFunction

Fn = Callable[..., Any] | str

JOB_NAME = "@"  # prefix that makes a text a plain name, not a Python name: "@orders.created"
LONGEST = 500  # characters of a stored name that a listener looks up
SHOWN = 80  # characters of it that a message quotes

_SYMBOL = r"[^\s/()\[\]{}\"';:`,~@^#\\]+"
_LENIENT = re.compile(rf"{_SYMBOL}/(?:{_SYMBOL}|/)")  # other programs store such names: #'a.b/1st
_FORMS = tuple(
    re.compile(pattern.replace("NAME", r"([^\s()]+)"))
    for pattern in (
        r"#'NAME",
        r"'NAME",
        r"\(\s*(?:var|quote)\s+NAME\s*\)",
        r"\(\s*(?:clojure\.core/)?resolve\s+'NAME\s*\)",
        r"\(\s*(?:clojure\.core/)?resolve\s+\(\s*quote\s+NAME\s*\)\s*\)",
    )
)
_PYTHON = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_PLAIN = re.compile(r"[^\s\x00-\x1f\x7f:,/#'\"()\[\]{};`~@^\\]+")


@dataclass(frozen=True, slots=True)
class Name:
    """A namespace (or module), and the path of a function in it."""

    space: str
    path: str

    def __str__(self) -> str:
        return f"{self.space}:{self.path}"

    @property
    def is_python(self) -> bool:
        """Whether both halves are Python names, so that no character needs a replacement."""
        return bool(_PYTHON.fullmatch(str(self)))


class Clojure(str):
    """A Clojure form, stored unchanged: ``clojure("(fn [] ...)")``. Only Clojure listeners can run it."""

    __slots__ = ()


def clojure(form: str) -> Clojure:
    """Mark a text as a Clojure form, for a Clojure listener. It is stored as written and never run by Python."""
    if not form.strip():
        raise InvalidFunction(
            'fn=clojure("") is empty. Give a form such as "(fn [] (your-app.cache/clear))".', given=form
        )
    return Clojure(form)


def is_plain(text: str) -> bool:
    """Return whether a text is a plain job name, which only a registered function can have: ``send_email``. It has no
    blank, colon, comma, slash or quote, as it is part of keys and lists.
    """
    return len(text) <= LONGEST and bool(_PLAIN.fullmatch(text))


def said_plain(text: str) -> str | None:
    """Return the plain name of ``@orders.created``, as `@job` has it; None for any other text."""
    name = text.removeprefix(JOB_NAME)
    return name if name != text and is_plain(name) else None


def has_wildcard(key: str) -> bool:
    """Return whether a text is a pattern of routing keys: one of its words is ``*`` or ``#``."""
    return not {"*", "#"}.isdisjoint(key.split("."))


def is_consumed(text: str) -> bool:
    """Return whether a function may consume under a text: a plain job name, or a pattern such as ``orders.#``."""
    return is_plain(".".join("*" if word == "#" else word for word in text.split(".")))


class Bound:
    """A callable in place of a function: `bind` of a schedule makes it (`workkit.verbs.calling`). Everything that takes
    a function takes this one as the function `__wrapped__`.
    """

    __wrapped__: Callable[..., Any]


def function_of(fn: Any) -> Any:
    """Return the function in place of which a `Bound` was given; any other value unchanged."""
    return fn.__wrapped__ if isinstance(fn, Bound) else fn


def stored_name(fn: Fn) -> str:
    """Return the text that names `fn` in a payload. Raises InvalidFunction."""
    if type(fn) is str:
        return _from_text(fn)
    if isinstance(fn, str):
        return str(fn) if isinstance(fn, Clojure) else _from_text(fn)
    return _located(fn) if type(fn) is FunctionType else _locate(function_of(fn))


def known_name(fn: Fn) -> str:
    """Return the stored name for a search: as `stored_name`, but also for names that only other programs can store."""
    name = read_name(fn) if isinstance(fn, str) and not isinstance(fn, Clojure) else None
    return stored_name(fn) if name is None else f"#'{name.space}/{name.path}"


def read_name(job: str) -> Name | None:
    """Read the name in a stored `job`; None for any other form, which only Clojure listeners can run."""
    text = job.strip()
    named = _named_in(text)
    if named is not None and (_LENIENT.fullmatch(named) or flaw(named) is None):
        space, _, path = named.partition("/")
        return Name(space, path)
    if found := _PYTHON.fullmatch(text):
        return Name(found[1], found[2])
    return None


def _named_in(text: str) -> str | None:
    """Return the text at the place of the name in one of the forms, valid or not."""
    return next((found[1] for form in _FORMS if (found := form.fullmatch(text))), None)


def addable_name(text: str) -> Name | None:
    """Read the name that a user adds or registers; None if it is none, or if Clojure refuses it."""
    return read_name(text) if _addable_flaw(text) is None else None


def _addable_flaw(text: str) -> str | None:
    named = _named_in(text.strip())
    return None if named is None or "/" not in named else flaw(named)


def shown(job: str) -> str:
    """Write a stored `job` for people: ``app.cache.clear`` for a name, any other form unchanged."""
    return _shown(job)


@lru_cache(maxsize=1024)
def _shown(job: str) -> str:
    name = read_name(job)
    if name is None or _PYTHON.fullmatch(job):  # the second is a job name of a layout that takes any text
        return job
    return f"{name.space}.{name.path}" if name.is_python else f"{name.space}/{name.path}"


def brief(text: str) -> str:
    """Shorten a text for a message: at most `SHOWN` characters and dots."""
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def is_module(text: str) -> bool:
    """Return whether Python could import a module of this name: ``app.jobs``."""
    return bool(_PYTHON.fullmatch(f"{text}:f"))


def generator(fn: Any) -> str | None:
    """Return the kind of a generator function; None for any other. A call does not run its body, so it cannot be a
    handler.
    """
    if inspect.isgeneratorfunction(fn):
        return "a generator function"
    return "an async generator function" if inspect.isasyncgenfunction(fn) else None


def main_module() -> str | None:
    """Return the name under which other processes can import ``__main__``; None at a prompt or in a notebook."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    name, suffix = os.path.splitext(os.path.basename(file or ""))
    return name if suffix == ".py" else None


@lru_cache(maxsize=1024)
def _from_text(text: str) -> str:
    if (name := addable_name(text)) is not None:
        if _PYTHON.fullmatch(text.strip()) and (trouble := library_trouble(name)):
            raise InvalidFunction(f"fn={text!r}: {trouble}", given=text)
        return f"#'{name.space}/{name.path}"
    if (plain := said_plain(text)) is not None:
        return plain
    if is_plain(text) and "." not in text:
        return text
    if trouble := _addable_flaw(text):
        hint = f"It is not a name: {trouble}."
    elif text.startswith("("):
        hint = f"For a Clojure form write clojure({text!r})."
    elif "." in text and re.fullmatch(r"[\w.]+", text):
        module, _, last = text.rpartition(".")
        hint = f'Write "{module}:{last}". For the name of a job, such as a routing key, write "{JOB_NAME}{text}".'
    else:
        hint = 'Give a module-level function, "pkg.mod:func", or "#\'namespace/name".'
    raise InvalidFunction(f"fn={text!r} does not name a function. {hint}", given=text, accepted="pkg.mod:func")


def _locate(fn: Any) -> str:
    """Return the stored name of a function that a listener can import. Raises InvalidFunction."""
    if isinstance(fn, MethodType):
        raise InvalidFunction(
            f"fn={_called(fn)} is bound to an object, and objects do not travel. {_MODULE_LEVEL}", given=fn
        )
    if not isinstance(fn, FunctionType):
        kind = "a builtin" if isinstance(fn, BuiltinFunctionType) else f"a {type(fn).__name__}"
        raise InvalidFunction(f"fn={_called(fn)} is {kind}, not a function. {_MODULE_LEVEL}", given=fn)
    code = fn.__code__
    where = f"({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
    if fn.__name__ == "<lambda>":
        raise InvalidFunction(
            f"fn=<lambda> {where} has no name that a listener could import. "
            "Write a module-level def and pass its data in args=[...].",
            given=fn,
        )
    if "<locals>" in fn.__qualname__:
        raise InvalidFunction(f"fn={fn.__qualname__} {where} is defined inside a function. {_MODULE_LEVEL}", given=fn)
    if yields := generator(fn):
        raise InvalidFunction(f"fn={fn.__qualname__} {where} is {yields}: {NO_YIELD}", given=fn)
    module = main_module() if fn.__module__ == "__main__" else fn.__module__
    if module is None:
        raise InvalidFunction(
            f"fn={fn.__qualname__} was defined at a prompt, which no listener can import. "
            f"Put it into a file, for example {fn.__name__}.py, and import it.",
            given=fn,
        )
    if trouble := library_trouble(Name(module, fn.__qualname__)):
        raise InvalidFunction(f"fn={fn.__qualname__} {where}: {trouble}", given=fn)
    if hidden := hidden_part(Name(module, fn.__qualname__)):
        raise InvalidFunction(
            f"fn={fn.__qualname__} {where}: {hidden} begins with _, and listeners run public names only. "
            "Give it a public name.",
            given=fn,
        )
    return f"#'{module}/{fn.__qualname__}"


_located = lru_cache(maxsize=10_000)(_locate)  # a function that a module defines again is another object


def forget_names() -> None:
    """Clear the cache of stored names, because a function has a new body."""
    _located.cache_clear()


def is_library(module: str) -> bool:
    """Return whether a module is Python's own: a listener never runs its functions."""
    return module.partition(".")[0] in sys.stdlib_module_names


def library_trouble(name: Name) -> str | None:
    """Return why no listener runs a function of Python's own; None for any other."""
    if not is_library(name.space):
        return None
    top = name.space.partition(".")[0]
    return f"{top} is Python's own, and no listener runs its functions. Write a function of yours that calls it."


NO_YIELD = "calling it runs nothing of its body. Write a handler without yield."
_MODULE_LEVEL = "Use a module-level function and pass what it needs in args=[...]."


def hidden_part(name: Name) -> str | None:
    """Return the first part of a name that begins with an underscore, or None. Private functions never run."""
    parts = [*name.space.split("."), *name.path.split(".")]
    if name.space.endswith(".__main__"):  # python -m pkg
        parts.remove("__main__")
    return next((part for part in parts if part.startswith("_")), None)


def _called(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or repr(fn))


_ENDS = frozenset('()[]{}";`,~@^\\')  # the reader ends a name there
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zs", "Zl", "Zp"))  # controls, format characters, half characters, blanks
_LIKE_A_NUMBER = re.compile(r"[+-]?(?=[\0-\uffff])\d")


def flaw(name: str) -> str | None:
    """Return why a user cannot add NAME, as the end of a sentence; None if it can be added.

    Stricter than Clojure in one point: an invisible character is refused.
    """
    unseen = next((mark for mark in name if unicodedata.category(mark) in _UNSEEN), None)
    return name_refused(name) if unseen is None else f"it contains {unseen!r}, an invisible character"


def name_refused(name: str) -> str | None:
    """Return why ``#'NAME`` is not the var NAME to Clojure, as the end of a sentence; None if it is.

    Each half must also be a name by itself; no Clojure program can define any other.
    """
    space, slash, path = name.partition("/")
    if not (space and slash and path):
        return "it needs a namespace, a / and a name"
    return _refused(space) or (None if path == "/" else _refused(path))


def _refused(half: str) -> str | None:
    for mark in half:
        if mark in _ENDS:
            return f"no name contains {mark}"
        if mark == "/":
            return f"{half} contains a second /"
    if _LIKE_A_NUMBER.match(half):
        return f"{half} begins like a number"
    if half[0] in "#':":
        return f"{half} begins with {half[0]}"
    if "::" in half or half[-1] == ":":
        return f"{half} {'contains ::' if '::' in half else 'ends with :'}"
    return None
