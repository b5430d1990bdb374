"""Who consumes from the queues of an exchange: listeners of ours, and other programs, as the management API tells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from workkit.brokers.hutch.consumer_tag import is_looking, listener_of, read_said
from workkit.brokers.hutch.look.known import Known
from workkit.brokers.hutch.management.client import Management
from workkit.brokers.hutch.management.facts import Closed, ConsumerFact
from workkit.contract.listener import ListenerInfo, Serving

_LIBRARIES: Final = {"hutch-": "hutch", "ctag-": "event"}  # how the tags of their consumers begin
_OTHER: Final = "another program"


def listening(management: Management, known: Known, *, now_ms: int) -> list[ListenerInfo] | Closed:
    """List those who consume from the work queues and the dead queue of an exchange: each listener of ours once, and
    each connection of another program.
    """
    nodes, consumers, channels = management.nodes(), management.consumers(), management.channels()
    if isinstance(nodes, Closed):  # to a user who may not see these, the others show his own alone
        return nodes
    if isinstance(consumers, Closed):
        return consumers
    if isinstance(channels, Closed):
        return channels
    queues = {*known.keys, known.names.dead_queue}
    groups: dict[str, list[ConsumerFact]] = defaultdict(list)
    for one in consumers:
        if one.queue in queues and not is_looking(one.tag):
            groups[listener_of(one.tag) or f"{one.connection} {one.channel}"].append(one)
    held = {channel.name: channel.unacknowledged for channel in channels}
    return [_info(found, known, held, now_ms) for found in groups.values()]


def _info(found: Sequence[ConsumerFact], known: Known, held: Mapping[str, int], now_ms: int) -> ListenerInfo:
    first = min(found, key=lambda one: one.tag)
    ours = listener_of(first.tag)
    library = next((name for start, name in _LIBRARIES.items() if first.tag.startswith(start)), _OTHER)
    info = read_said(
        first.arguments if ours else {},
        listener=ours or first.tag,
        schedule=known.names.exchange,
        now_ms=now_ms,
        host=first.host,
        version="workkit" if ours else library,
    )
    served = {known.ours.get(one.queue, one.queue): Serving() for one in found}
    return replace(info, held=sum(held.get(channel, 0) for channel in {one.channel for one in found}), serves=served)
