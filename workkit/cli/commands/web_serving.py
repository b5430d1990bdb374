"""The server of `workkit web`: how it begins and ends, and how long a request may take to come in."""

from __future__ import annotations

import asyncio
import gc
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import click

from workkit.cli import failure
from workkit.cli.commands.web_binding import Binding, bound
from workkit.cli.printing import terminal
from workkit.errors import Unsupported

TICK_S = 1  # so often the server looks whether it should tell that it lives
STOP_S = 3  # so long requests may take to end at a stop
TURN_S = 0.0005  # so long a thread that reads in the background may hold up one that answers
COLLECTS = 10_000, 20, 50  # what is read of many jobs lives long: to look through all of it often stops every page
HEADERS_S = 10.0  # so long the headers of a request may take to come in, from the connection or its first byte
BODY_S = 32.0  # so long a body may take behind them; the application answers a form after 30 s, which is kinder


class Deadlines(asyncio.Protocol):
    """A connection that is closed where the headers or the body of a request take too long to come in: one that sends a
    byte now and then would be open for ever. It stands before a protocol of uvicorn, which has a limit only for what is
    idle after an answer.
    """

    headers_s: float
    body_s: float
    cycle: Any  # of uvicorn: one request and its answer, once the headers are there
    transport: Any
    _waits_for: tuple[object, float] | None = None  # the request before, and how long for
    _alarm: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the headers of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what has come, and wait for what is missing."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Go on with a request that has come before the answer was over."""
        super().on_response_complete()  # type: ignore[misc]
        if self.cycle.more_body:
            self._wait()

    def _wait(self) -> None:
        missing = self._missing()
        if missing != self._waits_for:
            self._stop()
            self._waits_for = missing
            if missing is not None:
                self._alarm = asyncio.get_running_loop().call_later(missing[1], self.transport.close)

    def _missing(self) -> tuple[object, float] | None:
        if self.cycle is None or (self.cycle.response_complete and not self.cycle.more_body):
            return self.cycle, self.headers_s
        return (self.cycle, self.body_s) if self.cycle.more_body else None

    def _stop(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()


def serve(application: Any, binding: Binding, *, root: str, said: str, opens: bool) -> int:
    """Serve an application until it is stopped; return the exit code. Raises Unsupported."""
    with ExitStack() as ends:
        try:
            bound_to = bound(binding)
        except OSError as error:
            raise Unsupported.about(f"--bind {binding}", f"cannot be used: {error.strerror or error}") from error
        ends.callback(bound_to.close)
        address = binding.address(bound_to, root)

        def announce() -> None:
            terminal.say(f"listening  {said.format(address)}")
            if opens and binding.path is None:
                click.launch(address)

        return _run(web_server(application), bound_to, binding, announce=announce)


def web_server(application: Any, *, headers_s: float = HEADERS_S, body_s: float = BODY_S) -> Any:
    """Make the server of an application. It prints nothing; at its end streams end, and requests have 3 s. Its event
    loop tells systemd that it lives. Connections are closed whose request has not come in time: `Deadlines`.
    """
    import uvicorn
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    from workkit.worker.service import service_manager

    manager = service_manager()

    async def alive() -> None:
        manager.alive()

    connection = type("Connection", (Deadlines, AutoHTTPProtocol), {"headers_s": headers_s, "body_s": body_s})
    config = uvicorn.Config(
        application, http=connection, log_config=None, access_log=False, server_header=False, proxy_headers=False,
        lifespan="on", timeout_graceful_shutdown=STOP_S, callback_notify=None if manager.beat_s is None else alive,
        timeout_notify=max(0, int((manager.beat_s or 0) - TICK_S)),
    )  # fmt: skip

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Tell systemd once it answers."""
            await super().startup(sockets)
            if self.started:
                manager.ready("STATUS=listening")

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """End the streams first: it waits for answers that are not over."""
            manager.tell("STOPPING=1", "STATUS=stopping")
            application.state.hub.end()
            await super().shutdown(sockets)

    return Server(config)


def _run(server: Any, bound_to: socket.socket, binding: Binding, *, announce: Callable[[], None]) -> int:
    def stop(*_: object) -> None:
        server.should_exit = True

    for one in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises the signal that it has obeyed again, for us
        signal.signal(one, stop)
    sys.setswitchinterval(TURN_S)  # the process is ours, and nobody else's threads are in it
    gc.set_threshold(*COLLECTS)
    try:
        announce()  # who reads that may stop it at once
        server.run(sockets=[bound_to])
    finally:
        if binding.path is not None:
            binding.path.unlink(missing_ok=True)
    return 0 if server.started else failure.REFUSED
