"""Repair what is safe to repair: declare what is missing, never change or delete what is there."""

from __future__ import annotations

from pika.exceptions import ChannelClosedByBroker

from workkit.brokers.hutch.doctor.survey import Survey
from workkit.brokers.hutch.topology import Topology
from workkit.brokers.hutch.wire.link import Link, Wire
from workkit.brokers.hutch.wire.refusal import NOT_FOUND, PRECONDITION
from workkit.errors import ServerRefused


def repair(made: Survey, link: Link, missing: Topology) -> bool:
    """Declare a part of a topology. False: nothing of it is missing any more, a queue that it leads to is gone, or
    an object of that name has other arguments.
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
