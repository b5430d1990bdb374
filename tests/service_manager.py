"""A service manager for tests: the socket on which systemd would hear of a service."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

from tests.processes import until


class Notified:
    """What was told, in its order. `env` is what a service gets."""

    def __init__(self, folder: Path, *, watchdog_s: float | None = None, is_abstract: bool = False) -> None:
        path = folder / "notify.sock"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(f"\0{path}" if is_abstract else str(path))
        self.env = {"NOTIFY_SOCKET": f"@{path}" if is_abstract else str(path)}
        if watchdog_s is not None:
            self.env["WATCHDOG_USEC"] = str(round(watchdog_s * 1_000_000))
        self.told: list[str] = []
        self._listener = threading.Thread(target=self._hear, daemon=True)
        self._listener.start()

    def _hear(self) -> None:
        while text := self._socket.recv(65536):
            self.told += text.decode().splitlines()

    def count(self, said: str) -> int:
        return self.told.count(said)

    def wait_for(self, said: str, *, count: int = 1) -> None:
        until(lambda: self.count(said) >= count, what=f"{said}, {count} times")

    def close(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"", self._socket.getsockname())
        self._listener.join()
        self._socket.close()
