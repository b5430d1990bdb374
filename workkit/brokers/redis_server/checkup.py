"""The frame of a checkup, for every layout: findings are counted and limited, what the server forbids is a finding too.

Knows no key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import redis

from workkit.brokers.redis_server.server import Server
from workkit.contract.doctor import Finding
from workkit.errors import ServerRefused

MOST = 1000  # findings of one kind in one checkup
OF_SERVER = ("clock", "old-server", "replica", "no-append-file", "eviction", "low-memory", "refused")


def limited(findings: Iterable[Finding], *, schedule: str) -> Iterator[Finding]:
    """Pass on at most 1,000 findings of one kind, then one that counts the rest. All but those of the server get the
    schedule's name.
    """
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = count = counts.get(finding.kind, 0) + 1
        if count <= MOST:
            yield finding if finding.kind in OF_SERVER else replace(finding, schedule=schedule)
    for kind, count in counts.items():
        if count > MOST:
            yield Finding(
                kind=kind,
                what=f"and {count - MOST:,} more like the {MOST:,} of the kind {kind}",
                why=f"One checkup lists at most {MOST:,} of one kind.",
                remedy="repair these first, then check again",
                schedule=schedule,
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


def dead(count: int, *, schedule: str, kept: str) -> Iterator[Finding]:
    """Name the jobs of the dead set, if there are any. `kept`: how long they stay, as a sentence."""
    if count:
        yield Finding(
            kind="dead",
            what="1 job failed for good" if count == 1 else f"{count:,} jobs failed for good",
            why=f"{kept} They run again only if somebody retries them.",
            remedy=f"workkit dead {schedule}",
        )
