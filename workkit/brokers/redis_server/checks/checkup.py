"""What the checkups of all layouts on Redis share: what the server forbids is a finding too. Knows no key."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import redis

from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Finding
from workkit.errors import ServerRefused

OF_SERVER = (
    "clock",
    "no-time",
    "old-server",
    "replica",
    "no-append-file",
    "evicted",
    "eviction",
    "low-memory",
    "refused",
    "active-replication",
    "cluster-slots",
)


def tried(server: Server, what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Check something. If the server forbids it to this user, yield a finding that says so. A wrong or missing password
    raises.
    """
    try:
        yield from look()
    except ServerRefused as error:
        if isinstance(error.__cause__, redis.exceptions.AuthenticationError):
            raise
        yield unchecked(server, what, error)


def unchecked(server: Server, what: str, error: ServerRefused) -> Finding:
    """Name what could not be checked."""
    return Finding(
        kind="unchecked",
        what=f"{what} could not be checked: {str(error).removeprefix(server.url).strip(' :.')}",
        why="The doctor cannot see any fault there.",
        remedy="check again as a user who may run INFO, SCAN, scripts and all commands that read",
    )


def wrong_type(key: str, stands: str, kind: str, *, why: str) -> Finding:
    """Name a key of a wrong type: `stands` in place of `kind`."""
    return Finding(
        kind="wrong-type",
        what=f"{key} is a {stands}, not a {kind}",
        why=why,
        remedy=f"find out what wrote it, then rename it: redis-cli RENAME {key} {key}:wrong",
        about=(key,),
    )
