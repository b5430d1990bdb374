"""How a job is to be run: attempts and their back-off, its timeout, which errors are worth another try. Pure.

Said per job (`add`) or per handler (`@job`); what the job says wins, field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from workkit.errors import CorruptRecord, InvalidOptions
from workkit.nearest import nearest

RUN_OPTIONS = ("retries", "backoff", "base", "cap", "jitter", "timeout")  # of a job; a handler has two more
BACKOFFS = ("exponential", "linear", "constant")
MOST_RETRIES = 10_000
LONGEST_MS = 400 * 86_400_000  # for every duration here: what takes longer is a mistake
Errors = tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What was said; None where nothing was. Durations in milliseconds, one at least.

    `retry_on` and `discard_on` exist on handlers only: exception types do not travel.
    """

    retries: int | None = None
    backoff: str | None = None
    base_ms: int | None = None
    cap_ms: int | None = None
    jitter: bool | None = None
    timeout_ms: int | None = None
    retry_on: Errors | None = None
    discard_on: Errors | None = None

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

    def fields(self) -> dict[str, Any]:
        """What stands in a payload's `opts`: only what was said, by name (spec/job.md)."""
        return {name: value for name in sorted(_STORED) if (value := getattr(self, name)) is not None}


_NAMES = tuple(f.name for f in fields(RunOptions))
_STORED = _NAMES[:6]
UNSAID = RunOptions()


def check_names(given: Mapping[str, Any], *, accepted: Iterable[str], verb: str, other: Iterable[str] = ()) -> None:
    """Refuse what is not an option of `verb`, naming the nearest of `accepted` and of its `other` keywords."""
    for name, value in given.items():
        if name not in accepted:
            near = nearest(name, (*accepted, *other))
            hint = f"Did you mean {near}={value!r}?" if near else f"Options: {', '.join(accepted)}."
            raise InvalidOptions(f"{name}={value!r} is not an option of {verb}. {hint}", given=value)


def read_run_options(given: Mapping[str, Any]) -> RunOptions:
    """Check what a user said: `retries`, `backoff`, `base`, `cap`, `jitter`, `timeout`, and for handlers `retry_on`
    and `discard_on`. Raises InvalidOptions, TriggerError for a duration.
    """
    if not given:
        return UNSAID
    said: dict[str, Any] = {}
    for name, value in given.items():
        if name in ("base", "cap", "timeout"):
            said[f"{name}_ms"] = _milliseconds(value, name)
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
        elif name == "jitter":
            if type(value) is not bool:
                raise InvalidOptions(f"jitter={value!r} is neither True nor False.", given=value)
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


def _milliseconds(value: Any, name: str) -> int:
    from workkit.triggers.duration import duration  # its grammar takes a while to import

    ms = round(duration(value, name=name) / timedelta(milliseconds=1))
    least = _LEAST[f"{name}_ms"]
    if not least <= ms <= LONGEST_MS:
        raise InvalidOptions(f"{name}={value!r} is out of range. Accepted: more than nothing, at most 400 days.")
    return ms


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
