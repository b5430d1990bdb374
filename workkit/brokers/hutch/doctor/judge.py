"""The one judge of an exchange and its broker: what was seen in, faults out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from workkit.brokers.hutch.doctor.bindings import judge_bindings
from workkit.brokers.hutch.doctor.dead import judge_dead
from workkit.brokers.hutch.doctor.fault import Fault
from workkit.brokers.hutch.doctor.objects import judge_ladder, judge_objects
from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.doctor.traffic import judge_traffic
from workkit.contract.fault import SEVERITIES

MOMENTARY = frozenset(
    {
        "unbound",
        "private",
        "dead-unbound",
        "no-dead-queue",
        "ladder",
        "no-delay",
        "no-consumer",
        "unserved",
        "down",
        "undelivered",
        "late-delay",
    }
)
"""What may be so between two steps of a program that starts or stops."""


def judge(made: Survey, *, patience_ms: int) -> list[Fault]:
    """Judge all that was seen of the exchange, the worst first."""
    found = [
        *judge_objects(made),
        *judge_bindings(made),
        *judge_ladder(made),
        *judge_traffic(made, patience_ms=patience_ms),
        *judge_dead(made),
    ]
    return sorted(found, key=lambda fault: SEVERITIES.index(fault.severity))


def lasting(first: Iterable[Fault], then: Iterable[Fault]) -> Iterator[Fault]:
    """Keep the faults of the second look; what may be a moment only if the first one saw it too."""
    seen = {(fault.kind, fault.about) for fault in first}
    return (fault for fault in then if fault.kind not in MOMENTARY or (fault.kind, fault.about) in seen)


def judge_broker(made: Survey) -> Iterator[Fault]:
    """Judge the broker itself."""
    for node in made.nodes:
        if not node.is_running:
            yield Fault(
                kind="node-down", what=f"node {node.name} does not run", remedy="start it again", about=(node.name,)
            )
        if node.memory_alarm:
            yield Fault(
                kind="memory-alarm",
                what=f"node {node.name} has the memory alarm",
                remedy="see what holds messages (rabbitmqctl list_queues name messages memory), and consume them",
                about=(node.name,),
            )
        if node.disk_alarm:
            yield Fault(
                kind="disk-alarm",
                what=f"node {node.name} has the disk alarm",
                remedy="free disk space there, or lower disk_free_limit",
                about=(node.name,),
            )
    if _forgets(made.version):
        yield Fault(
            kind="x-death",
            what=f"RabbitMQ {made.version} does not count further in an x-death that a client has published",
            remedy="let workkit consume what may fail again and again, or run RabbitMQ 3.12, or 3.13 from 3.13.3 on",
            about=(made.version,),
        )
    yield from _dropped(made)
    yield from _unchecked(made)


def _forgets(version: str) -> bool:
    """RabbitMQ 3.13.0 to 3.13.2, and 4: rabbitmq/rabbitmq-server#10709 and #11331."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if found is None:
        return False
    release = int(found[1]), int(found[2]), int(found[3])
    return (3, 13, 0) <= release <= (3, 13, 2) or release >= (4, 0, 0)


def _dropped(made: Survey) -> Iterator[Fault]:
    """Name programs whose messages led to no queue, if they may be of this exchange."""
    shared = (made.names.exchange, made.names.schedule_exchange)
    if not any(made.exchanges[name].published for name in shared if name in made.exchanges):
        return
    for channel in made.channels:
        if channel.dropped:
            count = "1 message" if channel.dropped == 1 else f"{channel.dropped:,} messages"
            yield Fault(
                kind="dropped",
                what=f'channel {channel.name} of user "{channel.user}" has published {count} that led to no queue',
                remedy="look at what it publishes, and start what consumes these keys. To keep such messages, set an "
                "alternate-exchange by a policy",
                about=(channel.name,),
            )


def _unchecked(made: Survey) -> Iterator[Fault]:
    if made.closed is not None:
        yield Fault(
            kind="unchecked",
            what="bindings, consumers, work queues and alarms could not be checked: the management API at "
            f"{made.closed.where} {made.closed.trouble}",
            remedy=made.closed.remedy,
            about=(made.closed.why,),
        )
    elif made.partly is not None:
        yield Fault(
            kind="unchecked",
            what="alarms and the consumers of other users could not be checked: the management API at "
            f"{made.partly.where} {made.partly.trouble}",
            remedy=made.partly.remedy,
            about=(made.partly.why,),
        )
    for what, said in made.unread.items():
        yield Fault(
            kind="unchecked",
            what=f"{what} could not be checked: {said}",
            remedy="check again as a user with the permissions configure and read",
            about=(what,),
        )
