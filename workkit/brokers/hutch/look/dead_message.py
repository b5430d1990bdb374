"""What a message in the dead queue says: its job, its last error, the queue it came from. Pure.

Two programs put messages there: workkit, with headers of ours, and event, with none. Normative:
spec/layouts/hutch.md, sections 7 and 10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1

from workkit.brokers.hutch import body
from workkit.brokers.hutch.message import (
    ATTEMPT,
    ERROR,
    FAILED_AT,
    KEY,
    MOST_MS,
    QUEUE,
    REASON,
    Message,
    failures_elsewhere,
    instant_ms,
    text,
    whole,
)
from workkit.brokers.hutch.names import DEAD
from workkit.errors import CorruptRecord
from workkit.jobs.job import Job

_CHANGES = frozenset({"x-delivery-count"})  # headers that the broker writes each time it gives a message back
NO_KEY = "its routing key is not known: nobody can run it again"


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message of the dead queue. `number`: how many equal ones are before it in the queue."""

    message: Message
    number: int = 0

    @property
    def key(self) -> str:
        """Its real routing key, which is the job's name; empty where it is not known."""
        said = text(self.message.headers.get(KEY)) if self.is_ours else ""
        at = self.message.routing_key
        return said or (at.removeprefix(DEAD) if at.startswith(DEAD) else "")

    @property
    def is_ours(self) -> bool:
        """Whether workkit moved it here. Others copy headers, but never one of a dead message of ours."""
        return bool(text(self.message.headers.get(REASON)))

    @property
    def queue(self) -> str | None:
        """The queue it came from; None where it does not say so."""
        return (text(self.message.headers.get(QUEUE)) or None) if self.is_ours else None

    @property
    def id(self) -> str:
        """The id of the job."""
        said = text(self.message.properties.get("message_id"))
        return said or sha1(f"{self.key}\n".encode() + self.message.body, usedforsecurity=False).hexdigest()

    @property
    def mark(self) -> str:
        """What names this message in the queue: equal ones are told apart by their number."""
        return f"{fingerprint(self.message)}:{self.number}"

    @property
    def failed_ms(self) -> int | None:
        """When it failed, in epoch ms. event publishes a dead message again, so its timestamp is that time."""
        said = whole(self.message.headers.get(FAILED_AT)) if self.is_ours else None
        if said is not None and 0 <= said <= MOST_MS:
            return said
        return instant_ms(self.message.properties.get("timestamp"))

    @property
    def attempts(self) -> int:
        """How often it has run: as we counted, or as event counts."""
        said = whole(self.message.headers.get(ATTEMPT)) if self.is_ours else None
        return 1 + failures_elsewhere(self.message.headers) if said is None else max(1, said)

    def job(self, *, schedule: str) -> Job:
        """Show it as a Job. Never raises: what cannot be read is left out."""
        error = text(self.message.headers.get(ERROR)) if self.is_ours else ""
        args: tuple[object, ...] = ()
        try:
            args = (body.read(self.message.body, "event"),)  # any JSON: it is shown, not run
        except CorruptRecord as unread:
            error = error or str(unread)
        return Job(
            id=self.id,
            schedule=schedule,
            fn=self.key or "?",
            args=args,
            due=None if self.failed_ms is None else datetime.fromtimestamp(self.failed_ms / 1000, UTC),
            state="dead",
            attempt=self.attempts - 1,
            error=error or (None if self.key else NO_KEY),
            why=text(self.message.headers.get(REASON)) or None,
            queue=self.queue,
            dead_id=self.mark,
            options=self.message.options,
        )


def fingerprint(message: Message) -> str:
    """Name a message by all that it says."""
    headers = sorted((name, value) for name, value in message.headers.items() if name not in _CHANGES)
    said = (message.routing_key, sorted(message.properties.items()), headers, message.body)
    return sha1(repr(said).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def numbered(messages: Iterable[Message], seen: Counter[str]) -> list[DeadMessage]:
    """Number the messages of a queue in their order; `seen` counts those that came before."""
    found = []
    for message in messages:
        name = fingerprint(message)
        found.append(DeadMessage(message, seen[name]))
        seen[name] += 1
    return found
