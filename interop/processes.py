"""What run.py starts: a Redis server, and peers that speak JSON lines."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import redis
from kinds import KINDS, TRAITS

from workkit.brokers.embedded import program as embedded_program

STARTS_WITHIN, ANSWERS_WITHIN = 60.0, 30.0  # seconds; a JVM on a busy machine takes a while

Record = dict[str, Any]


class PeerError(Exception):
    """A peer answered with an error, not at all, or ended."""


class Server:
    """A redis-server of our own, in memory, on a free port."""

    def __init__(self) -> None:
        program = shutil.which("redis-server") or shutil.which("valkey-server") or embedded_program.bundled()
        if program is None:
            raise SystemExit("no redis-server and no valkey-server on PATH; on Debian: apt-get install redis-server")
        self._folder = tempfile.TemporaryDirectory()
        self.port = _free_port()
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self._folder.name]
        self._child = subprocess.Popen([program, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.client: Any = redis.Redis(port=self.port)
        deadline = time.monotonic() + 10
        while not self._answers():
            if time.monotonic() > deadline:
                self.close()
                raise SystemExit(f"{program} does not start")
            time.sleep(0.02)

    def close(self) -> None:
        self._child.kill()
        self._child.wait()
        self._folder.cleanup()

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Peer:
    """One process of a peer. `seen` is all that it announced, in order."""

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        kind = KINDS[name]
        self.language = kind.language
        self.seen: list[Record] = []
        self._answers: dict[int, Record] = {}
        self._news = threading.Condition()
        self._number = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the peer
        self._child = subprocess.Popen(
            kind.started_on(port),
            cwd=kind.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        hello = self._await(lambda: next((r for r in self.seen if "peer" in r), None), STARTS_WITHIN, "to start")
        self.orders: Sequence[str] = hello["orders"]
        self.points: Sequence[str] = hello["points"]
        self.traits: Sequence[str] = hello.get("traits", [])
        if unknown := set(self.traits) - TRAITS.keys():
            self.close()
            raise SystemExit(f"{name}: no such trait: {', '.join(unknown)}. Accepted: {', '.join(TRAITS)}")

    def ask(self, command: Record) -> Record:
        """Send a command and return its answer. Raises PeerError."""
        with self._news:
            self._number += 1
            number = self._number
            assert self._child.stdin is not None
            try:
                self._child.stdin.write(json.dumps(command | {"n": number}) + "\n")
                self._child.stdin.flush()
            except BrokenPipeError:
                raise PeerError(self._ended(command)) from None
        answer = self._await(lambda: self._answers.pop(number, None), ANSWERS_WITHIN, f"to answer {command}")
        if "error" in answer:
            raise PeerError(f"{self.name} answered {command} with {answer['error']}")
        return answer

    def tell(self, command: Record) -> None:
        """Send a command whose answer nobody awaits: the peer is to die of it."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(command | {"n": 0}) + "\n")
        self._child.stdin.flush()

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def runs(self, schedule: str) -> list[Record]:
        """The runs that it announced on a schedule."""
        with self._news:
            return [r for r in self.seen if "ran" in r and r["schedule"] == schedule]

    def wait_for_death(self, timeout: float = 20.0) -> None:
        """Raises PeerError where it lives on."""
        try:
            self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise PeerError(f"{self.name} did not die where it should have") from None

    def close(self) -> None:
        """End it: politely, by the end of its input, else by force."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._reader.join()
        self._errors.close()

    def _read(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            record = json.loads(line)
            with self._news:
                if "n" in record:
                    self._answers[record["n"]] = record
                else:
                    self.seen.append(record)
                self._news.notify_all()

    def _await(self, found: Callable[[], Record | None], timeout: float, what: str) -> Record:
        deadline = time.monotonic() + timeout
        with self._news:
            while (record := found()) is None:
                if self._child.poll() is not None and not self._reader.is_alive():
                    raise PeerError(self._ended(what))
                if time.monotonic() > deadline:
                    raise PeerError(f"{self.name}: waited {timeout:g} s in vain for it {what}")
                self._news.wait(0.1)
            return record

    def _ended(self, what: object) -> str:
        self._errors.seek(0)
        return f"{self.name} ended ({self._child.poll()}): {what}\n{self._errors.read().decode()[-2000:]}"


def shared_order(*peers: Peer) -> str | None:
    """The order of cron fields that all know, the published one rather; None: no schedule is for all of them."""
    first, *others = peers
    return next((order for order in first.orders if all(order in peer.orders for peer in others)), None)
