"""The basis of every verb: the brokers of a schedule, the schedules of a server, and the author of a change."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

from workkit.brokers.layout import Keeps, chosen_layout, layout_of
from workkit.contract.admin import LONGEST_BY, Author, Limited, Remembered, Via
from workkit.contract.broker import Broker, Inspector, Producer
from workkit.contract.groups import Ending, Group, Groups, KeepsGroups, Member
from workkit.contract.inspector import LimitUse, QueueInfo
from workkit.contract.optional import ByTime, Limits, Queues
from workkit.errors import InvalidSchedule, ServerRefused, Unsupported
from workkit.jobs.option_readers import option_error
from workkit.verbs.creation import Schedule, check_schedule, create, note_use

if TYPE_CHECKING:
    from workkit.verbs.creation import Client


def producer_of(s: Schedule) -> Producer:
    """Return the broker through which this process adds and looks; the same every time. Raises InvalidSchedule."""
    found, pid = _quick.get(id(s)), os.getpid()
    if found is not None and found[1] == pid:
        return found[2]
    if type(s) is not Schedule:
        check_schedule(s)
    note_use(s)
    key: Any = id(s)
    home = None
    if s.is_late and (run := sys.modules.get(_RUN)) is not None:  # this process runs jobs
        home = run.home()
        key = id(s), id(home)
        if (found := _quick.get(key)) is not None and found[1] == pid:
            return found[2]
    if len(_quick) >= MOST_OPEN:
        _quick.clear()
    producer = _opened(_homed(s, home), pid)
    _quick[key] = (s, home), pid, producer
    return producer


MOST_OPEN = 64  # the most schedules of this process with an open connection
_RUN = "workkit.worker.run.run"
_quick: dict[Any, tuple[Any, int, Producer]] = {}
"""Brokers by the `id()` of the schedule object, found without comparing values; those of a schedule without a server
also by the one of the listener that runs the job. Each entry keeps its objects alive.
"""


def _homed(s: Schedule, home: Schedule | None) -> Schedule:
    """Return a schedule without a server of its own on the server of `home`, if both have the same layout."""
    if home is None or home.layout != s.layout:
        return s
    return replace(s, redis=home.redis, own=home.own)


@lru_cache(maxsize=MOST_OPEN)
def _opened(s: Schedule, pid: int) -> Producer:
    from workkit.brokers.connect import open_broker

    broker = open_broker(s.name, redis=s.redis, own=s.own, dialect=s.dialect, shards=s.shards, layout=s.layout)
    _declare(s, broker)
    return broker


def inspectors_of(schedules: Iterable[Schedule]) -> dict[str, Callable[[], Inspector]]:
    """Return functions that open the inspectors of these schedules, by name. They connect when they are called."""
    return {s.name: partial(_inspector, s) for s in schedules}


def _inspector(s: Schedule) -> Inspector:
    return producer_of(s).inspector


def present(s: Schedule) -> datetime:
    """Return the present by the clock of the schedule's server: its dates are compared with this clock only."""
    return datetime.fromtimestamp(producer_of(s).now_ms() / 1000, UTC)


def listening_brokers(s: Schedule, *, timeout_ms: int) -> list[Broker]:
    """Return brokers for one listener, one for each shard."""
    from workkit.brokers.connect import open_brokers
    from workkit.worker.run.run import homes

    check_schedule(s)
    note_use(s)
    _quick.clear()  # a schedule without a server may be another one in a job
    brokers = open_brokers(
        s.name,
        redis=s.redis,
        own=s.own,
        dialect=s.dialect,
        shards=s.shards,
        timeout_ms=timeout_ms,
        layout=s.layout,
    )
    if s.limit is not None or s.turn_ms is not None or s.history is not None:
        producer_of(s)  # writes the limits for all listeners
    for broker in brokers:
        with suppress(TypeError):  # the broker of a layout may be an object without weak references
            homes[broker] = s
    return list(brokers)


