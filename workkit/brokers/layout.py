"""The abilities of a layout, as a value. The folder of each layout has one in its `layout.py`. Code above this folder
reads the value, and names no layout. Below: the server from a URL or a client, for the layouts that have one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from workkit.brokers.redis_server.address import SIMPLE, masked
from workkit.errors import InvalidSchedule

if TYPE_CHECKING:
    from workkit.brokers.redis_server.key_names import Found
    from workkit.brokers.redis_server.server import Server
    from workkit.contract.broker import Broker

DEFAULT_REDIS: Final = "redis://127.0.0.1:6379/"
REDIS_VARIABLES: Final = ("WORKKIT_REDIS_URL", "REDIS_URL")
AT_ONCE: Final = 500
"""The number of dead jobs that an admin takes in one call, unless its layout has another number."""
NATIVE: Final = "native"
"""The name of the layout of a schedule if none is named."""

_MODULES = {
    NATIVE: ("workkit.brokers.native.layout", "NATIVE"),
    "gocraft": ("workkit.brokers.gocraft.layout", "GOCRAFT"),
    "hutch": ("workkit.brokers.hutch.layout", "HUTCH"),
    "event": ("workkit.brokers.hutch.layout", "EVENT"),
}
"""The module and name of the value of each layout. It is imported at its first use: no program imports a layout that it
does not use.
"""

COMMON: Final = ("redis", "shards", "limit", "rate", "history", "on_failure")
"""Options of `create` that any layout may take; others belong to some layouts only."""

_UNSET: Final = {"shards": 1}
"""Values of options of `create` that count as unset."""


class Keeps(StrEnum):
    """Features of a layout beside jobs that run once. REMEMBER, PLAN, BY_TIME, LIMITS and QUEUES show which of the
    protocols of `contract/optional.py` it has.
    """

    RECUR = "jobs that recur"
    NAME = "names: a job takes the place of the one of its name"
    RESCHEDULE = "`reschedule`, `snooze`: another time for a job"
    SKIP = "`skip`: leave out the next run of a job that recurs"
    PLAN = "plans of code: `sync`"
    UNIQUE = "unique keys"
    TAGS = "tags: jobs are found and changed by them"
    ONCE = "`once_key`: a key that outlasts its job"
    LIMIT_SCHEDULE = "`limit` and `rate`, over all listeners"
    PAUSE = "`pause` of the schedule, or of a function"
    PAUSE_ONE = "`pause` of one job"
    CANCEL_DELAYED = "`cancel` of what waits for its time"
    CANCEL = "`cancel` of a job in any state"
    UNDO = "undo of a cancellation in the browser"
    INTERRUPT = "cancellation of one run, not of its job"
    RUN = "`run`: run a job once now"
    GROUPS = "groups: `batch`, `map`, `chain`, `after`"
    BATCH = "`add-many` can be resumed"
    LOOK = "`list` and `show` of jobs in every state"
    LOOK_AT_DELAYED = "`list` of what waits for its time"
    KEEP_DEAD = "`dead`, `retry`, `discard`"
    LIST_LISTENERS = "`listeners`, and what they hold"
    QUEUES = "`queues`"
    BY_TIME = "the browser counts what is to come by its time, and reads dead jobs in pages"
    LIMITS = "the browser tells which limits are in use"
    TELL = "`add` warns of a function that no listener knows"
    REMEMBER = "history: `runs`, `changes`, `stats` over time"
    KEEP_RESULT = "`keep`: results"
    CHECK = "`doctor`"
    FORWARD = "its jobs can be forwarded"


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a layout refuses an option, and the remedy. `unless`: another option; beside it, the layout
    accepts this one.
    """

    trouble: str
    remedy: str
    unless: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnOption:
    """An option of `create`, and of the command line, that belongs to some layouts only.

    `variable`: the environment variable that applies if the option is missing. `is_flag_variable`: the help shows it
    beside the flag. `default`: the value if both are missing. `meaning`, `metavar`: for the help. `tried`: other names
    that people use in settings. `is_place`: it names the server. `misplaced`: the trouble that a command reports in
    other layouts; empty if they accept it. `to_meaning`: its meaning for the other side of a forward; empty if that
    side has no such option. `forwarded`: the remedy if a forward has it for its own side.
    """

    name: str
    variable: str
    metavar: str
    meaning: str
    default: str = ""
    is_flag_variable: bool = False
    is_place: bool = False
    tried: tuple[str, ...] = ()
    misplaced: str = ""
    to_meaning: str = ""
    forwarded: str = ""


