"""The Redis beside an exchange: its address, a call of its scripts, and readers of its listeners, running jobs, pauses
and limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgpack

from workkit.brokers.hutch.beside.keys import Keys
from workkit.brokers.hutch.message import read_body
from workkit.brokers.hutch.names import Dialect, Names
from workkit.brokers.redis_server.control import ask_slots, grouped, read_info, read_said, standing_control, whole_ms
from workkit.brokers.redis_server.pages import piped, server_ms
from workkit.brokers.redis_server.server import Server
from workkit.contract.inspector import LimitUse, worst_first
from workkit.contract.listener import ListenerInfo
from workkit.errors import CorruptRecord, ServerError, ServerUnreachable
from workkit.jobs.admission import Control
from workkit.jobs.job import Job
from workkit.jobs.terms import instant_of


@dataclass(frozen=True, slots=True)
class Beside:
    """A Redis, and the keys of one exchange there."""

    server: Server
    keys: Keys

    def call(self, verb: str, args: Sequence[Any], **of: str) -> Any:
        """Run a script. Raises ServerUnreachable, ServerRefused, which name the Redis."""
        try:
            return self.server.run(self.keys, verb, args, **of)
        except ServerUnreachable as error:
            raise self._named(error) from error

    def _named(self, error: ServerError) -> ServerUnreachable:
        """Name the Redis in the error, because the URL of this schedule is that of the RabbitMQ."""
        trouble = f"the Redis beside it, {self.server.url}: {error.trouble or error}"
        return ServerUnreachable(str(error), where=error.where, trouble=trouble, remedy=error.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A message that a listener holds: its queue, the listener, the job with its progress, and when it was taken."""

    queue: str
    listener: str
    job: Job
    began_ms: int


def running(beside: Beside, names: Names) -> list[Running]:
    """Read the messages that all listeners hold, the first taken first. Raises ServerUnreachable, ServerRefused."""
    with beside.server.translated() as client:
        listeners = client.zrange(beside.keys.listeners, 0, -1)
    found = [one for raw in listeners for one in _held(beside, names, raw.decode("utf-8", "replace"))]
    return sorted(found, key=lambda one: one.began_ms)


def listeners(beside: Beside, names: Names) -> list[ListenerInfo]:
    """List the listeners with the messages that each holds. Raises ServerUnreachable, ServerRefused."""
    now_ms, found = server_ms(beside.server), []
    with beside.server.translated() as client:
        beats = client.zrange(beside.keys.listeners, 0, -1, withscores=True)
    for raw, beat in beats:
        name = raw.decode("utf-8", "replace")
        with beside.server.translated() as client:
            packed = client.hget(beside.keys.running(name), "info")
        held = tuple(one.job for one in _held(beside, names, name))
        info = read_info(packed, listener=name, now_ms=now_ms)
        found.append(replace(info, beat_ms=max(0, now_ms - whole_ms(beat)), running=held))
    return found


def limits(beside: Beside) -> list[LimitUse]:
    """List the taken slots, by limit key. Claims that wait for a slot are at their listeners, and are not counted."""
    slots = grouped(piped(beside.server, lambda pipe: ask_slots(pipe, beside.keys.slots)))
    most = control(beside).limit
    return worst_first(
        LimitUse(key=key.decode("utf-8", "replace"), used=len(runs), limit=most if key == b"schedule" else None,
                 waiting=None)
        for key, runs in slots.items()
    )  # fmt: skip


def control(beside: Beside) -> Control:
    """Read the pauses that have not expired, and the schedule's own limits."""
    return standing_control(beside.server, beside.keys.control)


def _held(beside: Beside, names: Names, listener: str) -> Iterator[Running]:
    with beside.server.translated() as client:
        records = client.hgetall(beside.keys.running(listener))
        said = client.hgetall(beside.keys.progress(listener))
    for field, packed in records.items():
        if field.isdigit() and (one := _read(packed, names, listener)) is not None:
            yield replace(one, job=replace(one.job, progress=read_said(said.get(field))))


def _read(packed: bytes, names: Names, listener: str) -> Running | None:
    """Read a record of a message; None if another program has overwritten it."""
    try:
        record = msgpack.unpackb(packed, raw=True)
    except (ValueError, RecursionError, TypeError):
        return None
    match record:
        case [bytes(queue), bytes(id), bytes(fn), int(attempt), int(due_ms), int(began_ms), bytes() | None as shown]:
            return Running(
                queue=queue.decode("utf-8", "replace"),
                listener=listener,
                began_ms=began_ms,
                job=Job(
                    id=id.decode("utf-8", "replace"),
                    schedule=names.exchange,
                    fn=fn.decode("utf-8", "replace"),
                    args=_args(shown, names.dialect),
                    due=instant_of(due_ms),
                    state="running",
                    attempt=attempt,
                ),
            )
    return None


def is_record(packed: bytes) -> bool:
    """Return whether a record of a message can be read."""
    return _read(packed, Names(exchange="", dialect="event"), "") is not None


def _args(shown: bytes | None, dialect: Dialect) -> tuple[Any, ...]:
    try:
        return () if shown is None else (read_body(shown, dialect),)
    except CorruptRecord:
        return ()
