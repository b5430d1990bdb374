"""The web face of one schedule in a thread of this process: for tests that stop it, or look at a schedule of theirs."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import uvicorn

from tests.processes import until
from workkit import asgi
from workkit.schedule import Schedule
from workkit.web.auth import Local


class WebThread:
    """The web face of a schedule on a port of this machine. It can be stopped, and started again."""

    def __init__(self, s: Schedule, **how: Any) -> None:
        self._s, self.port = s, 0
        self._how: dict[str, Any] = {"way": Local(), "signer": asgi.signer("secret"), "hosts": {"localhost"}} | how
        self.start()

    def start(self, **how: Any) -> None:
        self._how |= how
        self.app = asgi.build(self._s, **self._how)
        config = uvicorn.Config(
            self.app, host="127.0.0.1", port=self.port, log_config=None, lifespan="off", timeout_graceful_shutdown=3
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=asyncio.run, args=(self._server.serve(),))
        self._thread.start()
        until(lambda: self._server.started, what="the web server")
        self.port = self._server.servers[0].sockets[0].getsockname()[1]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/s/{self._s.name}/"

    def stop(self) -> None:
        self.app.state.hub.end()
        self._server.should_exit = True
        self._thread.join()

    close = stop
