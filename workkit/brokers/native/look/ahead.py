"""Count what waits by its time: a question for each queue and span, all in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from workkit.brokers.native.keys import Keys
from workkit.brokers.redis_server.server import Server


def read_ahead(server: Server, keys: Keys, edges: Sequence[int]) -> list[int]:
    """Count what waits in `S:next` and `S:again` between each two edges: see `Inspector.ahead`."""
    queues = (keys.next, keys.again)
    with server.translated() as client:
        pipe = client.pipeline(transaction=False)
        for since, until in pairwise(edges):
            for key in queues:
                pipe.zcount(key, since, f"({until}")
        found = pipe.execute()
    return [sum(found[at : at + len(queues)]) for at in range(0, len(found), len(queues))]
