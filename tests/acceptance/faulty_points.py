"""What a process does when it comes to the place of its fault; compiled into it by `faulty`.

WORKKIT_TEST_FAULT is ``point|kind|n|variant``: at the nth time this process comes to `point`, kill it (kind
``process``), kill the server (``server``), cut its connections to the server (``connection``), or cut them and tell it
to stop at the same moment (``stop``: what a deployment amid network trouble looks like). At a point ``... sent`` the
variant says whether that happens before the request is on its way (``early``) or after (``late``), when its reply is
lost. WORKKIT_TEST_SERVER is the server's ``pid:port``; WORKKIT_TEST_HISTORY where the fault is written down.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import redis
from redis.connection import AbstractConnection

from tests.acceptance.history import write

KINDS = ("process", "server", "connection", "stop")
VARIANTS = ("early", "late")


@dataclass(slots=True)
class _Plan:
    point: str
    kind: str
    nth: int
    variant: str
    hits: int = 0


@cache
def _plan() -> _Plan | None:
    said = os.environ.get("WORKKIT_TEST_FAULT")
    if not said:
        return None
    point, kind, nth, variant = said.split("|")
    assert kind in KINDS and variant in VARIANTS, said  # noqa: PT018
    return _Plan(point, kind, int(nth), variant)


_lock = threading.Lock()


def hit(text: str) -> None:
    """Come to a point; a fault that is meant for it happens here."""
    plan = _plan()
    if plan is None or text != plan.point:
        return
    with _lock:
        plan.hits += 1
        if plan.hits != plan.nth:
            return
    write(os.environ["WORKKIT_TEST_HISTORY"], what="fired", point=text, kind=plan.kind, pid=os.getpid())
    act = {"process": _kill_process, "server": _kill_server, "connection": _cut, "stop": _stop}[plan.kind]
    if not text.endswith(" sent"):
        act()
        if plan.kind in ("connection", "stop") and text.endswith(" answered"):
            raise redis.ConnectionError("Connection closed by server.")
        return
    _with_next_request(act, is_before=plan.variant == "early")


def _with_next_request(act: Callable[[], None], *, is_before: bool) -> None:
    """Do it right before, or right after, this thread's next script is written to its socket."""
    original: Any = AbstractConnection.send_packed_command
    thread = threading.get_ident()

    def send(self: Any, command: Any, check_health: bool = True) -> None:
        parts = [command] if isinstance(command, (str, bytes)) else command
        asked = any(b"EVALSHA" in (part.encode() if isinstance(part, str) else part) for part in parts)
        if threading.get_ident() != thread or not asked:
            original(self, command, check_health)
            return
        AbstractConnection.send_packed_command = original  # type: ignore[method-assign]
        if is_before:
            act()
        original(self, command, check_health)
        if not is_before:
            act()

    AbstractConnection.send_packed_command = send  # type: ignore[method-assign]


def _kill_process() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("not reached")


def _kill_server() -> None:
    with suppress(ProcessLookupError):  # whoever has read that the fault happens was quicker
        os.kill(int(os.environ["WORKKIT_TEST_SERVER"].partition(":")[0]), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    _cut()


def _cut() -> None:
    """Shut down every socket of this process that leads to the server; whoever waits on one hears of it."""
    port = int(os.environ["WORKKIT_TEST_SERVER"].partition(":")[2])
    for number in range(3, 256):
        try:
            twin = socket.socket(fileno=os.dup(number))
        except OSError:  # not open, or not a socket
            continue
        with twin:
            try:
                if twin.getpeername()[1] == port:
                    twin.shutdown(socket.SHUT_RDWR)
            except (OSError, IndexError):  # not connected any more, or not by TCP
                continue
