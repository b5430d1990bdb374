"""A numbered request of a listener, what becomes of its answer, and the two ways in which there is none. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.redis_server.server import Call
from workkit.contract.claim import Ending


@dataclass(frozen=True, slots=True)
class Request:
    """A script of one listener, with a number of its own; `done` lets its reply have effect here."""

    call: Call
    done: Callable[[list[Any]], None]
    ends: Sequence[Ending] = ()

    @property
    def verb(self) -> str:
        """What its script is called."""
        return self.call[0].name


Answer = tuple[Request, list[Any]]


class Gone(Exception):
    """This session's registration is not there any more, or not as this session knows it."""


class Forgotten(Exception):
    """The server has forgotten steps of this session: a replica took over that had not seen them."""


def jobs_in(answer: Answer) -> int:
    """How many jobs an answer brings."""
    request, reply = answer
    return (len(reply) - 6) // 4 if request.verb == "claim" else 0


def more_is_due(heard: Sequence[Answer]) -> bool:
    """Whether a claim was answered in full, and more is due."""
    return any(request.verb == "claim" and reply[2] == 0 for request, reply in heard)
