"""The names of everything that can be wrong around an exchange, with severity and reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workkit.brokers.hutch.topology import Topology
from workkit.contract.doctor import Finding
from workkit.contract.fault import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault. `kind` is its stable name for programs, and the key of `RULES`. `about`: the objects concerned.
    `missing`: what `workkit doctor --fix` declares.
    """

    kind: str
    what: str
    remedy: str
    about: tuple[str, ...] = ()
    missing: Topology | None = None

    @property
    def severity(self) -> Severity:
        """The severity of the fault."""
        return RULES[self.kind][0]

    @property
    def finding(self) -> Finding:
        """The fault as the doctor reports it."""
        return Finding(
            kind=self.kind,
            what=self.what,
            why=RULES[self.kind][1],
            remedy=self.remedy,
            repairs=self.missing is not None,
            subject=self.missing,
            about=self.about,
        )


RULES: Mapping[str, tuple[Severity, str]] = {
    # The broker.
    "memory-alarm": ("deviation", "The broker takes no messages until it has memory again. Nobody can add jobs."),
    "disk-alarm": ("deviation", "The broker takes no messages until it has disk space again. Nobody can add jobs."),
    "node-down": ("hazard", "Queues of this node cannot be used until it runs again."),
    "x-death": (
        "hazard",
        "hutch-schedule and event count attempts in x-death, and this release does not count further there: a message "
        "that fails there is tried again for ever. Attempts of workkit are counted elsewhere.",
    ),
    "dropped": (
        "hazard",
        "hutch and event do not ask to be told, so these messages are lost. RabbitMQ does not say which keys they had.",
    ),
    "unchecked": ("hazard", "The doctor cannot see any fault there."),
    # Objects that programs share, and ours.
    "differs": ("deviation", "A program that declares it as hutch or event does is refused, and does not start."),
    "own-differs": ("deviation", "A listener or producer of workkit that declares it ends with an error."),
    "lossy-delay": (
        "deviation",
        "A delayed message or retry of a peer that waits there is lost when its time is over.",
    ),
    "double-delay": ("deviation", "Each delayed message and each retry of a peer comes once out of each of them."),
    "no-delay": ("deviation", "The broker drops what peers delay for so long."),
    "policy": ("hazard", "The broker then drops messages of this queue, or deletes it, without a word."),
    # Bindings.
    "unbound": ("deviation", "The broker does not put messages with this routing key there."),
    "private": ("deviation", "A retry of workkit cannot return to this queue."),
    "dead-unbound": ("deviation", "What fails for good cannot reach it: event loses it, workkit tries again for ever."),
    "no-dead-queue": ("deviation", "What fails for good has no place to go."),
    "ladder": ("deviation", "A delayed message of workkit that needs a missing step is lost."),
    "undelivered": (
        "orphan",
        "RabbitMQ keeps them until a queue takes this key. They then come within 3 minutes.",
    ),
    "late-delay": (
        "hazard",
        "A message that is on its way between two queues when a node stops waits there for up to 3 minutes after the "
        "start. It is not lost. docs/guide/rabbitmq.md shows the setting of the broker that shortens this.",
    ),
    "other-key": ("hazard", "The function of this queue runs with messages of another name too."),
    "wildcard": (
        "deviation",
        "event looks for a handler by the exact key, and finds none: it copies each message to the dead queue, and "
        "keeps it unacknowledged.",
    ),
    # Messages and who consumes them.
    "down": ("deviation", "It takes and gives no messages."),
    "no-consumer": ("orphan", "They wait until a program consumes this queue."),
    "unserved": ("orphan", "No listener serves this name. A producer gets no error, and its messages wait here."),
    "unacknowledged": (
        "hazard",
        "It has no handler for them, cannot read them, or its runs are long. They take its places, and come again "
        "after each reconnect.",
    ),
    "unroutable": ("orphan", "No queue takes this routing key: a retry would lead nowhere."),
    "stray": (
        "hazard",
        "event copies a message for which it has no handler to the dead queue at once, and keeps the message "
        "unacknowledged.",
    ),
    "dead-loop": (
        "deviation",
        "event leaves CC in a dead message that was tried again. So the broker also puts it back into its work queue, "
        "where it fails again: hundreds of copies a minute.",
    ),
    "dead-full": ("hazard", "When it is full, the broker drops its oldest message for each new one."),
    "dead-old": ("hazard", "The broker drops a message whose time in the dead queue is over."),
}
