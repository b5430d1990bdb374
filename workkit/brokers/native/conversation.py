"""The requests of one registration: numbered, sent, repeated under their numbers, and answered. Answers wait until they
are applied.

Requests that are sent together are outstanding until their answers have arrived. If the answers are lost, the same
requests are sent again, so each has one effect. An answer has no effect here before `take_up`, so the next request may
be sent first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workkit.brokers.redis_server.server import Call, PendingCalls, Server
from workkit.contract.listener import Ending


class Request:
    """A script call of one listener, with its own number. `done` applies the reply here. `ends`: the endings that it
    settles.
    """

    __slots__ = ("call", "done", "ends")

    def __init__(self, call: Call, done: Callable[[list[Any]], None], ends: Sequence[Ending] = ()) -> None:
        self.call, self.done, self.ends = call, done, ends


class Gone(Exception):
    """The registration of this session is gone, or differs from what the session knows."""


class Forgotten(Exception):
    """The server has forgotten steps of this session: a replica took over that did not have them."""


class Conversation:
    """The requests of one session and their answers. For one thread. Each method that sends or waits may raise
    ServerUnreachable or ServerRefused; the outstanding requests then stay outstanding. Waiting may also raise Gone and
    Forgotten.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._outstanding: Sequence[Request] = ()
        self.heard: list[tuple[Request, list[Any]]] = []  # answers that are not applied yet
        self.asked: PendingCalls | None = None  # the outstanding requests that were sent; None: they must be sent again
        self.seq = 0  # the number of the last request under this name
        self.jobs = 0  # jobs in the answers that are not applied yet
        self.is_more_due = False  # whether one of these answers a claim in full, and more work is due
        self.cursors = b""  # from the last claim: how far this listener has read past jobs that it skips

    def send(self, requests: Sequence[Request]) -> None:
        """Send requests in one write. Wait for their answers before you send the next ones."""
        if not requests:
            return
        self._outstanding = requests
        self.asked = self._server.ask([r.call for r in requests])

    def hear(self) -> None:
        """Wait for the answers to the requests that were sent."""
        asked, self.asked = self.asked, None
        if asked is None:
            return
        requests, replies = self._outstanding, self._server.answers(asked)
        self._outstanding = ()
        for request, reply in zip(requests, replies, strict=True):
            if reply[0] == b"old" and request is not requests[-1] and replies[-1][0] == b"ok":
                reply = [b"ok", b"", [], []]  # a repeated settle, sent with a claim: both had their effect
            if reply[0] == b"step":
                self._outstanding = requests
                raise Forgotten
            if reply[0] != b"ok":
                raise Gone
            if request.call[0].name == "claim":
                self.cursors = reply[5]  # the next claim may be sent before this answer is applied
                self.jobs += len(reply[6])
                self.is_more_due = self.is_more_due or reply[2] == 0
            self.heard.append((request, reply))

    def take_up(self) -> None:
        """Apply the answers here."""
        heard, self.heard = self.heard, []
        self.jobs, self.is_more_due = 0, False
        for request, reply in heard:
            request.done(reply)

    def ask(self, requests: Sequence[Request]) -> None:
        """Send requests, wait for their answers, and apply them."""
        self.send(requests)
        self.hear()
        self.take_up()

    def catch_up(self) -> None:
        """Apply the answers that have arrived, and wait for outstanding ones. Send requests again, under their old
        numbers, if no answer is on its way.
        """
        if self.heard:
            self.take_up()
        if self._outstanding:
            if self.asked is None:
                self.send(self._outstanding)
            self.hear()

    def unsaid(self) -> list[Ending]:
        """Return the endings of requests that the server has forgotten. Drop the cursors, which the server has lost
        too.
        """
        self.cursors = b""
        return [end for request in self._outstanding for end in request.ends]

    def drop(self) -> None:
        """Forget all requests and answers: the registration is gone."""
        self._outstanding, self.asked, self.heard, self.cursors = (), None, [], b""
        self.jobs, self.is_more_due = 0, False
