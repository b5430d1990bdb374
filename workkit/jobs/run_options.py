"""How a job is to be run: attempts and their back-off, its timeout, which errors are worth another try. Pure.

Said per job (`add`) or per handler (`@job`); what the job says wins, field by field.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from workkit.errors import CorruptRecord, InvalidOptions
from workkit.text.nearest import nearest_word

RUN_OPTIONS = ("retries", "backoff", "base", "cap", "jitter", "timeout")  # of a job, or of a handler
HANDLER_OPTIONS = ("retry_on", "discard_on", "limit", "limit_key", "rate", "cpu")  # of a handler alone
BACKOFFS = ("exponential", "linear", "constant")
MOST_RETRIES = 10_000
MOST_AT_ONCE = 100_000
LONGEST_MS = 400 * 86_400_000  # for every duration here: what takes longer is a mistake
Errors = tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What was said; None where nothing was. Durations in milliseconds, one at least.

    `retry_on` and `discard_on` exist on handlers only: exception types do not travel. So do the limits over all
    listeners, `rate_ms` being the time between two turns, and `cpu`.
    """

    retries: int | None = None
    backoff: str | None = None
    base_ms: int | None = None
    cap_ms: int | None = None
    jitter: bool | None = None
    timeout_ms: int | None = None
    retry_on: Errors | None = None
    discard_on: Errors | None = None
    limit: int | None = None
    limit_key: str | Callable[..., Any] | None = None  # a parameter's name, until `bound_to` its function
    rate_ms: float | None = None
    cpu: bool | None = None

    def over(self, under: RunOptions) -> RunOptions:
        """These, completed by `under` where they say nothing."""
        if self is UNSAID or under is UNSAID:
            return under if self is UNSAID else self
        said = {name: _first(getattr(self, name), getattr(under, name)) for name in _NAMES}
        return RunOptions(**said)

    def delay_ms(self, attempt: int, *, chance: float) -> int:
        """How long to wait after attempt number `attempt` (from 0) failed, by 0 <= `chance` < 1.

        Exponential: base, 2 base, 4 base ...; linear: base, 2 base, 3 base ...; constant: base; never more than the
        cap. Jitter takes off up to half, so that jobs that failed together do not come back together.
        """
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
        """The value of `limit_key` for these arguments, as JSON with sorted keys. It is ``null`` where the arguments do
        not fit, or where the user's function fails on them: such runs share one limit, and the error surfaces when they
        run.
        """
        try:
            value = self.limit_key(*args, **(kwargs or {})) if callable(self.limit_key) else None
            return json.dumps(value, sort_keys=True, default=str)
        except BaseException:  # it is called in the listener's loop, which nothing that it raises may end
            return "null"

    def bound_to(self, fn: Callable[..., Any]) -> RunOptions:
        """These as the options of `fn`: a `limit_key` that names a parameter finds its value. Raises InvalidOptions."""
        if not isinstance(self.limit_key, str):
            return self
        return replace(self, limit_key=_parameter(fn, self.limit_key))

    def fields(self) -> dict[str, Any]:
        """What stands in a payload's `opts`: only what was said, by name (spec/job.md)."""
        return {name: value for name in sorted(_STORED) if (value := getattr(self, name)) is not None}


_NAMES = tuple(f.name for f in fields(RunOptions))
_STORED = _NAMES[:6]
UNSAID = RunOptions()


def check_names(
    given: Mapping[str, Any],
    *,
    accepted: Iterable[str],
    verb: str,
    other: Iterable[str] = (),
    elsewhere: tuple[Iterable[str], str] = ((), ""),
) -> None:
    """Refuse what is not an option of `verb`, naming the nearest of `accepted` and of its `other` keywords, or where it
    belongs: `elsewhere` holds names and their place.
    """
    for name, value in given.items():
        if name not in accepted:
            names, place = elsewhere
            if name in names:
                raise InvalidOptions(f"{name}= belongs to {place}. Give {name}={value!r} there.", given=value)
            near = nearest_word(name, (*accepted, *other))
            hint = f"Did you mean {near}={value!r}?" if near else f"Options: {', '.join(accepted)}."
            raise InvalidOptions(f"{name}={value!r} is not an option of {verb}. {hint}", given=value)


def read_run_options(given: Mapping[str, Any]) -> RunOptions:
    """Check what a user said: `RUN_OPTIONS`, and for handlers `HANDLER_OPTIONS`. Raises InvalidOptions, TriggerError
    for a duration.
    """
    if not given:
        return UNSAID
    said: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("base", "cap", "timeout"):
            said[f"{name}_ms"] = milliseconds(value, name)
        elif name == "rate":
            said["rate_ms"] = turn_ms(value)
        elif name == "limit":
            said[name] = at_once(value)
        elif name == "limit_key":
            said[name] = _limit_key(value, given)
        elif name in ("retry_on", "discard_on"):
            said[name] = _error_types(value, name)
        elif name == "retries":
            if type(value) is not int or not 0 <= value <= MOST_RETRIES:
                raise InvalidOptions(
                    f"retries={value!r} is not a number of attempts after the first. Accepted: 0 to {MOST_RETRIES:,}.",
                    given=value,
                )
            said[name] = value
        elif name == "backoff":
            if value not in BACKOFFS:
                raise InvalidOptions(f"backoff={value!r} is not known. Accepted: {', '.join(BACKOFFS)}.", given=value)
            said[name] = value
        elif name in ("jitter", "cpu"):
            if type(value) is not bool:
                raise InvalidOptions(f"{name}={value!r} is neither True nor False.", given=value)
            said[name] = value
    return RunOptions(**said)


