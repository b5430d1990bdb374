"""What is declared on the broker, as values: exchanges, queues and bindings of both libraries, and ours. Pure.

Normative: spec/layouts/hutch.md, sections 1 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workkit.brokers.hutch.levels import LEVELS
from workkit.brokers.hutch.names import DEAD, Names

KEPT_MS: Final = 30 * 24 * 3600 * 1000  # how long delay queues and the dead queue keep a message
MOST_DEAD: Final = 100_000
MOST_PRIORITY: Final = 3  # each step is a queue inside the broker: with 9 it takes a third more time to deliver


@dataclass(frozen=True, slots=True)
class Exchange:
    """A durable topic exchange without arguments. `shared`: other programs declare it too, so it may differ."""

    name: str
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Queue:
    """A durable queue with its arguments. `shared` as in `Exchange`."""

    name: str
    arguments: Mapping[str, str | int] = field(default_factory=dict)
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Binding:
    """From an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    key: str
    to_exchange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Exchanges, queues and bindings, in the order in which they are declared."""

    exchanges: tuple[Exchange, ...] = ()
    queues: tuple[Queue, ...] = ()
    bindings: tuple[Binding, ...] = ()

    def __add__(self, other: Topology) -> Topology:
        return Topology(
            exchanges=(*self.exchanges, *(one for one in other.exchanges if one not in self.exchanges)),
            queues=(*self.queues, *other.queues),
            bindings=(*self.bindings, *other.bindings),
        )


def main(names: Names) -> Topology:
    """Describe the one exchange that all programs share."""
    return Topology(exchanges=(Exchange(names.exchange, shared=True),))


def work(names: Names, jobs: Sequence[str]) -> Topology:
    """Describe our work queues: each is bound to the shared exchange by the key of its job, and to ours by its private
    key. Of its messages those with a higher priority come first, unless event may declare the same queue.
    """
    found = main(names) + Topology(exchanges=(Exchange(names.own_exchange),))
    made = _as_event if names.is_as_event else _with_priorities
    for job in jobs:
        queue = names.queue(job)
        found += Topology(
            queues=(made(queue),),
            bindings=(
                Binding(names.exchange, queue, names.bound_key(job)),
                Binding(names.own_exchange, queue, names.private_key(queue)),
            ),
        )
    return found


def _with_priorities(queue: str) -> Queue:
    return Queue(queue, {"x-max-priority": MOST_PRIORITY})


def _as_event(queue: str) -> Queue:
    return Queue(queue, shared=True)


def dead(names: Names) -> Topology:
    """Describe the dead queue, as event declares it."""
    arguments = {"x-message-ttl": KEPT_MS, "x-max-length": MOST_DEAD}
    return main(names) + Topology(
        queues=(Queue(names.dead_queue, arguments, shared=True),),
        bindings=(Binding(names.exchange, names.dead_queue, f"{DEAD}#"),),
    )


def delays(names: Names) -> Topology:
    """Describe the delay queues, as event and hutch-schedule declare them."""
    found = main(names) + Topology(exchanges=(Exchange(names.schedule_exchange, shared=True),))
    arguments: dict[str, str | int] = {"x-message-ttl": KEPT_MS, "x-dead-letter-exchange": names.exchange}
    for level in LEVELS:
        found += Topology(
            queues=(Queue(names.delay_queue(level), arguments, shared=True),),
            bindings=(Binding(names.schedule_exchange, names.delay_queue(level), names.level_key(level)),),
        )
    return found
