"""Arguments of an earlier version of a function: `@job(accepts=[from_v1])` lifts them at the run, `retry(map=from_v1)`
lifts those of dead jobs. Pure, but for the lifters, which are code of the user.

A lifter is a plain function. It is called with the old arguments, as the handler of that version was. It returns those
of today: a tuple by position, or a dict by name (spec/features.md 14).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workkit.errors import InvalidArguments, JobCancelled, JobTimeout, described
from workkit.jobs.arguments import as_called, check_call, takes_whole
from workkit.jobs.json_value import shown_value
from workkit.jobs.structured import structured, written

Lifter = Callable[..., Any]
Call = tuple[Sequence[Any], Mapping[str, Any] | None]


def lifted(fn: Callable[..., Any], lifters: Iterable[Lifter], call: Call) -> Call | None:
    """Return the arguments of today for a call with old ones, as JSON has them where a parameter is structured. None if
    they fit as they are, or if no lifter takes them; then the call itself says what does not fit.

    The first lifter that takes the arguments decides. Raises InvalidArguments, which names it, where it raises or
    returns arguments that do not fit.
    """
    if _built(fn, call) is not None:
        return None
    for lifter in lifters:
        if (taken := _built(lifter, call)) is not None:
            args, kwargs = _returned(lifter, taken)
            try:
                check_call(fn, args=args, kwargs=kwargs)
                return written(fn, args=args, kwargs=kwargs)
            except InvalidArguments as error:
                raise _refused(lifter, "returned arguments that do not fit", error) from None
    return None


def of_today(fn: Callable[..., Any], lifters: Iterable[Lifter], key: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fn`, old ones too, and passes those of today to `key`."""

    def called(*args: Any, **kwargs: Any) -> Any:
        given, named = lifted(fn, lifters, (args, kwargs or None)) or (args, kwargs)
        return key(*given, **(named or {}))

    return called


def mapped(lifter: Lifter, call: Call) -> Call:
    """Return what a lifter makes of old arguments. Raises InvalidArguments where it does not take them, where it
    raises, and where it returns anything else.
    """
    taken = _built(lifter, call)
    if taken is None:
        check_call(lifter, args=call[0], kwargs=call[1])
        taken = _fitted(lifter, call)
    return _returned(lifter, taken)


def _built(fn: Callable[..., Any], call: Call) -> Call | None:
    """Return the arguments with which a function is called; None if it does not take them."""
    try:
        check_call(fn, args=call[0], kwargs=call[1])
        return _fitted(fn, call)
    except InvalidArguments:
        return None


def _fitted(fn: Callable[..., Any], call: Call) -> Call:
    """Build the structured arguments of a call. Raises InvalidArguments."""
    args, kwargs = call
    is_whole = kwargs is not None and not args and takes_whole(fn)
    args, kwargs = as_called(fn, args, kwargs)
    found = structured(fn)
    return (args, kwargs) if found is None else found.built(args, kwargs, whole=is_whole)


def _returned(lifter: Lifter, taken: Call) -> Call:
    """Call a lifter, and read what it returns."""
    try:
        found = lifter(*taken[0], **(taken[1] or {}))
    except (JobCancelled, JobTimeout):  # the run around it is over
        raise
    except Exception as error:
        raise _refused(lifter, "raised", described(error)) from error
    if isinstance(found, tuple | list):
        return tuple(found), None
    if isinstance(found, Mapping) and all(isinstance(name, str) for name in found):
        return (), dict(found)
    remedy = 'Return a tuple of them, (user, "monday"), or a dict of named ones, {"user": user, "day": "monday"}.'
    value = shown_value(found)  # a worker process cannot send every value
    trouble = f"returned {value}, which are no arguments"
    raise InvalidArguments.about(f"{_name(lifter)}()", trouble, remedy, where="accepts", given=value)


def _refused(lifter: Lifter, what: str, why: object) -> InvalidArguments:
    """Make the error about a lifter that fails."""
    name, trouble = _name(lifter), f"{what}: {str(why).removesuffix('.')}"
    return InvalidArguments.about(f"{name}()", trouble, "Correct the function.", where="accepts", given=name)


def _name(lifter: Lifter) -> str:
    return str(getattr(lifter, "__qualname__", None) or repr(lifter))
