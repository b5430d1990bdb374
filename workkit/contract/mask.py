"""Masked values: the parts of a job, of a past run and of its log that the command line, a page and its JSON hide.
Pure; never raises.

A value is masked if the name of its key or parameter suggests a secret: in keyword arguments, in positional ones if the
parameters are known, nested, and in texts. A value that looks like a secret is masked under any name. In doubt a value
is masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any, Final

from workkit.contract.history import PastRun, call_of
from workkit.errors import InvalidOptions
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.text.masked_text import (
    CARDS,
    MASK,
    SECRET,
    has_no_secret_name,
    is_card,
    masked_looks,
    masked_text,
    masked_tokens,
)
from workkit.text.wording import printable

LONGEST_KEY: Final = 200  # characters of a key; the value of a longer key is masked
DEEPEST: Final = 40
MOST_VALUES: Final = 20_000  # of the arguments of one job; further ones are masked
MOST_CALL: Final = 200
MOST_PATHS: Final = 20
LEAST_BARE, MOST_HIDDEN = 4, 100  # length of a masked value to look for in errors; number of such values

_TYPE: Final = re.compile(r"[\w.]{1,100}")

Call = tuple[Sequence[Any], Mapping[str, Any] | None]
Decide = Callable[[str, Any], bool | None]
"""A function that decides about a name and its value: mask it (True), show it (False), or use the usual rule (None)."""


Parameters = Callable[[str, int], Sequence[str]]
"""Returns the parameter names of the first positional arguments of a function, as far as known. It calls no server."""


def unknown(_: str, __: int) -> Sequence[str]:
    """Return no name."""
    return ()


class Masked(str):
    """The text in place of a value. Its type shows where a value was masked."""

    __slots__ = ()


MASKED: Final = Masked(MASK)
_PAIR_KEYS, _PAIR_VALUES = ("name", "key"), ("value", "val")  # of objects that hold one pair: headers, environments


@dataclass(frozen=True, kw_only=True)
class Mask:
    """The rules for masking. `more`: regular expressions beside the usual one; `decide`: a program's function, asked
    first; `everything`: hide all arguments; `looks`: also mask values that look like a secret, whatever their name.
    """

    more: tuple[str, ...] = ()
    decide: Decide | None = None
    everything: bool = False
    looks: bool = True
    _known: dict[str, bool] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(f"(?:{one})" for one in (SECRET, *self.more)), re.IGNORECASE)

    def names_secret(self, key: str, value: object) -> bool:
        """Return whether the value under this key is masked."""
        if self.decide is not None:
            try:
                said = self.decide(key, value)
            except Exception:  # code of somebody else: a value that it cannot judge is not shown
                return True
            if said is not None:
                return bool(said)
        if len(key) > LONGEST_KEY:
            return True
        known = self._known.get(key)
        if known is None:
            known = self._pattern.search(key) is not None
            if len(self._known) < MOST_VALUES:
                self._known[key] = known
        return known

    def text(self, text: str, *, hide: Iterable[str] = ()) -> str:
        """Mask a text: pairs of a secret key and its value, and the values to `hide` wherever they occur."""
        for value in hide:
            text = text.replace(value, MASK)
        is_usual = self.decide is None and not self.more
        if is_usual and len(text) <= LONGEST_KEY and has_no_secret_name(text):
            return masked_looks(text) if self.looks else text
        return masked_text(text, self.names_secret, looks=self.looks)

    def value(self, value: Any) -> Any:
        """Mask a JSON value throughout."""
        return _Walk(self).value(value, DEEPEST)

    def arguments(
        self, args: Sequence[Any], kwargs: Mapping[str, Any] | None, parameters: Sequence[str] = ()
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Mask the arguments of a call. `parameters` are the names of the function's parameters, as far as known."""
        if self.everything:
            return ((MASKED,) if args or kwargs else ()), {}
        walk = _Walk(self)
        listed = list(args)
        for k, (name, value) in enumerate(zip(parameters, listed, strict=False)):
            if self.names_secret(name, value):
                listed[k] = MASKED
        shown_args = [
            one if one is MASKED else walk.value(one, DEEPEST, is_named=k < len(parameters))
            for k, one in enumerate(walk.after_flags(listed))
        ]
        shown_kwargs = {name: walk.member(name, value, DEEPEST) for name, value in (kwargs or {}).items()}
        return tuple(shown_args), shown_kwargs

    def job(self, job: Job, parameters: Sequence[str] = ()) -> Job:
        """Mask a job: its arguments; its tags, error, traceback and check-in, where masked values may occur too."""
        args, kwargs = self.arguments(job.args, job.kwargs, parameters)
        meta = self.arguments((), job.meta)[1] if job.meta else None
        hide = self.hidden(job, args, kwargs)
        error = None if job.error is None else self.text(job.error, hide=hide)
        failure = job.failure
        if failure is not None:
            traceback = self.text(failure.traceback, hide=hide)
            failure = replace(failure, message=self.text(failure.message, hide=hide), traceback=traceback)
        progress = self.text(job.progress, hide=hide) if isinstance(job.progress, str) else job.progress
        terms = job.terms
        if terms.tags:
            terms = replace(terms, tags=tuple([self.text(tag, hide=hide) for tag in terms.tags]))
        return replace(
            job, args=args, kwargs=kwargs or None, error=error, failure=failure, progress=progress, meta=meta,
            terms=terms,
        )  # fmt: skip

    def run(self, run: PastRun, *, of: Job | None = None, parameters: Parameters = unknown) -> PastRun:
        """Mask a past run: the arguments that history keeps, and its error. `of`: its job, if known; the masked values
        of that job are hidden in the error too. A reader who may see no arguments sees only the type of the error.
        `parameters` returns the names of its function's parameters.
        """
        call, hide, kept = call_of(run), [], run.call
        if call is None:
            kept = ""
        elif (masked := self.arguments(*call, parameters(run.fn or "", len(call[0])))) != (call[0], call[1] or {}):
            args, kwargs = masked
            hide = self._hidden(call, args, kwargs)
            kept = json.dumps([args, kwargs] if kwargs else [args])
        if of is not None:
            hide += self.hidden(of, *self.arguments(of.args, of.kwargs, parameters(of.fn, len(of.args))))
        error = run.error
        if error is not None and self.everything:
            kind, colon, _ = error.partition(": ")
            error = f"{kind}: {MASK}" if colon and _TYPE.fullmatch(kind) else MASK
        elif error is not None:
            error = self.text(error, hide=hide)
        is_open = (error, kept) == (run.error, run.call)
        return run if is_open else replace(run, error=error, call=kept)

    def log(self, lines: Sequence[str], *, call: Call | None, parameters: Sequence[str] = ()) -> list[str]:
        """Mask the log of a run. `call`: its arguments; their masked values are hidden in the log too. A reader who may
        see no arguments sees none of the log. `parameters`: the names of its function's parameters, as far as known.
        """
        if self.everything:
            return [MASK] if lines else []
        hide = [] if call is None else self._hidden(call, *self.arguments(*call, parameters))
        return self.text("\n".join(lines), hide=hide).split("\n") if lines else []

    def hidden(self, job: Job, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        """List the texts and numbers among a job's arguments that `args` and `kwargs` mask."""
        return self._hidden((job.args, job.kwargs), args, kwargs)

    def _hidden(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
        given, named = call[0], call[1] or {}
        if self.everything:
            found = _leaves([*given, *named.values()])
        else:
            pairs = [*zip(given, args, strict=False)]
            pairs += [(value, kwargs.get(name)) for name, value in named.items()]
            found = _lost(pairs)
        texts = {text for text in found if len(text) >= LEAST_BARE}
        return sorted(texts, key=len, reverse=True)[:MOST_HIDDEN]

    def call_parts(self, job: Job, parameters: Sequence[str] = (), *, most: int = MOST_CALL) -> list[tuple[str, str]]:
        """Write a job as the call it makes, in pieces of a kind: "fn", "arg" or "mask"; at most `most` characters."""
        args, kwargs = self.arguments(job.args, job.kwargs, parameters)
        parts = [(printable(shown(job.fn)), "fn"), ("(", "arg")]
        named = [("", value) for value in args] + [(f"{name}=", value) for name, value in kwargs.items()]
        for k, (name, value) in enumerate(named):
            if before := f"{', ' if k else ''}{printable(name)}":
                parts.append((before, "arg"))
            parts += _pieces(value)
        return list(_cut([*parts, (")", "arg")], most))


def mask(*more: str, decide: Decide | None = None, everything: bool = False, looks: bool = True) -> Mask:
    """Make a mask, with further regular expressions. Raises InvalidOptions for an invalid regular expression."""
    for pattern in more:
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            trouble = f"is not a regular expression: {getattr(error, 'msg', 'it nests too deeply')}"
            position = getattr(error, "pos", None)
            remedy = 'Write for example "pin|customer_ref".'
            raise InvalidOptions.about(
                f'mask="{pattern}"', trouble, remedy, where="mask", given=pattern, position=position
            ) from None
    return Mask(more=more, decide=decide, everything=everything, looks=looks)


class _Walk:
    """One walk over values. Values that are nested too deep, or come after the first `MOST_VALUES`, are masked."""

    def __init__(self, mask: Mask) -> None:
        self._mask, self._room = mask, MOST_VALUES

    def value(self, value: Any, deep: int, *, is_named: bool = True) -> Any:
        self._room -= 1
        looks = self._mask.looks
        if isinstance(value, str):
            if self._room <= 0:
                return MASKED
            seen = self._mask.text(value)
            seen = seen if is_named or not looks else masked_tokens(seen)
            return MASKED if seen == MASK else seen
        if value is None or isinstance(value, bool | int | float):
            is_shown = self._room > 0 and not (looks and type(value) is int and value in CARDS and is_card(str(value)))
            return value if is_shown else MASKED
        if deep <= 0 or self._room <= 0:
            return MASKED
        if isinstance(value, Mapping):
            return self._object(value, deep)
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
            return self._list(value, deep, is_named=is_named)
        return self._mask.text(_repr(value))

    def member(self, key: Any, value: Any, deep: int) -> Any:
        if value is not MASKED and self._mask.names_secret(key if isinstance(key, str) else _repr(key), value):
            return MASKED
        return value if value is MASKED else self.value(value, deep - 1)

    def _object(self, value: Mapping[Any, Any], deep: int) -> dict[Any, Any]:
        members = dict(value)
        name = next((value[key] for key in _PAIR_KEYS if isinstance(value.get(key), str)), None)
        for key in _PAIR_VALUES:
            if name is not None and key in members and self._mask.names_secret(name, members[key]):
                members[key] = MASKED
        return {key: self.member(key, one, deep) for key, one in members.items()}

    def _list(self, value: Sequence[Any], deep: int, *, is_named: bool) -> list[Any]:
        if len(value) == 2 and isinstance(value[0], str) and self._mask.names_secret(value[0], value[1]):
            return [value[0][:LONGEST_KEY], MASKED]
        return [
            one if one is MASKED else self.value(one, deep - 1, is_named=is_named) for one in self.after_flags(value)
        ]

    def after_flags(self, values: Sequence[Any]) -> Iterator[Any]:
        """Mask the values behind secret flags of a command: ``["--password", "x"]``."""
        flag = None
        for value in values:
            is_secret = flag is not None and self._mask.names_secret(flag, value)
            yield MASKED if is_secret else value
            flag = value if isinstance(value, str) and value.startswith("-") and "=" not in value else None


def hidden_paths(job: Job, *, most: int = MOST_PATHS) -> list[str]:
    """List where values of a masked job are hidden, as the act ``show`` names them: ``args/0/token``."""
    found = chain(_hidden(job.args, "args", DEEPEST), _hidden(job.kwargs or {}, "kwargs", DEEPEST))
    return list(islice(found, most))


def _hidden(value: Any, path: str, deep: int) -> Iterator[str]:
    if isinstance(value, str):
        if MASK in value:
            yield path
    elif deep and isinstance(value, Mapping):
        for key, one in value.items():
            yield from _hidden(one, f"{path}/{str(key).replace('~', '~0').replace('/', '~1')}", deep - 1)
    elif deep and isinstance(value, list | tuple):
        for k, one in enumerate(value):
            yield from _hidden(one, f"{path}/{k}", deep - 1)


def _repr(value: object) -> str:
    try:
        return repr(value)[:LONGEST_KEY]
    except Exception:  # code of somebody else
        return "?"


def _leaves(value: Any, deep: int = DEEPEST) -> Iterator[str]:
    """Yield the texts and numbers in a value."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, Sequence) and deep and not isinstance(value, bytes | bytearray):
        for one in value:
            yield from _leaves(one, deep - 1)


def _lost(pairs: Iterable[tuple[Any, Any]], deep: int = DEEPEST) -> Iterator[str]:
    """Yield the texts and numbers of values that are masked in their shown form."""
    for value, seen in pairs:
        if seen is MASKED:
            yield from _leaves(value)
        elif deep and isinstance(value, Mapping) and isinstance(seen, Mapping):
            yield from _lost(((one, seen.get(key)) for key, one in value.items()), deep - 1)
        elif deep and isinstance(value, list | tuple) and isinstance(seen, list | tuple):
            yield from _lost(zip(value, seen, strict=False), deep - 1)


def _pieces(value: Any) -> Iterator[tuple[str, str]]:
    """Write a value as JSON. A masked value is a piece of its own, without quotes."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=_repr)
    except (ValueError, RecursionError, TypeError):
        text = _repr(value)
    text = printable(text).replace(f'"{MASK}"', MASK)
    for k, piece in enumerate(text.split(MASK)):
        if k:
            yield MASK, "mask"
        if piece:
            yield piece, "arg"


def _cut(parts: Iterable[tuple[str, str]], most: int) -> Iterator[tuple[str, str]]:
    for text, kind in parts:
        if len(text) > most:
            yield text[: max(0, most - 1)] + "…", kind
            return
        most -= len(text)
        yield text, kind
