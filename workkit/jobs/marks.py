"""The marks of `@job`: names of functions and options of their runs. Finds functions by name without an import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from functools import partial
from types import FunctionType
from typing import Any, NoReturn, TypeVar, Unpack, overload

from workkit.errors import InvalidFunction
from workkit.jobs.call import JobOptions
from workkit.jobs.elsewhere import CALLS, ForeignWord
from workkit.jobs.names import (
    JOB_NAME,
    LONGEST,
    NO_YIELD,
    Fn,
    Name,
    addable_name,
    brief,
    flaw,
    function_of,
    generator,
    has_wildcard,
    is_consumed,
    is_library,
    is_plain,
    main_module,
    read_name,
)
from workkit.jobs.options import JOB, read_options
from workkit.jobs.run_options import UNSAID, RunOptions, run_options

F = TypeVar("F", bound=Callable[..., Any])
Handler = Callable[..., Any]
_CLOJURE_STARTS = ("#'", "(", "'")

_marked: dict[str, Handler] = {}  # registered name -> function, filled by @job at import
_given: dict[str, Handler] = {}  # job name as @job has it, any text -> function
_said: dict[Handler, RunOptions] = {}  # function -> its options of @job; those of a factory have one name
_said_by_name: dict[tuple[str, str], RunOptions] = {}  # the same by module and name, for wrappers of a function
FOLLOWERS: dict[str, str] = {}  # name of a schedule, or of its shard -> the stored name of the function of `on_failure`


@overload
def job(name: F, /) -> F: ...
@overload
def job(name: str | None = None, /, **options: Unpack[JobOptions]) -> Callable[[F], F]: ...
def job(name: Any = None, /, **options: Any) -> Any:
    """Mark a module-level function as a handler, optionally under a further name; returns the function itself.

    ``@job`` or ``@job("your-app.cache/clear")``: the name by which a Clojure producer calls it. ``@job("send_email")``:
    its job name, in the layouts gocraft, hutch and event; in gocraft any text, as ``"resize image"``, and in hutch also
    a pattern of routing keys, as ``"orders.#"``.
    ``@job(retries=5, backoff="exponential", base="5s", cap="1h", jitter=True, retry_on=(OSError,), discard_on=(),
    timeout="2m", crashes=0, keep="1 day", keep_most="5MB")``: the options of its runs; an option of `add` wins.
    ``@job(limit=2, limit_key="customer", rate="100/minute", cpu=True)``: how many run at once, and how many start in a
    time, over all listeners, for each value of the parameter (or of a function of the same arguments); `cpu`: in a
    worker process. ``@job(accepts=[from_v1])``: functions that lift arguments of earlier versions to those of today.
    ``@job(on_failure=tell)``: when a job is dead, ``tell(id, error)`` runs as a job. ``@job("clean",
    periodic="0 0 * * * *", periodic_args={"days": 30})``: runs that pools of the gocraft layout enqueue.
    `workkit.jobs.options.OPTIONS` explains each option. Raises InvalidFunction if another function has the name,
    InvalidOptions, TriggerError for a duration.
    """
    read = run_options(read_options(options, place=JOB, verb="@job"))
    if callable(name):
        return _mark(name, None, read)
    return lambda fn: _mark(fn, name, read)


def _mark(fn: Any, name: str | None, options: RunOptions) -> Any:
    if kind := generator(fn):
        raise InvalidFunction(f"@job: {fn.__qualname__} is {kind}: {NO_YIELD}", given=fn)
    options = options.bound_to(fn)
    keys = [f"{fn.__module__}:{fn.__qualname__}"]
    if name is not None and is_consumed(name):
        keys.append(name)
    elif name is not None:
        if not name or len(name) > LONGEST:
            trouble = f"has {len(name):,} characters" if name else "is empty"
            raise InvalidFunction.about(f"@job({brief(name)!r})", trouble, f"Accepted: 1 to {LONGEST}.", given=name)
        is_form = name.startswith(_CLOJURE_STARTS)
        said = addable_name(name if is_form else f"#'{name}") or addable_name(name)
        if said is not None:
            keys.append(str(said))
        elif name.startswith("#'"):
            flawed = flaw(name.removeprefix("#'"))
            raise InvalidFunction(f'@job({name!r}) is not a name: {flawed}. Write "namespace/name".', given=name)
    for key, table in [*((key, _marked) for key in keys), *(((name, _given),) if name is not None else ())]:
        known = table.get(key)
        if known is not None and (known.__module__, known.__qualname__) != (fn.__module__, fn.__qualname__):
            raise InvalidFunction(
                f"@job({name!r}): this name belongs to {known.__module__}.{known.__qualname__} already.", given=name
            )
        table[key] = fn
    _said[fn] = _said_by_name[_key(fn)] = options
    for name, word in CALLS.items():
        if type(fn) is FunctionType and not hasattr(fn, name):
            setattr(fn, name, partial(_refuse_call, fn, name, word))
    return fn


def _refuse_call(fn: Handler, name: str, word: ForeignWord, *_: Any, **__: Any) -> NoReturn:
    """Refuse ``f.delay()``, with the call to write instead. Raises InvalidFunction."""
    remedy, _suggestion = word.remedy()
    trouble = "does not exist: a function with @job stays a plain function"
    raise InvalidFunction.about(f"{fn.__name__}.{name}", trouble, remedy.replace("{fn}", fn.__name__), given=fn)


def call_instead(fn: Handler, handler: Handler) -> None:
    """Make listeners call `handler` for a job that names the module-level function `fn`. The options of `@job` of `fn`
    stay valid.
    """
    _marked[f"{fn.__module__}:{fn.__qualname__}"] = handler


def drop_failed(before: Collection[str]) -> None:
    """Drop the marks that a failed import has made: those that are missing in `before`, of modules that are gone."""
    for name, fn in marks().items():
        if name not in before and fn.__module__ not in sys.modules:
            _marked.pop(name, None)


def job_name_of(fn: Fn) -> str:
    """Return the job name of a function: the text itself, also without its @, or the name under which the function is
    registered. Each layout decides which names are valid. Raises InvalidFunction.
    """
    if isinstance(fn, str) and fn.startswith(JOB_NAME) and is_consumed(fn.removeprefix(JOB_NAME)):
        return fn.removeprefix(JOB_NAME)
    if isinstance(fn, str):
        found = [] if _is_of_python(fn) else [fn]
    else:
        fn = function_of(fn)
        names = [name for name, known in _given.items() if known is fn]
        found = [name for name in names if is_plain(name) and not has_wildcard(name)] or names
    if len(found) != 1:
        shown = fn if isinstance(fn, str) else getattr(fn, "__qualname__", repr(fn))
        trouble = "has no plain job name, which this layout needs"
        remedy = 'Give one such as "send_email", or mark the function with @job("send_email").'
        raise InvalidFunction.about(f"fn={shown}", trouble, remedy, where="fn", given=fn)
    return found[0]


def _is_of_python(text: str) -> bool:
    """Return whether a text names a function and no job: a marked one, one of Python's own, or a Clojure form."""
    name = read_name(text)
    return not text or (
        name is not None
        and text not in _given
        and (text.startswith(_CLOJURE_STARTS) or is_library(name.space) or str(name) in _marked)
    )


