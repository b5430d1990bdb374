"""The doctor of an exchange, its broker and its consumers: the list of its checks, in order.

`walk.py` reads the state, `survey.py` holds it, `objects.py` and `traffic.py` judge it; for the Redis beside:
`beside/doctor.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.doctor import UNCHECKED, dead, kinds_of, limited, tally
from workkit.brokers.hutch.beside.doctor import BesideDoctor
from workkit.brokers.hutch.doctor import objects, traffic
from workkit.brokers.hutch.doctor.objects import judge_bindings, judge_ladder, judge_objects
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.doctor.traffic import judge_dead, judge_traffic, since
from workkit.brokers.hutch.doctor.walk import walk
from workkit.brokers.hutch.management_api import Management
from workkit.brokers.hutch.names import Names
from workkit.brokers.hutch.topology import Topology
from workkit.brokers.hutch.wire.channel import NOT_FOUND, PRECONDITION
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.clocks import time
from workkit.contract.doctor import SEVERITIES, Finding, Kind
from workkit.errors import ServerRefused

PAUSE_MS: Final = 2000  # ms between two looks


@dataclass(frozen=True, slots=True, kw_only=True)
class HutchDoctor:
    """Checks one exchange, by the management API if that answers, and by AMQP; and the Redis beside it."""

    link: Link
    management: Management
    names: Names
    beside: BesideDoctor | None = None

    def checkup(self, *, patience_ms: int) -> Iterator[Finding]:
        """Yield the faults: see `Doctor.checkup`. Yields at most 1,000 findings of one kind, and then one that counts
        the rest.

        A fault that may be momentary while a program starts is checked twice, `patience_ms` apart, but at most 2 s. A
        consumer that holds messages is a finding once it has been idle for `patience_ms`.
        """
        yield from limited(self._looked(patience_ms), schedule=self.names.exchange)

    def repair(self, finding: Finding) -> bool:
        """Repair one fault: see `Doctor.repair`."""
        if not finding.repairs:
            return False
        if isinstance(finding.subject, Topology):
            return repair(self._walk(reads_dead=False), self.link, finding.subject)
        return self.beside is not None and self.beside.repair(finding.subject)

    def _looked(self, patience_ms: int) -> Iterator[Finding]:
        made = self._walk()
        yield from judge_broker(made)
        found = judge(made, patience_ms=patience_ms)
        if any(finding.kind in MOMENTARY for finding in found):
            time.sleep(min(patience_ms, PAUSE_MS) / 1000)
            made = self._walk()
            found = list(lasting(found, judge(made, patience_ms=patience_ms)))
        yield from found
        if self.beside is not None:
            yield from self.beside.findings()
        there = made.queues.get(self.names.dead_queue)
        count = max(len(made.dead), there.ready if there else 0)
        kept = "The dead queue keeps them for 30 days, and the latest 100,000 of them."
        yield from dead(count, schedule=self.names.exchange, kept=kept, since=since(made))

    def _walk(self, *, reads_dead: bool = True) -> Survey:
        return walk(self.names, link=self.link, management=self.management, reads_dead=reads_dead)


# Everything that the walker read.


def judge(made: Survey, *, patience_ms: int) -> list[Finding]:
    """Judge the whole survey of the exchange, the worst finding first."""
    found = [
        *judge_objects(made),
        *judge_bindings(made),
        *judge_ladder(made),
        *judge_traffic(made, patience_ms=patience_ms),
        *judge_dead(made),
    ]
    return sorted(found, key=lambda finding: SEVERITIES.index(finding.severity))


def lasting(first: Iterable[Finding], then: Iterable[Finding]) -> Iterator[Finding]:
    """Keep the findings of the second look; a momentary kind only if the first look found it too."""
    seen = {(finding.kind, finding.about) for finding in first}
    return (finding for finding in then if finding.kind not in MOMENTARY or (finding.kind, finding.about) in seen)


# The broker itself.

MEMORY_ALARM = Kind(
    "memory-alarm", "deviation", "A node of the broker is short of memory.",
    "The broker takes no messages until it has memory again. Nobody can add jobs.", of_server=True,
)  # fmt: skip
DISK_ALARM = Kind(
    "disk-alarm", "deviation", "A node of the broker is short of disk space.",
    "The broker takes no messages until it has disk space again. Nobody can add jobs.", of_server=True,
)  # fmt: skip
NODE_DOWN = Kind(
    "node-down", "hazard", "A node of the broker does not run.",
    "Queues of this node cannot be used until it runs again.", of_server=True,
)  # fmt: skip
X_DEATH = Kind(
    "x-death", "hazard", "RabbitMQ 3.13.0 to 3.13.2, or 4: peers never reach their last attempt.",
    "hutch-schedule and event count attempts in x-death, and this release does not count further there: a message "
    "that fails there is tried again for ever. Attempts of workkit are counted elsewhere.", of_server=True,
)  # fmt: skip
DROPPED = Kind(
    "dropped", "hazard", "An open channel has published messages that led to no queue.",
    "hutch and event do not ask for them back, so these messages are lost. RabbitMQ does not say which keys they had.",
    of_server=True,
)  # fmt: skip


def judge_broker(made: Survey) -> Iterator[Finding]:
    """Judge the broker itself."""
    for node in made.nodes:
        if not node.is_running:
            yield NODE_DOWN.found(f"node {node.name} does not run", "start it again", about=(node.name,))
        if node.memory_alarm:
            yield MEMORY_ALARM.found(
                f"node {node.name} has the memory alarm",
                "see what holds messages (rabbitmqctl list_queues name messages memory), and consume them",
                about=(node.name,),
            )
        if node.disk_alarm:
            yield DISK_ALARM.found(
                f"node {node.name} has the disk alarm",
                "free disk space there, or lower disk_free_limit",
                about=(node.name,),
            )
    if _forgets(made.version):
        yield X_DEATH.found(
            f"RabbitMQ {made.version} does not count further in an x-death that a client has published",
            "let workkit consume what may fail again and again, or run RabbitMQ 3.12, or 3.13 from 3.13.3 on",
            about=(made.version,),
        )
    yield from _dropped(made)
    yield from _unchecked(made)


def _forgets(version: str) -> bool:
    """Return whether this release loses messages: RabbitMQ 3.13.0 to 3.13.2, and 4; rabbitmq/rabbitmq-server#10709 and
    #11331.
    """
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        return False
    release = int(found[1]), int(found[2]), int(found[3])
    return (3, 13, 0) <= release <= (3, 13, 2) or release >= (4, 0, 0)


def _dropped(made: Survey) -> Iterator[Finding]:
    """Yield programs with messages that led to no queue, if they may use this exchange."""
    shared = (made.names.exchange, made.names.schedule_exchange)
    if not any(made.exchanges[name].published for name in shared if name in made.exchanges):
        return
    for channel in made.channels:
        if channel.dropped:
            count = tally(channel.dropped, "message")
            yield DROPPED.found(
                f'channel {channel.name} of user "{channel.user}" has published {count} that led to no queue',
                "look at what it publishes, and start what consumes these keys. To keep such messages, set an "
                "alternate-exchange by a policy",
                about=(channel.name,),
            )


def _unchecked(made: Survey) -> Iterator[Finding]:
    if made.closed is not None:
        yield UNCHECKED.found(
            "bindings, consumers, work queues and alarms could not be checked: the management API at "
            f"{made.closed.where} {made.closed.trouble}",
            made.closed.remedy,
            about=(made.closed.why,),
        )
    elif made.partly is not None:
        yield UNCHECKED.found(
            "alarms and the consumers of other users could not be checked: the management API at "
            f"{made.partly.where} {made.partly.trouble}",
            made.partly.remedy,
            about=(made.partly.why,),
        )
    for what, said in made.unread.items():
        yield UNCHECKED.found(
            f"{what} could not be checked: {said}",
            "check again as a user with the permissions configure and read",
            about=(what,),
        )


# Repairs: they declare missing objects, and never change or delete existing ones.


def repair(made: Survey, link: Link, missing: Topology) -> bool:
    """Declare a part of a topology. Returns False if nothing of it is missing any more, a queue that it leads to is
    gone, or an object of that name has other arguments.
    """
    gaps = made.missing(missing)
    if not (gaps.exchanges or gaps.queues or gaps.bindings):
        return False

    async def declared(wire: Wire) -> None:
        wire.known.clear()
        await wire.declare(missing)

    try:
        link.run(declared)
    except ServerRefused as error:
        cause = error.__cause__
        if isinstance(cause, ChannelClosedByBroker) and cause.reply_code in (NOT_FOUND, PRECONDITION):
            return False
        raise
    return True


KINDS: Final = kinds_of(sys.modules[__name__], objects, traffic)
"""Every kind of finding about an exchange."""

MOMENTARY: Final = frozenset(kind.name for kind in KINDS if kind.is_momentary)
"""The kinds that may occur between two steps of a program that starts or stops."""