def forwarding_ends(s: Schedule, to: Any, *, timeout_ms: int) -> tuple[list[Broker], Producer]:
    """Return brokers for the listener of a forward, and the producer of its other side. Raises InvalidSchedule."""
    from workkit.brokers.connect import open_broker

    check_schedule(s)
    check_schedule(to, where="to")
    if Keeps.FORWARD not in layout_of(s.layout).keeps:
        trouble = f"has layout={s.layout!r}: a forward takes the jobs of a native schedule"
        remedy = "Add the jobs to a native schedule, and forward that one."
        raise InvalidSchedule.about(f'schedule "{s.name}"', trouble, remedy, where="s", given=s.name)
    if (s.name, s.redis, s.layout) == (to.name, to.redis, to.layout):
        trouble, remedy = "is forwarded to itself", "Name another one as to=."
        raise InvalidSchedule.about(f'schedule "{s.name}"', trouble, remedy, where="to", given=to.name)
    other = open_broker(to.name, redis=to.redis, own=to.own, dialect=to.dialect, shards=to.shards, layout=to.layout)
    return listening_brokers(s, timeout_ms=timeout_ms), other


def forget() -> None:
    """Forget the brokers of producers: this process uses another server now. The next use opens new ones."""
    _opened.cache_clear()
    _quick.clear()


def _declare(s: Schedule, broker: Producer) -> None:
    if s.limit is None and s.turn_ms is None and s.history is None:
        return  # an addition needs no admin
    admin = broker.admin.by(author_of(None))
    if s.limit is not None or s.turn_ms is not None:
        admin.steer(Limited(limit=s.limit, turn_ms=s.turn_ms))
    if s.history is not None:
        admin.steer(Remembered(s.history))


def schedules(*, redis: str | Client | None = None, layout: str | None = None) -> list[Schedule]:
    """List the schedules of a server, by their names: `redis` and `layout` are those of `create`.

    A schedule exists from its first job, listener, pause or plan on, as long as the server keeps any of its data, such
    as past runs. Shards are one schedule: its `shards` reach to the highest one that has a key. If the layout has
    namespaces, they are listed. This scans the names of all keys in pages, a million in about two seconds; the server
    serves others meanwhile.

    Raises ServerUnreachable; ServerRefused for a user who may not SCAN; InvalidSchedule; Unsupported for RabbitMQ,
    which does not distinguish the exchanges of schedules from others.
    """
    found, _ = schedules_at(redis, layout=layout)
    return found


def schedules_at(redis: Any, *, layout: str | None, seconds: float | None = None) -> tuple[list[Schedule], bool]:
    """List the schedules of a server as `schedules` does, and return whether these are all. The search ends after
    `seconds`.
    """
    from workkit.brokers.connect import find_schedules

    chosen = chosen_layout(layout)
    found = find_schedules(redis=redis, layout=chosen.name, seconds=seconds)
    made: list[Schedule] = []
    for name, shards in (_as_wholes(found.names) if chosen.takes("shards") else dict.fromkeys(found.names, 1)).items():
        with suppress(InvalidSchedule):  # a key of another program; no schedule can have its name
            made.append(create(name, redis=redis, layout=chosen.name, shards=shards))
    return made, found.is_whole


def _as_wholes(names: Iterable[str]) -> dict[str, int]:
    """Join the shards of schedules: return the name of each schedule, with the least number of its shards."""
    from workkit.brokers.shards import shard_in

    wholes: dict[str, int] = {}
    for name in names:
        whole, number = shard_in(name) or (name, 0)
        wholes[whole] = max(wholes.get(whole, 1), number + 1)
    return dict(sorted(wholes.items()))


def is_known(s: Schedule) -> bool | None:
    """Return whether the server knows a schedule; None where it does not answer that, or not for this user. Raises
    ServerUnreachable, InvalidSchedule.
    """
    try:
        return producer_of(s).inspector.is_known()
    except ServerRefused:
        return None


def queues_of(s: Schedule, jobs: Sequence[str] = ()) -> list[QueueInfo]:
    """List the queues of a schedule: see `Queues`. Raises Unsupported on Redis, where `counts` has all numbers."""
    trouble, remedy = "are something that only layouts on RabbitMQ have", f"Count its jobs: workkit stats {s.name}."
    return cast("Queues", _with(Keeps.QUEUES, s, f"queues of {s.name}", trouble, remedy)).queues(jobs=jobs)


