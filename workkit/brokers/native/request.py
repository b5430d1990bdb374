"""A numbered request of a listener, and the two answers that end a registration or a session's view. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.redis_server.server import Call
from workkit.contract.claim import Ending


@dataclass(frozen=True, slots=True)
class Request:
    """A script call of one listener, with its own number. `done` applies the reply here."""

    call: Call
    done: Callable[[list[Any]], None]
    ends: Sequence[Ending] = ()

    @property
    def verb(self) -> str:
        """The name of its script."""
        return self.call[0].name


Answer = tuple[Request, list[Any]]


class Gone(Exception):
    """The registration of this session is gone, or differs from what the session knows."""


class Forgotten(Exception):
    """The server has forgotten steps of this session: a replica took over that did not have them."""


def jobs_in(answer: Answer) -> int:
    """Count the jobs in an answer."""
    request, reply = answer
    return (len(reply) - 6) // 4 if request.verb == "claim" else 0


def more_is_due(heard: Sequence[Answer]) -> bool:
    """Say whether a claim was answered in full, and more work is due."""
    return any(request.verb == "claim" and reply[2] == 0 for request, reply in heard)
