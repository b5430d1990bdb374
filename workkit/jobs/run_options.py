"""The options of the runs of a job: attempts and their back-off, its timeout, the errors that are retried. Pure.

A job (`add`) and a handler (`@job`) may set them; the job's values win, field by field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from workkit.errors import InvalidOptions
from workkit.jobs.arguments import signature_of, takes_whole
from workkit.jobs.option_readers import option_error
from workkit.jobs.options import JOB, OPTIONS, STORED
from workkit.text.cells import brief_repr
from workkit.text.nearest import nearest_word

Errors = tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options that were set; None is not set. Durations in milliseconds, at least 1.

    Only handlers have `retry_on` and `discard_on`, because exception types do not travel. Only handlers have `cpu`,
    `accepts`, `on_failure` and the limits over all listeners; `rate_ms` is the time between two turns, or that time by
    the class of `limit_key`.
    """

    retries: int | None = None
    crashes: int | None = None  # None: 2
    backoff: str | None = None
    base_ms: int | None = None
    cap_ms: int | None = None
    jitter: bool | None = None
    timeout_ms: int | None = None
    keep_ms: int | None = None
    keep_most: int | None = None  # bytes
    retry_on: Errors | None = None
    discard_on: Errors | None = None
    limit: int | None = None
    limit_key: str | Callable[..., Any] | None = None  # a parameter's name, until `bound_to` its function
    rate_ms: float | Mapping[str, float] | None = None
    cpu: bool | None = None
    accepts: tuple[Callable[..., Any], ...] | None = None
    on_failure: str | None = None  # the stored name of a function
    periodic: tuple[str, ...] | None = None
    periodic_args: Mapping[str, Any] | None = None

    __repr__ = brief_repr

    def over(self, under: RunOptions) -> RunOptions:
        """Return these, completed by `under` where they are not set."""
        if self is UNSAID or under is UNSAID:
            return under if self is UNSAID else self
        return RunOptions(**{name: _first(getattr(self, name), getattr(under, name)) for name in _NAMES})

    def delay_ms(self, attempt: int, *, chance: float) -> int:
        """Return the wait in ms after attempt number `attempt` (from 0) failed, by 0 <= `chance` < 1.

        Exponential: base, 2 base, 4 base ...; linear: base, 2 base, 3 base ...; constant: base; never more than the
        cap. Jitter takes off up to half, so that jobs that failed together do not run again together. `QUARTIC` has
        the default back-offs of layouts of other libraries; with a base or a cap they are exponential.
        """
        if self.backoff in QUARTIC and self.base_ms is None and self.cap_ms is None:
            quartic = QUARTIC[self.backoff]
            return 1000 * quartic.seconds(attempt + quartic.first, chance=chance)
        base = 5_000 if self.base_ms is None else self.base_ms
        cap = 3_600_000 if self.cap_ms is None else self.cap_ms
        match self.backoff:
            case "constant":
                wait = base
            case "linear":
                wait = base * (attempt + 1)
            case _:
                wait = base * 2 ** min(attempt, 62)
        wait = min(wait, cap)
        return wait if self.jitter is False else round(wait * (1 - chance / 2))

    def limited_by(self, args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> str:
        """Return the value of `limit_key` for these arguments, as JSON with sorted keys. It is ``null`` if the
        arguments do not fit, or if the user's function fails on them: such runs share one limit, and the error surfaces
        when they run.
        """
        try:
            value = self.limit_key(*args, **(kwargs or {})) if callable(self.limit_key) else None
            return json.dumps(value, sort_keys=True, default=str)
        except BaseException:  # it is called in the listener's loop, which nothing that it raises may end
            return "null"

    def turn_ms(self, limited_by: str) -> float | None:
        """Return the ms between two turns for a value of `limit_key` as JSON; None if it has no rate. Its class is its
        text before the first ``:``.
        """
        if not isinstance(self.rate_ms, Mapping):
            return self.rate_ms
        value = json.loads(limited_by)
        part = (value if isinstance(value, str) else limited_by).partition(":")[0]
        return self.rate_ms.get(part, self.rate_ms.get(""))

    def bound_to(self, fn: Callable[..., Any]) -> RunOptions:
        """Return these options bound to `fn`: a `limit_key` that names a parameter reads its value, and a function
        takes the same arguments as `fn`. Raises InvalidOptions.
        """
        key = self.limit_key
        found = _parameter(fn, key) if isinstance(key, str) else key
        if (by := found) is not None and takes_whole(fn):
            found = lambda *args, **kwargs: by(*(args or (kwargs,)))  # noqa: E731
        if found is not None and self.accepts:
            from workkit.jobs.lifting import of_today  # most programs need none of it

            found = of_today(fn, self.accepts, found)
        return self if found is key else replace(self, limit_key=found)

    def keywords(self) -> list[str]:
        """Return the options of a job that are set, by the keywords of `add`."""
        set_, named = self.fields(), {field: name for name, field in _FIELDS.items()}
        return sorted(named[field] for field in set_)

    def fields(self) -> dict[str, Any]:
        """Return the members of a payload's `opts` that are set, by name (spec/job.md)."""
        found = {}
        for name in MEMBERS:
            if (value := getattr(self, name)) is not None:
                found[name] = value
        return found


@dataclass(frozen=True, slots=True)
class Quartic:
    """A back-off of another library: n^4 + `least` + (0 to `chances` - 1) * (n + 1) seconds, n counted from `first`."""

    first: int
    least: int
    chances: int

    def seconds(self, n: int, *, chance: float) -> int:
        """Return the pause for n in seconds, by 0 <= `chance` < 1."""
        return n**4 + self.least + int(chance * self.chances) * (n + 1)


QUARTIC = {"quartic": Quartic(1, 15, 30), "event": Quartic(0, 15, 30), "hutch": Quartic(0, 2, 1)}
"""The default back-offs of gocraft/work, wppurking/event and hutch-schedule, by their names in a layout."""

_NAMES = tuple(f.name for f in fields(RunOptions))
_FIELDS = {option.name: option.member or option.name for option in OPTIONS if JOB in option.places}
_FIELDS["rate"] = "rate_ms"
OF_RUNS = frozenset(_FIELDS)  # the keywords of `add` and `@job` about the runs of a job
MEMBERS = tuple(sorted(field for field in _FIELDS.values() if field in STORED))  # of the `opts` of a payload
UNSAID = RunOptions()


def run_options(read: Mapping[str, Any]) -> RunOptions:
    """Make the options of runs from options that were read. Raises InvalidOptions for a `limit_key` without a limit,
    for rates by class without a `limit_key`, and for `periodic_args` without `periodic`.
    """
    found: dict[str, Any] = {}
    for name, value in read.items():
        if name in _FIELDS:
            found[_FIELDS[name]] = value
    if not found:
        return UNSAID
    if "limit_key" in read and not {"limit", "rate"} & read.keys():
        trouble, remedy = "without limit= or rate=: there is nothing to count by it", "Add limit=1."
        raise option_error("limit_key", read["limit_key"], trouble, remedy)
    if isinstance(read.get("rate"), Mapping) and "limit_key" not in read:
        trouble, remedy = "has classes, but without limit_key= no job has one", 'Add limit_key="customer".'
        raise InvalidOptions.about("rate=", trouble, remedy, where="rate", given=read["rate"])
    if "periodic_args" in read and "periodic" not in read:
        trouble, remedy = "without periodic=: no run has them", 'Add periodic="0 0 9 * * *".'
        raise option_error("periodic_args", read["periodic_args"], trouble, remedy)
    return RunOptions(**found)


def _parameter(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that takes the arguments of `fn` and returns one of them. Raises InvalidOptions."""
    parameters = signature_of(fn).parameters
    names = [p.name for p in parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if name not in names:
        near = nearest_word(name, names)
        hint = f'Did you mean "{near}"?' if near else f"It has: {', '.join(names) or 'none'}."
        trouble = f"is not a parameter of {fn.__qualname__}"
        raise InvalidOptions.about(f'limit_key="{name}"', trouble, hint, where="limit_key", given=name, suggestion=near)
    parameter = parameters[name]
    default = None if parameter.default is parameter.empty else parameter.default
    if parameter.kind is parameter.KEYWORD_ONLY:
        return lambda *args, **kwargs: kwargs.get(name, default)
    place = names.index(name)
    return lambda *args, **kwargs: args[place] if place < len(args) else kwargs.get(name, default)


def _first(value: Any, under: Any) -> Any:
    return under if value is None else value
