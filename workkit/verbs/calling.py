"""Functions that add themselves as jobs: options first, then a plain call. ``export.at("7pm tomorrow").send(day)``.

`attached` gives a function the methods as attributes, and returns the function itself. An object with `__call__` would
be no function to pickle, doctest, Sphinx, Django's ``@task`` and `inspect.iscoroutinefunction`, which ask for the type
and the flags of a function. A type checker sees a `JobFunction`. One function has one set of attributes: for another
schedule, and for a function of another package, `bind` of a schedule returns a `JobFunction` beside the function.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from types import FunctionType, MethodType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

from workkit.contract.producer import Tally
from workkit.errors import InvalidArguments, InvalidFunction, InvalidOptions
from workkit.jobs.arguments import name_parameter, signature_of
from workkit.jobs.call import AddOptions
from workkit.jobs.elsewhere import WORDS
from workkit.jobs.job import Job, above
from workkit.jobs.names import Bound, function_of, stored_name
from workkit.triggers import KEYWORDS as TIMES

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
Row = Sequence[Any] | Mapping[str, Any]

_OPTIONS = AddOptions.__optional_keys__
_OF_THE_CALL = ("fn", "args", "kwargs", "call")  # keywords of `add` that `send` takes the place of


class _TakesOne(Protocol[A_contra]):
    """Calls of a function that takes one argument by position."""

    def send(self, value: A_contra, /) -> Job[Any]:
        """See `TimedCall.send`."""


class TimedCall(Generic[P, R]):
    """Calls of one function at one time, with one set of options. Any number of calls may follow. Nothing is checked
    before the first one.
    """

    def __init__(self, schedule: Any, fn: Callable[..., Any], given: Mapping[str, Any], *, verb: str = "add") -> None:
        """`given`: the time and the options, as keywords of the `verb`."""
        self._schedule, self._given, self._verb = schedule, {**given, "fn": fn}, verb
        self._added: Callable[..., Job[R]] | None = None  # found at the first call

    def send(self, /, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Add a job that calls the function with these arguments: the ones of the function, and nothing else. Raises as
        `schedule.add`; an InvalidArguments names the parameter.
        """
        added = self._added
        if added is None:
            added = self._added = above("verbs.addition").added
        try:
            return added(self._schedule, {**self._given, "args": args, "kwargs": kwargs or None}, verb=self._verb)
        except InvalidArguments as error:
            fn = self._given["fn"]
            raise name_parameter(_options_first(error, fn, kwargs), fn) from error.__cause__

    async def asend(self, /, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Add a job, as `send` does. Does not block the event loop."""
        found: Job[R] = await above("aio").coroutine_of(self.send)(*args, **kwargs)
        return found

    delay = send  # the name in Celery, RQ and Huey

    def many(self, rows: Iterable[Row]) -> Tally:
        """Add a job for each row, in bulk, as `schedule.add_many` does. A row is a tuple or list of arguments by
        position, or a dict of arguments by name. Reads the rows one by one.
        """
        given = self._given if self._verb == "add" else {**self._given, "at": "now"}
        try:
            found: Tally = above("schedule").add_many(self._schedule, ({**given, **_call_of(row)} for row in rows))
        except InvalidArguments as error:
            raise name_parameter(error, self._given["fn"]) from error.__cause__
        return found

    def map(self: _TakesOne[A], values: Iterable[A]) -> Tally:
        """Add a job for each value, which is its only argument. Otherwise as `many`."""
        calls: Any = self
        found: Tally = calls.many((value,) for value in values)
        return found

    async def amany(self, rows: Iterable[Row]) -> Tally:
        """Add a job for each row, as `many` does. A thread reads the rows."""
        found: Tally = await above("aio").coroutine_of(self.many)(rows)
        return found

    async def amap(self: _TakesOne[A], values: Iterable[A]) -> Tally:
        """Add a job for each value, as `map` does. A thread reads the values."""
        calls: Any = self
        found: Tally = await calls.amany((value,) for value in values)
        return found


def _options_first(error: InvalidArguments, fn: Any, named: Mapping[str, Any]) -> InvalidArguments:
    """Add a remedy to an error about an argument that is an option here or in another scheduler. Returns the error."""
    parameters = signature_of(fn).parameters
    for name, value in named.items():
        if name in parameters or error.remedy is not None:
            continue
        if name in WORDS:
            error.remedy, _ = WORDS[name].remedy(value)
        elif name in TIMES:
            error.remedy = f"The time comes first: {fn.__name__}.{name}({value!r}).send(...)."
        elif name in _OPTIONS:
            error.remedy = f"Options come first: {fn.__name__}.now({name}={value!r}).send(...)."
        else:
            continue
        error.args = (f"{error} {error.remedy}",)
    return error


def _call_of(row: Any) -> Mapping[str, Any]:
    """Return the keywords of `add` for the arguments of a row. Raises InvalidArguments."""
    if isinstance(row, Mapping):
        return {"kwargs": row}
    if isinstance(row, tuple | list):
        return {"args": row}
    trouble, remedy = "is not a row of arguments", "Write a tuple such as (value,), or use map for single arguments."
    raise InvalidArguments.about(repr(row)[:100], trouble, remedy, where="args", given=row)


class _Sender(TimedCall[P, R], Bound):
    """A function with its calls: at once by `send`, or at a time that comes first."""

    __name__: str
    __qualname__: str

    def __init__(self, schedule: Any, fn: Callable[..., Any]) -> None:
        super().__init__(schedule, fn, {}, verb="add_now")
        wrapper: Any = self
        functools.update_wrapper(wrapper, fn, updated=())  # its attributes may be those of another schedule
        with suppress(ValueError, TypeError):  # a function that wraps itself, or lies about its signature
            for name in ("send", "delay", "asend"):
                setattr(self, name, _with_parameters(getattr(TimedCall, name), self, signature_of(fn)))

    def now(self, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it at once, with options of `schedule.add_now`."""
        return self._timed("now", {}, options)

    def at(self, at: str | datetime, /, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it once at an instant, with options of `schedule.add`: ``export.at("7pm tomorrow", priority=3)``."""
        return self._timed("at", {"at": at}, options)

    def in_(self, in_: str | timedelta, /, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it once after a length of time, with options of `schedule.add`: ``export.in_("5 minutes")``."""
        return self._timed("in_", {"in_": in_}, options)

    def every(self, every: str | timedelta, /, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it again and again, with options of `schedule.add`: ``export.every("weekday at 9am", name="exports")``.
        The decorator ``@s.every(...)`` plans a job instead.
        """
        return self._timed("every", {"every": every}, options)

    def cron(self, cron: str, /, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it by a cron string, with options of `schedule.add`: ``export.cron("0 9 * * 1-5")``."""
        return self._timed("cron", {"cron": cron}, options)

    def when(self, when: str, /, **options: Unpack[AddOptions]) -> TimedCall[P, R]:
        """Call it at a time in words or as a cron string, with options of `schedule.add`. The text says whether it
        recurs.
        """
        return self._timed("when", {"when": when}, options)

    def _timed(self, method: str, time: Mapping[str, Any], options: Mapping[str, Any]) -> TimedCall[P, R]:
        for name in _OF_THE_CALL:
            if name in options:
                called = f"{self.__wrapped__.__name__}.{method}(...)"
                trouble, remedy = f"is no option of {called}: arguments come last", f"Write {called}.send(...)."
                raise InvalidOptions.about(f"{name}=", trouble, remedy, where=name, given=options[name])
        return TimedCall(self._schedule, self.__wrapped__, {**options, **time}, verb="add" if time else "add_now")

    def __repr__(self) -> str:
        return f"<{self.__wrapped__.__module__}.{self.__wrapped__.__qualname__} of {self._schedule.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._schedule, self.__wrapped__)


class JobFunction(_Sender[P, R]):
    """A function that adds itself to a schedule. An ordinary call runs it here."""

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, here and now."""
        found: R = self.__wrapped__(*args, **kwargs)
        return found


class JobCoroutine(_Sender[P, R]):
    """A coroutine function that adds itself to a schedule. Its jobs have the result of the awaited call."""

    async def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function, here and now."""
        found: R = await self.__wrapped__(*args, **kwargs)
        return found


class JobDecorator(Protocol):
    """The decorator that ``s.job(retries=5)`` returns."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> JobCoroutine[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, R], /) -> JobFunction[P, R]: ...


_METHODS = (
    "send", "asend", "delay", "many", "map", "amany", "amap", "now", "at", "in_", "every", "cron", "when",
)  # fmt: skip


def _check(fn: Any, where: str) -> None:
    """Refuse anything but a function that a listener can import. Raises InvalidFunction."""
    if type(fn) is not FunctionType:
        trouble = f"is a {type(fn).__name__}, not a function"
        remedy = "Use a module-level function, and pass what it needs as arguments."
        shown = getattr(fn, "__qualname__", None) or repr(fn)[:100]
        raise InvalidFunction.about(f"{where}: {shown}", trouble, remedy, where="fn", given=fn)
    stored_name(fn)


def bound(schedule: Any, fn: Any) -> Any:
    """Return a `JobFunction` or `JobCoroutine` beside a function that a listener can import. Raises InvalidFunction."""
    function = function_of(fn)
    _check(function, "s.bind")
    return (JobCoroutine if inspect.iscoroutinefunction(function) else JobFunction)(schedule, function)


def attached(schedule: Any, fn: Any, mark: Callable[[Any], Any]) -> Any:
    """Mark a module-level function, and give it the methods of a `JobFunction` as its attributes. Returns the function.

    Raises InvalidFunction for anything else, and for a function that another schedule, or other code, has given such
    attributes.
    """
    _check(fn, "@s.job")
    if "." in fn.__qualname__:
        trouble = "is defined in a class, and objects do not travel"
        remedy = "Write a module-level def, and pass what it needs as arguments."
        raise InvalidFunction.about(f"@s.job: {fn.__qualname__}", trouble, remedy, given=fn)
    for name in _METHODS:
        known = getattr(vars(fn).get(name), "__self__", None)
        if isinstance(known, TimedCall) and known._schedule.name != schedule.name:
            trouble = f"is a job of schedule {known._schedule.name} already"
            remedy = f"Write other = s.bind({fn.__name__}) for the second schedule."
            raise InvalidFunction.about(f"@s.job: {fn.__qualname__}", trouble, remedy, given=fn)
        if name in vars(fn) and name != "delay" and not isinstance(known, TimedCall):
            trouble, remedy = f"has an attribute {name} already", f"Write other = s.bind({fn.__name__})."
            raise InvalidFunction.about(f"@s.job: {fn.__qualname__}", trouble, remedy, given=fn)
    mark(fn)
    sender: _Sender[..., Any] = _Sender(schedule, fn)
    for name in _METHODS:
        setattr(fn, name, getattr(sender, name))
    return fn


def _with_parameters(method: Any, sender: Any, shown: inspect.Signature) -> MethodType:
    """Return a method of `sender` that shows these parameters to `help`, IPython and Jupyter. Type checkers know them
    without it. It is a copy, because a call of a wrapper would cost more.
    """
    copied: Any = FunctionType(method.__code__, method.__globals__, method.__name__)
    copied.__doc__, copied.__qualname__ = method.__doc__, method.__qualname__
    first = inspect.Parameter("__calls", inspect.Parameter.POSITIONAL_ONLY)  # Python drops it from the method
    copied.__signature__ = shown.replace(parameters=[first, *shown.parameters.values()], return_annotation=Job)
    return MethodType(copied, sender)
