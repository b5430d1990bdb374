"""The Ruby peer of interop/ruby/hutch/ for tests: one process that is any number of programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from tests.processes import PATIENCE, ROOT, Process, until

SOURCE = ROOT / "interop" / "ruby" / "hutch"


@cache
def lacking() -> str | None:
    """What the peer lacks on this machine, or None."""
    ruby = shutil.which("ruby")
    if ruby and subprocess.run([ruby, "-e", "require 'bunny'"], capture_output=True).returncode == 0:
        return None
    return "no ruby with bunny; on Debian: apt-get install ruby ruby-bunny"


def needed() -> None:
    """Skip the test where Ruby or its client is missing; fail it in CI (where the variable CI is set)."""
    if not (missing := lacking()):
        return
    if os.environ.get("CI"):
        pytest.fail(missing, pytrace=False)
    pytest.skip(missing)


class RubyPeer:
    """The process. `open` makes a program of it. Thread-safe."""

    def __init__(self) -> None:
        needed()
        self._one_at_a_time = threading.Lock()
        self.process = Process(["ruby", "peer.rb"], cwd=SOURCE)
        self._asked = 0

    def open(self, name: str, mode: str, url: str, **settings: Any) -> Program:
        self.ask({"do": "open", "as": name, "mode": mode, "url": url, **settings})
        return Program(self, name)

    def ask(self, command: Mapping[str, Any]) -> Any:
        """Return the answer to a command. Fails with the peer's error."""
        with self._one_at_a_time:
            self._asked += 1
            number = self._asked
            self.process.tell(json.dumps({**command, "n": number}))
        answer = json.loads(self.process.wait_for(rf'"n":{number}}}$').string)
        assert "error" not in answer, answer
        return answer[command["do"]]

    def news(self) -> list[dict[str, Any]]:
        """What was announced so far."""
        return [json.loads(line) for line in list(self.process.out) if line.startswith('{"ran":')]

    def close(self) -> None:
        self.process.close()


class Program:
    """One program with one of the libraries."""

    def __init__(self, peer: RubyPeer, name: str) -> None:
        self.peer, self.name = peer, name
        self.queue = ""  # where its one consumer reads

    def do(self, verb: str, **given: Any) -> Any:
        return self.peer.ask({"do": verb, "as": self.name, **given})

    def publish(self, key: str, value: Any, **properties: Any) -> None:
        self.do("publish", key=key, value=value, properties=properties)

    def delay(self, seconds: float, key: str, value: Any, **properties: Any) -> None:
        self.do("delay", seconds=seconds, key=key, value=value, properties=properties)

    def consume(self, *consumers: Mapping[str, Any]) -> None:
        self.do("consume", consumers=list(consumers))

    def close(self) -> None:
        self.do("close")

    def runs(self) -> list[dict[str, Any]]:
        """The runs that its handlers announced."""
        return [said for said in self.peer.news() if said["by"] == self.name]

    def ran(self, count: int, *, timeout: float = PATIENCE) -> list[dict[str, Any]]:
        """Wait for so many runs."""
        enough: Callable[[], bool] = lambda: len(self.runs()) >= count  # noqa: E731
        until(enough, timeout=timeout, what=f"{count} runs of {self.name}")
        return self.runs()
