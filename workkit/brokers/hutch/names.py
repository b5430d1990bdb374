"""The names of both libraries, and our own names: exchanges, queues, routing keys. Pure.

Normative: spec/layouts/hutch.md, sections 1 and 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha1
from typing import Final, Literal

from workkit.errors import InvalidFunction, InvalidSchedule
from workkit.jobs.names import brief, has_wildcard, is_consumed, is_plain

Dialect = Literal["hutch", "event"]

MOST_BYTES: Final = 255  # bytes of a name or routing key in AMQP
MOST_EXCHANGE: Final = 100
OWN: Final = "workkit."  # the prefix of our routing keys
DEAD: Final = "dead_queue."
ARRIVAL: Final = "_workkit_arrival."

_FOREIGN_TO_NAMESPACES = re.compile(r"[^-_:.\w]", re.ASCII)
_WILD, _TAME = re.compile(r"(?<![^.])([*#])(?![^.])"), re.compile(r"(?<![^.])~([*#])(?![^.])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names around one exchange. `prefix`: the namespace of our work queues; empty: the namespace of our own
    exchange.
    """

    exchange: str
    dialect: Dialect
    prefix: str = ""

    @property
    def namespace(self) -> str:
        """The prefix of the names of our work queues."""
        return self.prefix or self.own_exchange

    @property
    def is_as_event(self) -> bool:
        """Whether our work queues have names like those of event, in a namespace that the program has chosen."""
        return self.dialect == "event" and bool(self.prefix)

    @property
    def schedule_exchange(self) -> str:
        """The exchange to which both libraries publish delayed messages."""
        return f"{self.exchange}.schedule"

    @property
    def own_exchange(self) -> str:
        """The exchange that receives our retries; no queue of another program is bound to it."""
        return f"{self.exchange}.workkit"

    @property
    def arrival_exchange(self) -> str:
        """The exchange that receives messages at the end of our delays."""
        return f"{self.own_exchange}.arrivals"

    def arrival_queue(self, key: str) -> str:
        """Return the name of the queue through which messages with this key leave their delay. A key that is too long
        is hashed.
        """
        name = f"{self.exchange}{ARRIVAL}{key}"
        digest = sha1(key.encode(), usedforsecurity=False).hexdigest()
        return name if len(name.encode()) <= MOST_BYTES else f"{self.exchange}{ARRIVAL}{digest}"

    def is_arrival_queue(self, queue: str) -> bool:
        """Return whether a queue is an arrival queue."""
        return queue.startswith(f"{self.exchange}{ARRIVAL}")

    @property
    def dead_queue(self) -> str:
        """The queue of dead messages, shared with event."""
        return f"{self.exchange}_dead_queue"

    def delay_queue(self, level: int) -> str:
        """Return the name of the queue in which both libraries delay messages by `level` seconds."""
        return f"{self.exchange}_delay_queue_{level}s"

    def level_key(self, level: int) -> str:
        """Return the routing key that leads to the delay queue of a level."""
        return f"{self.exchange}.schedule.{level}s"

    def queue(self, job: str) -> str:
        """Return the name of our work queue of a job."""
        if self.dialect == "event":
            return f"{self.namespace}.{job.lower()}"
        return hutch_queue(job, namespace=self.namespace)

    def bound_key(self, job: str) -> str:
        """Return the routing key by which its work queue is bound; event binds in lower case."""
        return job.lower() if self.dialect == "event" else job

    def private_key(self, queue: str) -> str:
        """Return the routing key that reaches this one queue of ours. It has no wildcard, even if the queue has one."""
        return f"{OWN}queue." + _WILD.sub(r"~\1", queue)

    def private_queue(self, key: str) -> str | None:
        """Return the queue with this private key; None for any other key."""
        before = self.private_key("")
        return _TAME.sub(r"\1", key.removeprefix(before)) if key.startswith(before) else None

    def dead_key(self, key: str) -> str:
        """Return the routing key of a dead message. A key that becomes too long is cut."""
        return cut(f"{DEAD}{key}")

    def check(self) -> None:
        """Refuse an exchange that cannot be declared, and a namespace that is empty once it is cleaned. Raises
        InvalidSchedule.
        """
        where = f'schedule "{brief(self.exchange)}"'
        if self.exchange.startswith("amq."):
            trouble = 'begins with "amq.", which RabbitMQ keeps for itself'
            raise InvalidSchedule.about(where, trouble, "Choose another name.", where="name", given=self.exchange)
        if len(self.exchange.encode()) > MOST_EXCHANGE:
            trouble, remedy = "is too long for an exchange", f"Accepted: up to {MOST_EXCHANGE} bytes."
            raise InvalidSchedule.about(where, trouble, remedy, where="name", given=self.exchange)
        kept = self.namespace if self.dialect == "event" else cleaned_namespace(self.namespace)
        if not kept or re.search(r"[\s\x00-\x1f\x7f]", kept):
            trouble = "holds no character that queue names may have" if not kept else "has a blank"
            remedy = 'Write a word such as "billing".'
            raise InvalidSchedule.about(
                f'namespace="{self.namespace}"', trouble, remedy, where="namespace", given=self.namespace
            )

    def check_job(self, job: str, *, consumes: bool = False) -> None:
        """Refuse a name that cannot be a routing key of both a producer and a consumer. `consumes`: a consumer of hutch
        may have a pattern as its name. Raises InvalidFunction.
        """
        reserved = next((word for word in (OWN, DEAD, f"{self.schedule_exchange}.") if job.startswith(word)), None)
        suggestion = None
        over = len(self.private_key(self.queue(job)).encode()) - MOST_BYTES
        if has_wildcard(job) and not consumes:
            trouble, remedy = "holds a wildcard: it is a pattern, and a message has one routing key", "Name this key."
        elif has_wildcard(job) and self.dialect == "event":
            trouble = "holds a wildcard, and a consumer of event has one routing key"
            remedy = "Name each key that is meant; a function may have several."
        elif not (is_consumed(job) if consumes else is_plain(job)):
            trouble, remedy = "is not a routing key", 'Give a name such as "orders.created".'
        elif reserved is not None:
            trouble, remedy = f'begins with "{reserved}", which this layout uses itself', "Choose another name."
        elif self.dialect == "event" and job != job.lower():
            suggestion = job.lower()
            trouble = "has capitals: event binds its consumers in lower case"
            remedy = f'Write "{suggestion}".'
        elif over > 0:
            trouble, remedy = "is too long for a routing key", f"Accepted: up to {len(job.encode()) - over} bytes."
        else:
            return
        where = f'fn="{brief(job)}"'
        raise InvalidFunction.about(where, trouble, remedy, where="fn", given=job, suggestion=suggestion)


def hutch_queue(name: str, *, namespace: str | None = None) -> str:
    """Name a queue as hutch does, by the name that its consumer sets (`queue_name`)."""
    return name if namespace is None else f"{cleaned_namespace(namespace)}:{name}"


def cleaned_namespace(namespace: str) -> str:
    """Write a namespace as hutch does: lower case, only with characters that are parts of words."""
    return _FOREIGN_TO_NAMESPACES.sub("", namespace.lower())


def cut(name: str) -> str:
    """Cut a text to the length of an AMQP name."""
    return name.encode()[:MOST_BYTES].decode("utf-8", "ignore")
