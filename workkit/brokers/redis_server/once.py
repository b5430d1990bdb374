"""Requests that have their effect once: sent, and repeated under their numbers if their answer is lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from workkit.brokers.redis_server.server import Call, Server
from workkit.clocks import time
from workkit.errors import ServerUnreachable

STALE: Final = 1.0  # seconds in which a request on a closed connection fails; after a later failure the caller decides


def asked_once(server: Server, calls: Sequence[Call]) -> Callable[[], list[Any]]:
    """Send scripts that recognise a repeated request by its number, and return a function that waits for their answers.
    If the connection turns out to be closed, it repeats them once. Raises ServerUnreachable.
    """
    asked_at = time.time()
    try:
        asked = server.ask(calls)
    except ServerUnreachable:
        if time.time() - asked_at > STALE:
            raise
        asked = None

    def answers() -> list[Any]:
        nonlocal asked
        began, (sent, asked) = time.time(), (asked, None)  # its answer arrives once; then the request is repeated
        try:
            return server.answers(sent) if sent else server.exchange(calls)
        except ServerUnreachable:
            if sent is None or time.time() - began > STALE:
                raise
            return server.exchange(calls)

    return answers
