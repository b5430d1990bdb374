"""Pings: a monitor outside is told of each start, success and failure of a named job, and notices when none comes.

One thread of its own makes the requests, one after another, so that they arrive in order and no job waits for them.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from workkit import events
from workkit.contract.listener import Claim
from workkit.errors import described

MOST = 1000  # pings that wait; further ones are dropped, with an event
TIMEOUT = 5.0  # seconds that a monitor may take to answer
FAREWELL = 3.0  # seconds for the last pings of a listener that stops
SECOND_TRIES = 1  # of pings that say how a run ended

Kind = Literal["start", "success", "fail"]


def ping_url(ping: str, kind: Kind) -> str:
    """Write the URL of a ping: that of the job, and for start and fail one more step of its path."""
    parts = urlsplit(ping)
    path = parts.path if kind == "success" else f"{parts.path.rstrip('/')}/{kind}"
    return urlunsplit(parts._replace(path=path, fragment=""))


class Pings:
    """The pings of one listener. Its thread starts with the first one. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: Queue[tuple[Claim, Kind] | None] = Queue(MOST)
        self._thread: threading.Thread | None = None
        self._making = threading.Lock()
        self._over = False

    def put(self, claim: Claim, kind: Kind) -> None:
        """Send a ping soon, if the job has a URL for it. Never waits."""
        if claim.terms.ping is None or self._over:
            return
        try:
            self._waiting.put_nowait((claim, kind))
        except Full:
            _report(claim, f"{kind}: {MOST:,} pings wait already")
            return
        with self._making:
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="workkit-pings", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Send what waits, for a few seconds; what is left then is dropped."""
        self._over = True
        if self._thread is not None:
            with suppress(Full):
                self._waiting.put_nowait(None)
            self._thread.join(FAREWELL)
            with suppress(Empty):
                while True:
                    self._waiting.get_nowait()
            with suppress(Full):
                self._waiting.put_nowait(None)

    def _serve(self) -> None:
        while (ping := self._waiting.get()) is not None:
            claim, kind = ping
            for tries_left in reversed(range(1 if kind == "start" else 1 + SECOND_TRIES)):
                try:
                    _send(ping_url(claim.terms.ping or "", kind))
                    break
                except Exception as error:  # http.client raises errors of many classes
                    if not tries_left:
                        _report(claim, f"{kind}: {described(error)}")


def _send(url: str) -> None:
    """Make one request. Raises an error where the answer is none of success; redirections are no success, since they
    may lead anywhere.
    """
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # most listeners send no pings

    class Refused(HTTPRedirectHandler):
        def redirect_request(self, *_: object) -> None:
            return None

    request = Request(url, headers={"User-Agent": "workkit"})
    with build_opener(Refused).open(request, timeout=TIMEOUT):
        pass


def _report(claim: Claim, reason: str) -> None:
    events.emit("no_ping", claim.job.schedule, job=claim.job, reason=reason)
