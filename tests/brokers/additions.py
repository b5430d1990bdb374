"""New jobs with terms, and brokers that add them: for the tests of `put`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.brokers import test_native_session as session
from tests.contract.lossy import Lossy
from tests.servers import Server
from workkit.brokers.native.broker import NativeBroker
from workkit.contract.producer import Added, NewJob
from workkit.jobs.terms import Entrance, Terms
from workkit.triggers import cron
from workkit.triggers.trigger import once as at

FAR_MS = 4_000_000_000_000
DAILY = cron("* * * * 9 0 0")
opened: list[NativeBroker] = []  # closed by the fixture `closed_brokers`


def broker(server: Server, name: str) -> tuple[NativeBroker, Lossy]:
    made, losing = session.broker(server, name)
    opened.append(made)
    return made, losing


def listening(server: Server, name: str) -> tuple[NativeBroker, Lossy]:
    made, losing = broker(server, name)
    made.register(session.INFO)
    return made, losing


def once(*args: Any, terms: Terms, due_ms: int | None = FAR_MS, **entrance: Any) -> NewJob:
    """A one-shot that waits, unless `due_ms` is None."""
    return NewJob(
        fn="#'app/note",
        args=args,
        kwargs=None,
        trigger=None if due_ms is None else at(datetime.fromtimestamp(due_ms // 1000, UTC)),
        due_ms=due_ms,
        queued=due_ms is None,
        terms=terms,
        entrance=Entrance(**entrance),
    )


def daily(*args: Any, terms: Terms) -> NewJob:
    return changed(once(*args, terms=terms), trigger=DAILY)


def changed(new: NewJob, **changes: Any) -> NewJob:
    for field, value in changes.items():
        setattr(new, field, value)
    return new


def named(name: str, **terms: Any) -> Terms:
    return Terms(name=name, **terms)


def put(b: NativeBroker, new: NewJob) -> Added:
    return b.adding([new])()[0]


def ids(client: Any, name: str) -> list[str]:
    return sorted(key.decode() for key in client.hkeys(f"{name}:jobs"))


def entries(client: Any, key: str) -> dict[str, str]:
    return {field.decode(): value.decode() for field, value in client.hgetall(key).items()}


def queue(client: Any, key: str) -> dict[str, int]:
    """Item ids of a sorted set, and when they are due."""
    return {item.decode()[7:-2]: int(due) for item, due in client.zrange(key, 0, -1, withscores=True)}
