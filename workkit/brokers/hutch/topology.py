"""Declared objects of the broker, as values: exchanges, queues and bindings of both libraries, and ours. Pure.

The delays of both libraries are 21 queues, one for each level. Ours are a ladder of queues, each with one fixed time. A
message goes through the ladder by the bits of its delay: no message waits behind another, because all messages of a
queue wait equally long. Normative: spec/layouts/hutch.md, sections 1 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workkit.brokers.hutch.names import DEAD, OWN, Names

LEVELS: Final = (
    5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 2400, 3000, 3600, 7200, 10800,
)  # fmt: skip


KEPT_MS: Final = 30 * 24 * 3600 * 1000  # ms that delay queues and the dead queue keep a message
MOST_DEAD: Final = 100_000
MOST_PRIORITY: Final = 3  # each priority is a queue inside the broker: with 9 a delivery takes a third more time


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
    """A binding from an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    key: str
    to_exchange: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """Exchanges, queues and bindings, in the order of their declaration."""

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
    key. Messages with a higher priority come first, unless event may declare the same queue.
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


UNIT_MS: Final = 16
STEPS: Final = 34
ARRIVAL_KEY: Final = "x-dead-letter-routing-key"
"""The argument of an arrival queue that names its key."""
LONGEST_MS: Final = UNIT_MS * ((1 << STEPS) - 1)  # ms; more than eight years

_PREFIX: Final = f"{OWN}delay"
_PRIVATE: Final = f"{OWN}queue."
_AFTER: Final = f"{OWN}after."
_SAFE: Final[Mapping[str, str | int]] = {
    "x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
}  # fmt: skip
"""The arguments of a safe delay queue. A classic queue does not wait until the next queue has a moved message, so a
killed broker loses it.
"""


def delay_key(delay_ms: float) -> str:
    """Return the routing key for a delay of more than 0 and at most `LONGEST_MS`: its bits, the longest step first."""
    return f"{_PREFIX}.{'.'.join(f'{_units(delay_ms):0{STEPS}b}')}.end"


def is_delay_key(key: str) -> bool:
    """Return whether a message with this routing key has come down the ladder."""
    return key.startswith(f"{_PREFIX}.")


def waiting_key(key: str) -> str:
    """Return the key that a message has in `CC` while it is delayed. A private key itself would lead past its
    arrival.
    """
    return f"{_AFTER}{key.removeprefix(_PRIVATE)}" if key.startswith(_PRIVATE) else key


def final_key(waiting: str) -> str:
    """Return the key with this `waiting_key`."""
    return f"{_PRIVATE}{waiting.removeprefix(_AFTER)}" if waiting.startswith(_AFTER) else waiting


def first_step(delay_ms: float) -> int:
    """Return the step at which a message enters: that of its highest bit. The message needs this step and all below."""
    return _units(delay_ms).bit_length() - 1


def step_exchange(names: Names, step: int) -> str:
    """Return the name of a step's exchange, which receives the messages that enter there."""
    return f"{names.own_exchange}.delay.{step}"


def ladder(names: Names, *, highest: int = STEPS - 1) -> Topology:
    """Describe the ladder up to a step: for each step an exchange and a queue. A message with a 1 as its bit waits
    there, any other goes to the next step at once. Step 0 leads to our own exchange, and from there to the `arrival` of
    its key. All steps also lead to a queue that keeps nothing: a message without a queue stays in step 0, and 32 of
    these would block it.
    """
    topology = Topology(exchanges=(Exchange(names.own_exchange), Exchange(names.arrival_exchange)))
    for step in range(highest + 1):
        here = step_exchange(names, step)
        then = step_exchange(names, step - 1) if step else names.own_exchange
        queue = Queue(
            f"{names.exchange}_workkit_delay_{step}",
            {**_SAFE, "x-message-ttl": UNIT_MS << step, "x-dead-letter-exchange": then},
        )
        above = ".*" * (STEPS - 1 - step)
        topology += Topology(
            exchanges=(Exchange(here),),
            queues=(queue,),
            bindings=(
                Binding(here, queue.name, f"{_PREFIX}{above}.1.#"),
                Binding(here, then, f"{_PREFIX}{above}.0.#", to_exchange=True),
            ),
        )
    leaves = Binding(names.own_exchange, names.arrival_exchange, f"{_PREFIX}{'.*' * STEPS}.end", to_exchange=True)
    end = Queue(f"{names.exchange}_workkit_delay_end", {"x-max-length": 0})
    ends = Binding(names.own_exchange, end.name, f"{_PREFIX}.#")
    return topology + Topology(queues=(end,), bindings=(leaves, ends))


def arrival(names: Names, key: str) -> Topology:
    """Describe the queue through which messages with a real routing key, or a private one, leave their delay. They
    leave at once by this key alone. While the key leads to no queue they stay there, and hold up no other key.
    """
    to = names.own_exchange if key.startswith(OWN) else names.exchange
    arguments = {**_SAFE, "x-message-ttl": 0, "x-dead-letter-exchange": to, ARRIVAL_KEY: key}
    queue = Queue(names.arrival_queue(key), arguments)
    return main(names) + Topology(
        exchanges=(Exchange(names.own_exchange), Exchange(names.arrival_exchange)),
        queues=(queue,),
        bindings=(Binding(names.arrival_exchange, queue.name, waiting_key(key)),),
    )


def _units(delay_ms: float) -> int:
    return max(1, int(-(-delay_ms // UNIT_MS)))


def takes(pattern: str, key: str) -> bool:
    """Return whether a binding matches a routing key: ``*`` matches one word, ``#`` any number of words."""
    return _takes(_words(pattern), _words(key))


def _words(key: str) -> list[str]:
    return key.split(".") if key else []  # as in RabbitMQ: an empty key has no word


def _takes(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Match the words one by one, and keep all places that the pattern may have reached."""
    places = _open(pattern, {0})
    for word in words:
        found = {place if pattern[place] == "#" else place + 1
                 for place in places if place < len(pattern) and pattern[place] in ("#", "*", word)}  # fmt: skip
        places = _open(pattern, found)
    return len(pattern) in places


def _open(pattern: Sequence[str], places: set[int]) -> set[int]:
    """Add the places behind each ``#``, which may match no word."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] == "#":
            place += 1
            found.add(place)
    return found
