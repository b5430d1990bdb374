"""The brokers that reach a schedule: one for its producers, and those of a listener or a forward."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any

from workkit.brokers.layout import Keeps, layout_of
from workkit.contract.admin import Limited, Remembered
from workkit.contract.broker import Broker, Inspector, Producer
from workkit.errors import InvalidSchedule
from workkit.verbs.author import author_of
from workkit.verbs.creation import Schedule, check_schedule


def producer_of(s: Schedule) -> Producer:
    """The broker through which this process adds and looks; the same every time. Raises InvalidSchedule."""
    found, pid = _quick.get(id(s)), os.getpid()
    if found is not None and found[1] == pid:
        return found[2]
    if type(s) is not Schedule:
        check_schedule(s)
    if len(_quick) >= MOST_OPEN:
        _quick.clear()
    producer = _opened(s, pid)
    _quick[id(s)] = s, pid, producer
    return producer


MOST_OPEN = 64  # schedules of this process whose connections are kept
_quick: dict[int, tuple[Schedule, int, Producer]] = {}
"""The same for one object, without a comparison of values: by its id, which no other has while the object is here."""


@lru_cache(maxsize=MOST_OPEN)
def _opened(s: Schedule, pid: int) -> Producer:
    from workkit.brokers.connect import open_broker

    broker = open_broker(s.name, redis=s.redis, own=s.own, dialect=s.dialect, shards=s.shards, layout=s.layout)
    _declare(s, broker)
    return broker


def inspectors_of(schedules: Iterable[Schedule]) -> dict[str, Callable[[], Inspector]]:
    """The sides that look at some schedules, by name. They connect when they are called."""
    return {s.name: partial(_inspector, s) for s in schedules}


def _inspector(s: Schedule) -> Inspector:
    return producer_of(s).inspector


def present(s: Schedule) -> datetime:
    """Now, by the clock of the schedule's server: what it dates is early, late or old by that clock alone."""
    return datetime.fromtimestamp(producer_of(s).now_ms() / 1000, UTC)


def listening_brokers(s: Schedule, *, timeout_ms: int) -> list[Broker]:
    """Brokers for one listener, one for each shard."""
    from workkit.brokers.connect import open_brokers

    check_schedule(s)
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
        producer_of(s)  # says so to all listeners
    return list(brokers)


def forwarding_ends(s: Schedule, to: Any, *, timeout_ms: int) -> tuple[list[Broker], Producer]:
    """Brokers for the listener of a forward, and the producer of its other side. Raises InvalidSchedule."""
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
    """Open the brokers of producers anew, as the server of this process is another one now."""
    _opened.cache_clear()
    _quick.clear()


def _declare(s: Schedule, broker: Producer) -> None:
    admin = broker.admin.by(author_of(None))
    if s.limit is not None or s.turn_ms is not None:
        admin.steer(Limited(limit=s.limit, turn_ms=s.turn_ms))
    if s.history is not None:
        admin.steer(Remembered(s.history))
