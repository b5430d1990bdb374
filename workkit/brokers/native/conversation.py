"""The requests of one registration: numbered, sent, repeated under their numbers, answered; the answers wait until they
are applied.

What is sent together is outstanding until its answers were heard. If these are lost, it is sent again as it was, so it
has one effect. An answer that was heard has no effect here before `take_up`: the next request may go out first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workkit.brokers.redis_server.server import Call, PendingCalls, Server
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


class Conversation:
    """What one session has asked its server, and heard. For one thread. `send`, `hear` and `catch_up` may raise
    ServerUnreachable or ServerRefused; then what is outstanding stays so. `hear`: Gone, Forgotten too.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._outstanding: Sequence[Request] = ()
        self._asked: PendingCalls | None = None  # the outstanding requests, sent; None: they must be sent again
        self._seq = 0
        self.heard: list[Answer] = []  # answers that had no effect here yet
        self.cursors = b""  # from the last claim: how far this listener has read past jobs that it skips

    @property
    def is_asked(self) -> bool:
        """Whether requests are under way."""
        return self._asked is not None

    def next_seq(self) -> int:
        """Number a request."""
        self._seq += 1
        return self._seq

    def begin(self) -> None:
        """Count from 1 again, under a new name."""
        self._seq = 0

    def send(self, requests: Sequence[Request]) -> None:
        """Send requests in one write. Their answers must be heard before the next ones."""
        if not requests:
            return
        self._outstanding = requests
        self._asked = self._server.ask([r.call for r in requests])

    def hear(self) -> None:
        """Wait for the answers to the requests that were sent."""
        if self._asked is None:
            return
        asked, self._asked = self._asked, None
        requests, replies = self._outstanding, self._server.answers(asked)
        self._outstanding = ()
        for request, reply in zip(requests, replies, strict=True):
            if reply[0] == b"old" and request is not requests[-1] and replies[-1][0] == b"ok":
                reply = [b"ok", b"", []]  # a repeated settle, sent with a claim: both had their effect
            if reply[0] == b"step":
                self._outstanding = requests
                raise Forgotten
            if reply[0] != b"ok":
                raise Gone
            if request.verb == "claim":
                self.cursors = reply[5]  # the next claim may be sent before this answer is applied
            self.heard.append((request, reply))

    def take_up(self) -> None:
        """Apply the answers here."""
        heard, self.heard = self.heard, []
        for request, reply in heard:
            request.done(reply)

    def ask(self, requests: Sequence[Request]) -> None:
        """Send requests, wait for their answers, and apply them."""
        self.send(requests)
        self.hear()
        self.take_up()

    def catch_up(self) -> None:
        """Apply what was heard, and hear what is outstanding; send it again under its old numbers if need be."""
        self.take_up()
        if self._outstanding and self._asked is None:
            self.send(self._outstanding)
        self.hear()

    def unsaid(self) -> list[Ending]:
        """Take the endings of requests that the server has forgotten; it knows no cursors either."""
        self.cursors = b""
        return [end for request in self._outstanding for end in request.ends]

    def drop(self) -> None:
        """Forget what was asked and heard: the registration is gone."""
        self._outstanding, self._asked, self.heard, self.cursors = (), None, [], b""
