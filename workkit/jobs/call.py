"""A call and its options as a type checker sees them. `workkit.jobs.options.OPTIONS` explains each option. Pure.

A test compares the types with that table, name by name and type by type. None: the option is not set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, ParamSpec, Protocol, TypedDict, overload
from zoneinfo import ZoneInfo

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """The call that a job makes: `fn` with `args` and `kwargs`. `call` makes it, and `add` checks it."""

    fn: Callable[..., Any] | str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@overload
def call(fn: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> FunctionCall: ...
@overload
def call(fn: str, /, *args: Any, **kwargs: Any) -> FunctionCall: ...
def call(fn: Callable[..., Any] | str, /, *args: Any, **kwargs: Any) -> FunctionCall:
    """Name a function and its arguments as in a call: ``schedule.add_now(s, call=call(users.activate, "a@b.c"))``.

    The function is not run. A type checker refuses arguments that it does not take; `add` checks them too.
    """
    return FunctionCall(fn, args, kwargs)


Backoff = Literal["exponential", "linear", "constant"]
UniqueUntil = Literal["done", "started"]
OnConflict = Literal["keep", "replace"]
Overlap = Literal["allow", "skip", "queue", "cancel"]
Late = Literal["refuse", "run"]
OnDeath = Literal["cancel", "run"]
CatchUp = Literal["once", "all", "skip"]
Duration = str | timedelta
Instant = str | datetime
ErrorType = type[BaseException]
ErrorTypes = ErrorType | Sequence[ErrorType] | Set[ErrorType]


class Precedent(Protocol):
    """A predecessor of a job, beside texts: a `Job`, or a batch."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def name(self) -> str | None:
        """Its name."""


After = str | Precedent | Sequence[str | Precedent]


class RunKeywords(TypedDict, total=False):
    """Options of the runs of a job. A user sets them for one job, or for all jobs of a function."""

    retries: int | None
    crashes: int | None
    backoff: Backoff | None
    base: Duration | None
    cap: Duration | None
    jitter: bool | None
    timeout: Duration | None
    keep: Duration | None
    keep_most: int | str | None


class JobOptions(RunKeywords, total=False):
    """The options of `@job`."""

    retry_on: ErrorTypes | None
    discard_on: ErrorTypes | None
    limit: int | None
    rate: str | Mapping[str, str] | None
    limit_key: str | Callable[..., Any] | None
    cpu: bool | None
    accepts: Iterable[Callable[..., Any]] | None
    on_failure: str | Callable[..., Any] | None
    periodic: str | Iterable[str] | None
    periodic_args: Mapping[str, Any] | None


class AddOptions(RunKeywords, total=False):
    """The options of `add` and `add_now`, beside the function, its arguments and the time."""

    tz: str | ZoneInfo | None
    late: Late | None
    name: str | None
    unique: bool | None
    unique_key: str | None
    unique_until: UniqueUntil | None
    on_conflict: OnConflict | None
    once_key: str | None
    once_for: Duration | None
    throttle: Duration | None
    debounce: Duration | None
    debounce_most: Duration | None
    priority: int | None
    ping: str | None
    expires: Duration | None
    done_by: Instant | None
    within: Duration | None
    meta: Mapping[str, str] | None
    tags: Sequence[str] | None
    after: After | None
    on_death: OnDeath | None
    start: Instant | None
    end: Instant | None
    count: int | None
    overlap: Overlap | None
    catch_up: CatchUp | None
    catch_up_within: Duration | None
    spread: Duration | None


class MapOptions(RunKeywords, total=False):
    """The options of `map` for each of its jobs, beside those of the batch."""

    priority: int | None
    expires: Duration | None
    within: Duration | None
    meta: Mapping[str, str] | None
    tags: Sequence[str] | None
    after: After | None


class TimeOptions(TypedDict, total=False):
    """The time of a job: exactly one of these keywords."""

    when: str | None
    at: Instant | None
    in_: Duration | None
    every: Duration | None
    cron: str | None


class Row(AddOptions, TimeOptions, total=False):
    """A row of `add_many`, or a job of a plan of `sync`: the keywords of `add`."""

    fn: Callable[..., Any] | str
    args: Sequence[Any]
    kwargs: Mapping[str, Any] | None
    call: FunctionCall


class ListenOptions(TypedDict, total=False):
    """The options of `listen`, `listener` and `drain`. For `folder`, None means: run functions of `imports` only."""

    threads: int | None
    coroutines: int | None
    imports: Iterable[str] | None
    jobs: Iterable[str] | None
    consumers: Mapping[str, str | Callable[..., Any]] | Iterable[str] | None
    folder: str | Path | None
    deadline: Duration | None
    listener_name: str | None
    strict: bool | None
    burst: bool | None
    listener_timeout: Duration | None
    health_port: int | str | None
    keep_unfit: Duration | None
    publish: bool | None
    sync: bool | str | Path | None
    plan_version: str | int | None


class ForwardOptions(TypedDict, total=False):
    """The options of `forward` and `forwarder`."""

    deadline: Duration | None
    burst: bool | None
    listener_timeout: Duration | None
    health_port: int | str | None