class Own(Protocol):
    """The options that only one layout takes, read and checked. A frozen value that `create` passes to `open`."""

    def masked(self) -> Own:
        """Hide the passwords."""


def _fits(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """One layout.

    `title`: describes a schedule of this layout in the help; `noun`: the same in few words. `server`: the product that
    holds it. `schemes`: those of its URLs. `has_job_names`: its jobs have names that programs in other languages share;
    `has_any_name`: any text is a name; `has_patterns`: a listener may serve a pattern of names. `own`: options that
    only some layouts take. `refuses`: options of `create` that it refuses. `keeps`: its features; `keeps_beside`:
    further features with a Redis beside its server. `patience`: after this time a checkup reports a job that waits
    nowhere, unless the caller names another time. `at_once`: the number of dead jobs that its admin takes in one call.
    `wire`: the things that `workkit wire` shows, items with their jobs, or keys; empty: nothing.

    `check` refuses, without I/O, a name or a place that cannot be used, and returns the server (a URL, a client or
    None) and the options of its own. `open` opens the broker of one schedule, or of one shard. `find` finds the names
    of the schedules of a server. `unfit` explains why a forward refuses arguments; empty if a job can have them.
    """

    name: str
    title: str
    noun: str
    server: str = "Redis"
    schemes: tuple[str, ...] = ()
    has_job_names: bool = False
    has_any_name: bool = False
    has_patterns: bool = False
    own: tuple[OwnOption, ...] = ()
    refuses: Mapping[str, Refusal] = field(default_factory=dict)
    keeps: frozenset[Keeps] = frozenset()
    keeps_beside: frozenset[Keeps] = frozenset()
    patience: str = "1 day"
    at_once: int = AT_ONCE
    wire: Literal["items", "keys", ""] = ""
    check: Callable[[str, Mapping[str, Any]], tuple[Any, Own | None]]
    open: Callable[..., Broker]
    find: Callable[[Any, float | None], Found]
    unfit: Callable[[Sequence[Any], Mapping[str, Any] | None], str] = _fits

    @property
    def place(self) -> OwnOption | None:
        """The option that names its server; None if `redis` does."""
        return next((option for option in self.own if option.is_place), None)

    @property
    def place_variables(self) -> tuple[str, ...]:
        """The environment variables that name its server."""
        return REDIS_VARIABLES if self.place is None else (self.place.variable,)

    def kept(self, *, with_redis: bool) -> frozenset[Keeps]:
        """Its features; `with_redis`: with a Redis beside its server."""
        return self.keeps | self.keeps_beside if with_redis else self.keeps

    def takes(self, option: str) -> bool:
        """Say whether `create` takes an option, at least beside another one."""
        return option not in self.refuses if option in COMMON else option in {one.name for one in self.own}

    def read(self, name: str, given: Mapping[str, Any]) -> tuple[Any, Own | None]:
        """Read the options of a schedule: the server, and the options of its own. No I/O. Raises InvalidSchedule."""
        for option, value in given.items():
            if value is not None and value != _UNSET.get(option):
                self.refuse(option, value, given)
        held = {one.name: given.get(one.name) or os.environ.get(one.variable) or one.default for one in self.own}
        return self.check(name, {**given, **held})

    def refuse(self, option: str, value: Any, given: Mapping[str, Any]) -> None:
        """Refuse an option that this layout does not take. `given`: all options. Raises InvalidSchedule."""
        refusal, shown = self.refuses.get(option), getattr(value, "__qualname__", value)
        if not self.takes(option) and refusal is None:
            others = owners(option)
            names = " or layout=".join(repr(one.name) for one in others)
            refusal = Refusal(f"only layouts on {others[0].server} have it", f"Write layout={names}.")
            shown = masked(value) if isinstance(value, str) else value
        if refusal is None or given.get(refusal.unless) is not None:
            return
        trouble = f"with layout={self.name!r}: {refusal.trouble}"
        raise InvalidSchedule.about(f"{option}={shown!r}", trouble, refusal.remedy, where=option, given=shown)


_known: dict[str, Layout] = {}


def register(layout: Layout) -> None:
    """Add a layout to those that can be chosen by name, for this process."""
    _known[layout.name] = layout
    _forget()


def withdraw(layout: Layout) -> None:
    """Undo `register`."""
    del _known[layout.name]
    _forget()


def _forget() -> None:
    layout_of.cache_clear()
    own_options.cache_clear()


def layout_names() -> tuple[str, ...]:
    """Name all layouts, the usual one first."""
    return (*_MODULES, *_known)


def layouts() -> list[Layout]:
    """Import all layouts, for a help or an error that names several."""
    return list(map(layout_of, layout_names()))


def names_of(some: Iterable[Layout]) -> str:
    """Write the names of layouts for a help."""
    return ", ".join(one.name for one in some)


def titles() -> str:
    """Explain, for a help, the meaning of a schedule in each layout."""
    found: dict[str, list[Layout]] = {}
    for one in layouts():
        found.setdefault(one.title, []).append(one)
    return "; ".join([*(f"{names_of(some)}: {title}" for title, some in found.items() if title), f"default {NATIVE}"])


@lru_cache
def layout_of(name: str) -> Layout:
    """Find a layout by its name, one of `layout_names`."""
    if name in _known:
        return _known[name]
    module, value = _MODULES[name]
    found: Layout = getattr(import_module(module), value)
    return found


@lru_cache
def own_options() -> dict[str, OwnOption]:
    """Find the options that belong to some layouts only, by their names."""
    return {option.name: option for layout in layouts() for option in layout.own}


def owners(option: str) -> list[Layout]:
    """Find the layouts to which an option belongs."""
    return [one for one in layouts() if any(option == theirs.name for theirs in one.own)]


def chosen_layout(name: str | None = None) -> Layout:
    """Find the layout of that name, or else the one that WORKKIT_LAYOUT names, or else the native one. Raises
    InvalidSchedule.
    """
    chosen = name or os.environ.get("WORKKIT_LAYOUT") or NATIVE
    if chosen not in layout_names():
        remedy = f"Accepted: {', '.join(layout_names())}."
        raise InvalidSchedule.about(f"layout={chosen!r}", "is not known", remedy, where="layout", given=chosen)
    return layout_of(chosen)


def redis_or_usual(redis: Any) -> Any:
    """Return the caller's Redis, or else the URL that applies if none is named."""
    if redis is not None:
        return redis
    return next((url for one in REDIS_VARIABLES if (url := os.environ.get(one))), DEFAULT_REDIS)


def check_redis(redis: Any, *, schedule: str | None = None) -> None:
    """Refuse a value that is neither a URL nor a client, without connecting. With `schedule`, also refuse a name that
    cannot be used in a cluster. Raises InvalidSchedule.
    """
    if isinstance(redis, str) and SIMPLE.fullmatch(redis):
        return  # without the client library, which takes longer to import than this package
    if isinstance(redis, str) and redis.startswith("embedded:"):
        from workkit.brokers.embedded.attachment import folder_of

        folder_of(redis)
        return
    from workkit.brokers.redis_server.connecting import connect, is_cluster
    from workkit.brokers.redis_server.primaries import check_tag

    connect(redis).close()
    if schedule is not None and is_cluster(redis):
        check_tag(schedule)


def server_at(redis: Any, *, schedule: str | None) -> Server:
    """Make the server of a schedule; None: of all schedules there. No I/O, except that `embedded://` starts its server.
    Raises InvalidSchedule, EmbeddedError.
    """
    from workkit.brokers.redis_server.connecting import connect

    if not (isinstance(redis, str) and redis.startswith("embedded:")):
        return connect(redis, schedule=schedule)
    from workkit.brokers.embedded.attachment import attach, folder_of

    attached = attach(folder_of(redis))
    return connect(attached.url, shown=redis, attached=attached, schedule=schedule)