def stored_run_options(opts: object) -> RunOptions:
    """Read the `opts` of a stored payload; members it does not know are for later versions. Raises CorruptRecord."""
    if not isinstance(opts, Mapping):
        raise CorruptRecord(f"payload: opts is {opts!r}, not an object", given=opts)
    said: dict[str, Any] = {}
    for name in _STORED:
        value: Any = opts.get(name)
        if value is None:
            continue
        if name == "backoff":
            fits = value in BACKOFFS
        elif name == "jitter":
            fits = type(value) is bool
        else:
            fits = type(value) is int and _LEAST[name] <= value <= LONGEST_MS
        if not fits:
            raise CorruptRecord(f"payload: opts.{name} is {value!r}", given=value)
        said[name] = value
    return RunOptions(**said) if said else UNSAID


_LEAST = {"retries": 0, "base_ms": 0, "cap_ms": 0, "timeout_ms": 1}


def milliseconds(value: Any, name: str, *, least: int = 1) -> int:
    """A duration in whole milliseconds, `least` to 400 days. Raises InvalidOptions, TriggerError."""
    from workkit.triggers.duration import duration  # its grammar takes a while to import

    ms = round(duration(value, name=name) / timedelta(milliseconds=1))
    if not _LEAST.get(f"{name}_ms", least) <= ms <= LONGEST_MS:
        at_least = "more than nothing" if least == 1 else f"{least // 1000} s at least"
        raise InvalidOptions(f"{name}={value!r} is out of range. Accepted: {at_least}, at most 400 days.", given=value)
    return ms


def turn_ms(rate: Any) -> float:
    """The time between two turns at a rate such as "100/minute", "10 per hour" or "3/10s". Raises InvalidOptions,
    TriggerError for its period.
    """
    found = _RATE.fullmatch(rate) if isinstance(rate, str) else None
    if found is None or int(found[1]) == 0:
        raise InvalidOptions(
            f'rate={rate!r} is not a rate. Write "100/minute": a number, and a second, minute, hour, day or duration.',
            given=rate,
        )
    period = found[2] if found[2][0].isdigit() else f"1 {found[2]}"
    return milliseconds(period, "rate") / int(found[1])


_RATE = re.compile(r"\s*(\d{1,9})\s*(?:/|per\b)\s*(\S.*?)\s*", re.IGNORECASE | re.ASCII)


def at_once(limit: Any) -> int:
    """A limit of how many may run at once. Raises InvalidOptions."""
    if type(limit) is not int or not 1 <= limit <= MOST_AT_ONCE:
        raise InvalidOptions(
            f"limit={limit!r} is not a number of runs at once. Accepted: 1 to {MOST_AT_ONCE:,}.", given=limit
        )
    return limit


def _limit_key(value: Any, given: Mapping[str, Any]) -> Any:
    if not callable(value) and not (isinstance(value, str) and value):
        raise InvalidOptions(
            f'limit_key={value!r} is neither a parameter\'s name nor a function. Write limit_key="customer".',
            given=value,
        )
    if given.get("limit") is None and given.get("rate") is None:
        raise InvalidOptions(
            f"limit_key={value!r} without limit= or rate=: there is nothing to count by it. Add limit=1.", given=value
        )
    return value


def _parameter(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of the same arguments that gives the value of one parameter of `fn`. Raises InvalidOptions."""
    parameters = inspect.signature(fn).parameters
    names = [p.name for p in parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    if name not in names:
        near = nearest_word(name, names)
        hint = f'Did you mean "{near}"?' if near else f"It has: {', '.join(names) or 'none'}."
        raise InvalidOptions(f'limit_key="{name}" is not a parameter of {fn.__qualname__}. {hint}', given=name)
    parameter = parameters[name]
    default = None if parameter.default is parameter.empty else parameter.default
    if parameter.kind is parameter.KEYWORD_ONLY:
        return lambda *args, **kwargs: kwargs.get(name, default)
    place = names.index(name)
    return lambda *args, **kwargs: args[place] if place < len(args) else kwargs.get(name, default)


def _error_types(value: Any, name: str) -> Errors:
    types = value if isinstance(value, tuple | list | set | frozenset) else (value,)
    for one in types:
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise InvalidOptions(
                f"{name}={one!r} is not an exception type. Write {name}=(OSError, TimeoutError).", given=one
            )
    return tuple(types)


def _first(said: Any, under: Any) -> Any:
    return under if said is None else said
