"""A schedule as a value: its name, its server and its settings, checked. No I/O."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack, overload

from workkit.brokers.layout import NATIVE, Keeps, Own, chosen_layout, layout_of
from workkit.brokers.redis_server.address import masked
from workkit.contract.producer import MOST_BYTES
from workkit.errors import InvalidSchedule
from workkit.jobs import middleware
from workkit.jobs.admission import HISTORIES, History
from workkit.jobs.call import AddOptions, JobOptions
from workkit.jobs.marks import FOLLOWERS
from workkit.jobs.marks import job as mark
from workkit.jobs.option_readers import size_bytes
from workkit.jobs.options import BY_NAME
from workkit.jobs.planned import plan_job
from workkit.text.cells import brief_repr, one_line
from workkit.verbs.calling import JobCoroutine, JobDecorator, JobFunction, attached, bound

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    import redis as redis_client
    import valkey as valkey_client

    Client = redis_client.Redis | redis_client.RedisCluster | valkey_client.Valkey | valkey_client.ValkeyCluster

DIALECTS = ("published", "cuckoo")
LARGEST = 512_000_000  # the most bytes that a server accepts as one value

KEPT = "10 minutes"  # time to keep a result that a function names

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class CreateOptions(TypedDict, total=False):
    """The options of `create`, beside the name."""

    redis: str | Client | None
    tz: str | ZoneInfo | None
    dialect: str | None
    shards: int
    limit: int | None
    rate: str | None
    layout: str | None
    amqp: str | None
    namespace: str | None
    management: str | None
    history: History | None
    max_payload: int | str | None
    on_failure: str | Callable[..., Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A named set of jobs on one server. A value without a connection; `create` makes it. `limit`: the most jobs that
    run at once; `turn_ms`: the time between two starts; None for either: not set here. `own`: the options of its layout
    alone. If they name its server, `redis` is a Redis beside it, or None. `history`: the detail in which past runs are
    kept; None: not set here. `max_payload`: the most bytes of an added job. `on_failure`: the stored name of the
    function that runs after a failure. `is_late`: its program names no server, so in a job it has the server of the
    listener. `_given`: the keywords of `create`. `_fixed`: the options that can no longer change, each with the reason;
    "" means all of them.
    """

    name: str
    redis: str | Client | None = None
    tz: str = "UTC"
    dialect: str = "published"
    shards: int = 1
    limit: int | None = None
    turn_ms: float | None = None
    layout: str = NATIVE
    own: Own | None = field(default=None, metadata={"inline": True})
    history: History | None = None
    max_payload: int = MOST_BYTES
    on_failure: str | None = None
    is_late: bool = field(default=False, repr=False, compare=False)
    _given: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _fixed: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def amqp(self) -> str | None:
        """The option `amqp`, or None if the layout has none."""
        return getattr(self.own, "amqp", None)

    @property
    def namespace(self) -> str:
        """The option `namespace`, or None if the layout has none."""
        return getattr(self.own, "namespace", "")

    @property
    def management(self) -> str:
        """The option `management`, or None if the layout has none."""
        return getattr(self.own, "management", "")

    def __repr__(self) -> str:
        """Show the settings that differ from the defaults, and the servers without their passwords."""
        shown = self if self.own is None else replace(self, own=self.own.masked())
        if self.redis is None:
            return brief_repr(shown)
        if isinstance(self.redis, str):
            return brief_repr(replace(shown, redis=masked(self.redis)))
        from workkit.brokers.redis_server.connecting import shown_client

        return brief_repr(replace(shown, redis=shown_client(self.redis)))

    def configure(self, **options: Unpack[CreateOptions]) -> None:
        """Set options of `create` later, when the settings of a program are known. Absent options stay. No I/O.

        Raises as `create`; InvalidSchedule for a change after the first use of the schedule, and of an option that a
        decorator has read. The same options once more are accepted.
        """
        made = create(self.name, **{**self._given, **options})
        for option, reader in self._fixed.items():
            if getattr(made, option) != getattr(self, option) if option else made != self:
                trouble = f"{reader} before s.configure({', '.join(f'{name}=' for name in options)})"
                remedy = "Configure it at the start of the program, or give the options to schedule.create."
                raise InvalidSchedule.about(f'schedule "{self.name}"', trouble, remedy, where="s", given=self.name)
        for one in fields(self):
            if one.init:
                object.__setattr__(self, one.name, getattr(made, one.name))

    @overload
    def job(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> JobCoroutine[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def job(self, fn: Callable[P, R], /) -> JobFunction[P, R]: ...
    @overload
    def job(self, name: str | None = None, /, **options: Unpack[JobOptions]) -> JobDecorator: ...
    def job(self, name: Any = None, /, **options: Any) -> Any:
        """Mark a module-level function as `@job` does, and let it add itself: ``export.send(day, full=True)`` at once,
        ``export.at("7pm tomorrow", priority=3).send(day)`` at a time. An ordinary call runs it here.

        ``@s.job``, ``@s.job("send_email")``, ``@s.job(retries=5, timeout="2m")``: the name and options are those of
        `@job`. A result that the function names, as in ``-> Report``, is kept for 10 minutes; ``keep="1 day"`` keeps it
        longer, keep=None not at all. Returns the function itself, with the methods of a `JobFunction`. Raises
        InvalidFunction for a method, a class or a local function, InvalidOptions, TriggerError.
        """
        if (follower := options.get("on_failure")) is not None:
            layout_of(self.layout).refuse("on_failure", follower, options)
        if name is None or isinstance(name, str):
            return lambda fn: attached(self, fn, mark(name, **_kept(self, fn, options)))
        return attached(self, name, mark(None, **_kept(self, name, {})))

    @overload
    def bind(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> JobCoroutine[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def bind(self, fn: Callable[P, R], /) -> JobFunction[P, R]: ...
    def bind(self, fn: Any, /) -> Any:
        """Return a function with the methods that ``@s.job`` gives, and leave the function itself as it is: for one
        without a mark, or of another schedule. ``s.bind(users.activate).send("a@b.c")``. Raises InvalidFunction.
        """
        return bound(self, fn)

    @overload
    def middleware(self, fn: F, /, *, on: str = "run") -> F: ...
    @overload
    def middleware(self, fn: None = None, /, *, on: str = "run") -> Callable[[F], F]: ...
    def middleware(self, fn: Any = None, /, *, on: str = "run") -> Any:
        """Register a generator function with one `yield` around every run here, or with ``on="add"`` around every
        addition. Returns the function. See `workkit.jobs.middleware.register`. Raises InvalidFunction.
        """
        self._fixed["shards"] = "has middleware that was registered"
        return _registered(fn, on=on, schedule=self.name, shards=self.shards)

    def every(
        self,
        every: str | timedelta,
        /,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Callable[[F], F]:
        """Plan a job that recurs, as a decorator of its function: ``@s.every("weekday at 9am", name="digest")``. `sync`
        and listeners with `sync` add it (spec/plans.md).

        `options` are those of `add`. The default of `name` is the module and name of the function. The function stays
        as it is, and is marked as by `@job`. Raises an `Invalid`.
        """
        return _planned(self, {"every": every, "args": args, "kwargs": kwargs, **options})

    def at(
        self,
        at: str | datetime,
        /,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Callable[[F], F]:
        """Plan a job that runs once, at an instant with its date: ``@s.at("2027-03-01 9am")``. Otherwise as `every`."""
        return _planned(self, {"at": at, "args": args, "kwargs": kwargs, **options})

    def cron(
        self,
        cron: str,
        /,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        **options: Unpack[AddOptions],
    ) -> Callable[[F], F]:
        """Plan a job that recurs by a cron string: ``@s.cron("0 9 * * 1-5")``. Otherwise as `every`."""
        return _planned(self, {"cron": cron, "args": args, "kwargs": kwargs, **options})


def _kept(s: Schedule, fn: Any, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a function, with the time to keep its result if it names one and the layout keeps any."""
    try:
        result = getattr(fn, "__annotations__", {}).get("return")
    except Exception:  # from Python 3.14 on annotations are evaluated when they are asked for
        result = None
    names_one = result not in (None, "None", NoReturn, "NoReturn")
    if "keep" in options or not names_one or Keeps.KEEP_RESULT not in layout_of(s.layout).keeps:
        return options
    return {**options, "keep": KEPT}


def _planned(s: Schedule, given: Mapping[str, Any]) -> Callable[[F], F]:
    name = given.get("name")
    said = {key: value for key, value in given.items() if value not in (None, ()) and key != "name"}
    s._fixed.update(dict.fromkeys(("tz", "dialect"), "has a planned job that was read"))
    return lambda fn: plan_job(fn, schedule=s.name, name=name, tz=s.tz, dialect=s.dialect, given=said)


def _registered(fn: Any, *, on: str, schedule: str, shards: int) -> Any:
    """Register middleware, also in the form ``@s.middleware(on=...)``; return the function itself.

    A listener knows the shards of a schedule by their own names. Raises InvalidFunction.
    """
    if fn is None:
        return partial(_registered, on=on, schedule=schedule, shards=shards)
    return middleware.register((schedule,) if on == "add" else _served_names(schedule, shards), fn, on=on)


def create(
    name: str,
    *,
    redis: str | Client | None = None,
    tz: str | ZoneInfo | None = None,
    dialect: str | None = None,
    shards: int = 1,
    limit: int | None = None,
    rate: str | None = None,
    layout: str | None = None,
    amqp: str | None = None,
    namespace: str | None = None,
    management: str | None = None,
    history: History | None = None,
    max_payload: int | str | None = None,
    on_failure: str | Callable[..., Any] | None = None,
) -> Schedule:
    """Create a schedule as a value. No I/O.

    `redis` is a URL, or a client of redis-py or valkey-py: its connection settings are used. Else WORKKIT_REDIS_URL,
    REDIS_URL, then redis://127.0.0.1:6379/. `tz` is the zone in which words are read (else WORKKIT_TZ, then UTC).
    `dialect` "cuckoo" shares a schedule with the Clojure code that stores crons second first (else WORKKIT_DIALECT,
    then "published"). `shards` (1 to 64) spreads it over that number of slots of a cluster, each an ordinary schedule;
    every program must use the same number. `limit` (the most jobs that run at once, over all listeners) and `rate`
    ("100/minute") are kept on the server from the first verb on, for every listener; the last program to set them wins.
    `layout` "gocraft" makes it a namespace that pools of the Go library gocraft/work share (else WORKKIT_LAYOUT, then
    "native"); "hutch" and "event" make it an exchange of RabbitMQ, shared with the Ruby library hutch and the Go
    library wppurking/event. Then `amqp` is the URL of the RabbitMQ (else WORKKIT_AMQP_URL, then
    amqp://guest:guest@127.0.0.1:5672/), and `namespace` is the prefix of its queues' names (else WORKKIT_NAMESPACE,
    then NAME.workkit): listeners with the same one share their messages. An explicit `redis` is then a Redis beside the
    RabbitMQ, which keeps limits, rates, unique keys, pauses and progress. `management` is the URL of RabbitMQ's
    management API. The doctor and the verbs that look use it where it answers (else WORKKIT_AMQP_MANAGEMENT_URL, then
    the host and login of `amqp` with port 15672, with TLS 15671). `history` ("full", "counts", "off") selects the
    detail in which past runs are kept, also on the server; None leaves it as it is, at first "full" (spec/history.md).
    An addition with more than `max_payload` bytes of JSON is refused ("10 MB", at most "512 MB"; else
    WORKKIT_MAX_PAYLOAD, then "10 MB"), and one above 1 MB warns. `on_failure` is a function, or its name: when a job is
    dead, it runs as a job here, with the id and the error (spec/features.md 17). The programs of listeners create the
    schedule so. Raises InvalidSchedule, InvalidOptions, TriggerError.
    """
    if not isinstance(name, str) or not name:  # type: ignore[redundant-expr]
        remedy = 'Write a text such as "app-tasks".'
        raise InvalidSchedule.about(f"schedule {name!r}", "is not a name", remedy, where="name", given=name)
    if "://" in name:
        trouble, remedy = "is a URL, not a name", f'Write a name such as "app-tasks", and redis="{masked(name)}".'
        raise InvalidSchedule.about(f'schedule "{masked(name)}"', trouble, remedy, where="name", given=masked(name))
    if found := re.search(r"[\s\x00-\x1f\x7f]", name):
        better = re.sub(r"[\s\x00-\x1f\x7f]+", "-", name).strip("-")
        what = "a blank" if found[0].isspace() else "a control character"
        raise InvalidSchedule.about(
            f'schedule "{name}"',
            f"has {what} at column {found.start() + 1}",
            f'Names have no blanks or control characters: "{better}" would do.',
            where="name",
            given=name,
            position=found.start(),
            suggestion=better,
        )
    asked, dialect = dialect, dialect or os.environ.get("WORKKIT_DIALECT") or "published"
    if dialect not in DIALECTS:
        remedy = f"Accepted: {', '.join(DIALECTS)}."
        raise InvalidSchedule.about(f"dialect={dialect!r}", "is not known", remedy, where="dialect", given=dialect)
    chosen = chosen_layout(layout)
    if history is not None and history not in HISTORIES:
        remedy = f"Accepted: {', '.join(HISTORIES)}."
        raise InvalidSchedule.about(f"history={history!r}", "is not known", remedy, where="history", given=history)
    given: dict[str, Any] = {"redis": redis, "shards": shards, "limit": limit, "rate": rate, "history": history}
    given["on_failure"] = on_failure
    given |= {"amqp": amqp, "namespace": namespace, "management": management}
    server, own = chosen.read(name, given)
    return Schedule(
        name=name,
        redis=server,
        tz=_zone_name(tz),
        dialect=dialect,
        shards=shards,
        limit=_read_limit(limit),
        turn_ms=_read_rate(rate),
        layout=chosen.name,
        own=own,
        history=history,
        max_payload=_read_max_payload(max_payload),
        on_failure=_read_follower(name, on_failure, shards),
        is_late=redis is None and amqp is None,
        _given={**given, "tz": tz, "dialect": asked, "layout": layout, "max_payload": max_payload},
    )


def _read_max_payload(size: int | str | None) -> int:
    given = size if size is not None else os.environ.get("WORKKIT_MAX_PAYLOAD") or MOST_BYTES
    return int(size_bytes(LARGEST)(given, "max_payload"))


def _read_follower(name: str, follower: Any, shards: int) -> str | None:
    """Read `on_failure`, for the listeners of this process too: they know a schedule, or its shards, by their names."""
    if follower is None:
        return None
    found = str(BY_NAME["on_failure"].read(follower, "on_failure"))
    FOLLOWERS.update(dict.fromkeys(_served_names(name, shards), found))
    return found


def _served_names(schedule: str, shards: int) -> tuple[str, ...]:
    """Return the names by which listeners know a schedule: its own, or those of its shards."""
    if shards == 1:
        return (schedule,)
    from workkit.brokers.shards import shard_names

    return tuple(shard_names(schedule, shards))


def _read_limit(limit: int | None) -> int | None:
    return None if limit is None else int(BY_NAME["limit"].read(limit, "limit"))


def _read_rate(rate: str | None) -> float | None:
    return None if rate is None else float(BY_NAME["rate"].read(rate, "rate"))


def _zone_name(tz: Any) -> str:
    chosen = str(tz or os.environ.get("WORKKIT_TZ") or "UTC")
    if chosen != "UTC":
        from workkit.triggers.zone import zone  # its grammar takes a while to import

        zone(chosen)
    return chosen


def note_use(s: Schedule) -> None:
    """Note that a verb has used a schedule: `configure` comes too late from now on."""
    s._fixed[""] = "was used"


def check_schedule(s: Any, *, where: str = "s") -> None:
    """Refuse any value but a Schedule, such as its name. Raises InvalidSchedule."""
    if isinstance(s, Schedule):
        return
    shown = masked(one_line(s))
    if isinstance(s, str):
        trouble, remedy = "is a text, not a Schedule", f"Write s = schedule.create({shown}), and give s."
    else:
        trouble, remedy = f"is a {type(s).__name__}, not a Schedule", "Give what schedule.create returned."
    raise InvalidSchedule.about(shown, trouble, remedy, where=where, given=shown)