def by_time_of(s: Schedule) -> ByTime:
    """Return the interface that reads jobs by their times: see `ByTime`. Raises Unsupported where the server cannot."""
    trouble = f"cannot be counted by its time in {layout_of(s.layout).server}"
    remedy = f"Count them: workkit stats {s.name}."
    return cast("ByTime", _with(Keeps.BY_TIME, s, "what is planned", trouble, remedy))


def limits_of(s: Schedule, *, like: str = "") -> list[LimitUse]:
    """List the limits that are in use: see `Limits`. Raises Unsupported."""
    layout = layout_of(s.layout)
    remedy = "Put a Redis beside it, which counts them: redis=." if Keeps.LIMITS in layout.keeps_beside else ""
    side = _with(Keeps.LIMITS, s, "limits", f"are not kept by {layout.server}", remedy)
    return cast("Limits", side).limits(like=like)


def groups_of(s: Schedule) -> Groups:
    """Return the interface that reads and steers groups: see `Groups`. Raises Unsupported."""
    return keeper_of(s).groups


def keeper_of(s: Schedule) -> KeepsGroups:
    """Return the broker of a schedule that keeps groups. Raises Unsupported."""
    check_groups(s, "a batch")
    return cast("KeepsGroups", producer_of(s))


def members_of(s: Schedule, group: Group, ending: Ending | None = None) -> Iterator[Member]:
    """Read the members of a group, page by page."""
    groups, after = groups_of(s), ""
    while True:
        page = groups.members(group, ending=ending, after=after)
        yield from page.members
        if not (after := page.next):
            return


def check_groups(s: Schedule, what: str) -> None:
    """Raises Unsupported for `what`, where a schedule keeps no groups."""
    layout = layout_of(s.layout)
    if Keeps.GROUPS not in layout.keeps:
        remedy = "Add the jobs to a native schedule, which may be forwarded."
        raise Unsupported.about(what, f"cannot be kept by {layout.server}", remedy)
    if s.shards > 1:
        trouble = f"cannot be kept with shards={s.shards}: each shard would know only its own jobs"
        raise Unsupported.about(what, trouble, "Use a schedule without shards for jobs that belong together.")


def _with(side: Keeps, s: Schedule, what: str, trouble: str, remedy: str) -> Inspector:
    """Return the inspector of a schedule that supports an optional feature. Raises Unsupported."""
    if side not in layout_of(s.layout).kept(with_redis=s.redis is not None):
        raise Unsupported.about(what, trouble, remedy)
    return producer_of(s).inspector


ENVIRONMENT = "WORKKIT_BY"

via: ContextVar[Via] = ContextVar("via", default="python")
"""The interface through which this program makes its changes. The command line sets it."""


_acting: ContextVar[Author | None] = ContextVar("acting", default=None)


@contextmanager
def acting(author: Author) -> Iterator[None]:
    """Record an author for all changes of this thread, inside the block, where the caller names none."""
    token = _acting.set(author)
    try:
        yield
    finally:
        _acting.reset(token)


def author_of(by: Any) -> Author:
    """Read the author of a change; None: the author of this thread, else WORKKIT_BY, else USER@HOST. Raises
    InvalidOptions.
    """
    if by is None and (author := _acting.get()) is not None:
        return author
    if by is None:
        return Author(by=os.environ.get(ENVIRONMENT, "").strip()[:LONGEST_BY] or _user_at_host(), via=via.get())
    if not isinstance(by, str) or not by.strip():
        raise option_error("by", by, "is not a name", 'Write a text such as by="alice".')
    if len(by) > LONGEST_BY:
        raise option_error("by", by, f"has {len(by):,} characters", f"Accepted: at most {LONGEST_BY}.")
    return Author(by=by, via=via.get())


@cache
def _user_at_host() -> str:
    import getpass  # takes a while to import
    import socket

    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container may run a user without a name
        user = f"uid {os.getuid()}" if hasattr(os, "getuid") else "?"
    return f"{user}@{socket.gethostname()}"[:LONGEST_BY]
