"""The state around an exchange, as one value: objects, bindings, counts, consumers, dead messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from workkit.brokers.hutch.broker_facts import (
    BindingFact,
    ChannelFact,
    Closed,
    ConsumerFact,
    ExchangeFact,
    NodeFact,
    QueueFact,
)
from workkit.brokers.hutch.codec import DeadMessage
from workkit.brokers.hutch.message import Message
from workkit.brokers.hutch.names import OWN, Names
from workkit.brokers.hutch.topology import ARRIVAL_KEY, Topology, takes
from workkit.text.cells import shell_word

TAG = "workkit-"  # the prefix of our consumers' tags


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFact:
    """A message of the dead queue, as the doctor reads it. `key`: its real routing key. `failed_ms`: when it failed, if
    known. `is_ours`: workkit moved it there. `returns`: it still has the routing key of its work queue. `was_delayed`:
    it has waited in a delay queue before.
    """

    key: str
    failed_ms: int | None = None
    is_ours: bool = False
    returns: bool = False
    was_delayed: bool = False


def read_dead(message: Message) -> DeadFact:
    """Read a message of the dead queue. Never raises. If its real routing key is unknown, its own routing key
    counts.
    """
    one = DeadMessage(message)
    return DeadFact(
        key=one.key or message.routing_key,
        failed_ms=one.failed_ms,
        is_ours=one.is_ours,
        returns="CC" in message.headers and not one.is_ours,
        was_delayed="x-death" in message.headers,
    )


@dataclass(frozen=True, kw_only=True)
class Survey:
    """One look at an exchange. `closed`: why the management API gave no answer; then bindings, consumers and all queues
    with names that do not follow from the exchange are unknown. `partly`: why the answer was incomplete. `refused`:
    objects that differ from the spec, with the broker's text, if the API does not show the difference. `unread`:
    objects that this user may not read, with the broker's text. `dead`: the first messages of the dead queue.
    """

    names: Names
    now_ms: int
    vhost: str = "/"
    version: str = ""
    exchanges: Mapping[str, ExchangeFact] = field(default_factory=dict)
    queues: Mapping[str, QueueFact] = field(default_factory=dict)
    bindings: tuple[BindingFact, ...] = ()
    consumers: tuple[ConsumerFact, ...] = ()
    channels: tuple[ChannelFact, ...] = ()
    nodes: tuple[NodeFact, ...] = ()
    dead: tuple[DeadFact, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)
    closed: Closed | None = None
    partly: Closed | None = None

    @cached_property
    def keys(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """The routing keys by which an exchange leads to a queue or an exchange, by (source, destination)."""
        found: dict[tuple[str, str], set[str]] = {}
        for one in self.bindings:
            found.setdefault((one.source, one.destination), set()).add(one.key)
        return {place: frozenset(keys) for place, keys in found.items()}

    def bound(self, source: str, destination: str) -> frozenset[str]:
        """Return the routing keys by which `source` leads to `destination`."""
        return self.keys.get((source, destination), frozenset())

    @cached_property
    def work(self) -> tuple[QueueFact, ...]:
        """The work queues: those to which the exchange leads, and ours. Sorted."""
        bound = {one.destination for one in self.bindings if one.source == self.names.exchange and not one.to_exchange}
        found = {*bound, *(queue.name for queue in self.own)} - {self.names.dead_queue}
        return self._facts(found)

    @cached_property
    def own(self) -> tuple[QueueFact, ...]:
        """The work queues of workkit, also of other namespaces. Sorted."""
        return self._facts(self._own_names)

    @cached_property
    def arrivals(self) -> Mapping[str, QueueFact]:
        """The queues through which messages leave their delay, each by its key."""
        found = (self.queues[name] for name in sorted(self.queues) if self.names.is_arrival_queue(name))
        return {str(queue.arguments.get(ARRIVAL_KEY, queue.name)): queue for queue in found}

    def is_own(self, queue: str) -> bool:
        """Return whether a queue is a work queue of workkit."""
        return queue in self._own_names

    def job_of(self, queue: str) -> str | None:
        """Return the job name of a work queue of ours; None: its namespace is unknown."""
        prefix = self.names.queue("")
        if queue.startswith(prefix):
            return queue.removeprefix(prefix) or None
        if self.names.dialect == "hutch" and ":" in queue:  # a job name has no colon
            return queue.rpartition(":")[2] or None
        return None

    def leads(self, key: str) -> bool:
        """Return whether the exchange leads a message with this routing key to a work queue, or to another exchange."""
        return any(
            one.source == self.names.exchange and one.destination != self.names.dead_queue and takes(one.key, key)
            for one in self.bindings
        )

    def arrives(self, key: str) -> bool:
        """Return whether a message leads to a queue when its delay ends, by its real routing key or a private one."""
        if key.startswith(OWN):
            return any(one.source == self.names.own_exchange and one.key == key for one in self.bindings)
        return self.leads(key)

    def delete(self, queue: str) -> str:
        """Return the command that deletes a queue."""
        vhost = "" if self.vhost == "/" else f" -p {shell_word(self.vhost)}"
        return f"rabbitmqctl{vhost} delete_queue {shell_word(queue)}"

    def missing(self, wanted: Topology) -> Topology:
        """Return the missing part of a topology."""
        return Topology(
            exchanges=tuple(one for one in wanted.exchanges if one.name not in self.exchanges),
            queues=tuple(one for one in wanted.queues if one.name not in self.queues),
            bindings=tuple(one for one in wanted.bindings if one.key not in self.bound(one.source, one.destination)),
        )

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return frozenset(name for name in self.queues if self._is_own(name))

    @cached_property
    def _consumed_by_us(self) -> frozenset[str]:
        return frozenset(one.queue for one in self.consumers if one.tag.startswith(TAG))

    def _is_own(self, queue: str) -> bool:
        """Recognise a queue of ours by its private key, or by a name that no other program would choose."""
        names = self.names
        if names.private_key(queue) in self.bound(names.own_exchange, queue):
            return True
        if not queue.startswith(names.queue("")):
            return False
        return not names.prefix or queue in self._consumed_by_us

    def _facts(self, names: Iterable[str]) -> tuple[QueueFact, ...]:
        return tuple(self.queues[name] for name in sorted(names) if name in self.queues)
