"""Our own delays: a ladder of queues, each with one fixed time, through which a message goes by the bits of its delay.

No message waits behind another, because all messages of a queue wait equally long. Pure. Normative:
spec/layouts/hutch.md, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from workkit.brokers.hutch.names import OWN, Names
from workkit.brokers.hutch.topology import Binding, Exchange, Queue, Topology, main

UNIT_MS: Final = 16
STEPS: Final = 34
ARRIVAL_KEY: Final = "x-dead-letter-routing-key"
"""The argument of an arrival queue that names its key."""
LONGEST_MS: Final = UNIT_MS * ((1 << STEPS) - 1)  # more than eight years

_PREFIX: Final = f"{OWN}delay"
_PRIVATE: Final = f"{OWN}queue."
_AFTER: Final = f"{OWN}after."
_SAFE: Final[Mapping[str, str | int]] = {
    "x-queue-type": "quorum", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
}  # fmt: skip
"""A classic queue does not wait until the next one has what it moves there, so a broker that is killed loses it."""


def delay_key(delay_ms: float) -> str:
    """Give the routing key for a delay of more than 0 and at most `LONGEST_MS`: its bits, the longest step first."""
    return f"{_PREFIX}.{'.'.join(f'{_units(delay_ms):0{STEPS}b}')}.end"


def is_delay_key(key: str) -> bool:
    """Whether a message with this routing key has come down the ladder."""
    return key.startswith(f"{_PREFIX}.")


def waiting_key(key: str) -> str:
    """Give the key that a message has in `CC` while it is delayed. A private key itself would lead past its arrival."""
    return f"{_AFTER}{key.removeprefix(_PRIVATE)}" if key.startswith(_PRIVATE) else key


def final_key(waiting: str) -> str:
    """Give the key of which this is the `waiting_key`."""
    return f"{_PRIVATE}{waiting.removeprefix(_AFTER)}" if waiting.startswith(_AFTER) else waiting


def first_step(delay_ms: float) -> int:
    """Tell at which step a message enters: at that of its highest bit. It needs this one and all below."""
    return _units(delay_ms).bit_length() - 1


def step_exchange(names: Names, step: int) -> str:
    """Name the exchange of a step, to which the messages that enter there are published."""
    return f"{names.own_exchange}.delay.{step}"


def ladder(names: Names, *, highest: int = STEPS - 1) -> Topology:
    """Describe the ladder up to a step: for each an exchange and a queue. A message whose bit is 1 waits there, any
    other goes to the next step at once. Step 0 leads to our own exchange, and from there to the `arrival` of its key.
    All go to a queue besides that keeps nothing: what reaches no queue stays in step 0, and 32 of these would block it.
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
    """Describe the queue through which messages with a real routing key, or a private one, leave their delay. They go
    on at once by this key alone. While it leads to no queue they stay there, and hold up no other key.
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
