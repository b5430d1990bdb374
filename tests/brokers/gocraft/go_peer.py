"""The Go peer of interop/go/ for tests: build it, and have it do the calls of a recording."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.processes import ROOT, Process
from tests.servers import Server

SOURCE = ROOT / "interop" / "go"
# Without a network, without a C compiler, with whatever Go is there.
SETTINGS = {"CGO_ENABLED": "0", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "GOWORK": "off"}


def program(name: str) -> str:
    """Return a program of Go; without it, skip the test here and fail it in CI (where the variable CI is set)."""
    if found := shutil.which(name):
        return found
    missing = f"no {name} on PATH; on Debian: apt-get install golang-go"
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


def build(folder: Path) -> Path:
    """Compile the peer into a folder and return the program."""
    built = folder / "peer"
    cache = {} if os.environ.get("HOME") else {"GOCACHE": str(folder / "cache")}
    done = subprocess.run(
        [program("go"), "build", "-o", str(built), "."],
        cwd=SOURCE,
        env={**os.environ, **SETTINGS, **cache},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return built


def database(server: Server, number: int) -> Any:
    """Return a client of one database, which answers bytes."""
    return redis.Redis(port=server.port, db=number, socket_timeout=10)


class Driver:
    """A process of the peer that does one call after another."""

    def __init__(self, peer: Path, *options: str, port: int, database: int) -> None:
        place = ["--redis", f"127.0.0.1:{port}", "--db", str(database)]
        self.process = Process([str(peer), "drive", *place, *options], cwd=peer.parent)
        self._asked = 0
        self._seen = 0

    def set_clock(self, at: float) -> bool:
        """Have it be this epoch second now to the peer."""
        self.ask({"op": "clock", "at": at})
        return True

    def ask(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Do a call, and return `returned` with, where there is one, `count` and `error`."""
        self._asked += 1
        self.process.tell(json.dumps(call))
        answer: dict[str, Any] = json.loads(self.process.wait_for(r'^\{"returned":', count=self._asked).string)
        return answer

    def news(self) -> list[dict[str, Any]]:
        """Return the events and the lines of the log since the last time."""
        lines = self.process.out[self._seen :]
        self._seen += len(lines)
        return [json.loads(line) for line in lines if not line.startswith('{"returned":')]

    def close(self) -> None:
        self.process.close()