def marked(name: str) -> Handler | None:
    """Return the function that is marked with a name; None if there is none."""
    return _marked.get(name)


def options_of(fn: Handler) -> RunOptions:
    """Return the options of `@job` of a function."""
    said = _said.get(fn) if isinstance(fn, FunctionType) else None
    return _said_by_name.get(_key(fn), UNSAID) if said is None else said


def marks() -> dict[str, Handler]:
    """Return the functions that are marked in this program, by each of their names."""
    return dict(_marked)


def plain_names() -> list[str]:
    """List the plain job names that `@job` has marked in this program, and the patterns of them."""
    return [name for name in _marked if is_consumed(name)]


def named(name: str) -> Handler | None:
    """Return the function of a job name, which may be any text; None if `@job` has none."""
    return _given.get(name)


def served() -> dict[str, RunOptions]:
    """Return the job names of `@job` in this program, with the options of their functions. A name may be any text."""
    return {name: options_of(fn) for name, fn in _given.items()}


def _key(handler: Handler) -> tuple[str, str]:
    return handler.__module__, handler.__qualname__


def imported_options(job: str) -> RunOptions | None:
    """Return the options of `@job` for the function that a stored `job` names; None if it is not imported here."""
    found = imported(job)
    return None if found is None else options_of(found)


def imported(job: str) -> Handler | None:
    """Return the function that a stored `job` names; None if this program has not imported it."""
    found = marked(job)
    if found is None and (said := read_name(job)) is not None:
        names = (said, Name(said.space.replace("-", "_"), said.path.replace("-", "_")))
        found = next((fn for name in names if (fn := marked(str(name)) or _here(name)) is not None), None)
    return found


def _here(name: Name) -> Handler | None:
    """Find a function of a module that is imported; its module may be the main program."""
    space = "__main__" if name.space == main_module() else name.space
    found = getattr(sys.modules.get(space), name.path, None)
    return found if callable(found) and hasattr(found, "__qualname__") else None
