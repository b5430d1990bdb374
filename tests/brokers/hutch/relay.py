"""A way to the broker that a test can cut, as a network does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType


class Relay:
    """Passes bytes between those who connect here (`at` a port, else any) and a port; `cut` ends every connection."""

    def __init__(self, port: int, *, at: int = 0) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", at))
        self.port = int(self._listening.getsockname()[1])
        self._ends: list[socket.socket] = []
        self.passed = 0  # bytes
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        ends, self._ends = self._ends, []
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Relay:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._to))
            self._ends += [near, far]
            for pair in ((near, far), (far, near)):
                self._threads.append(threading.Thread(target=self._pass, args=pair, daemon=True))
                self._threads[-1].start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
                self.passed += len(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()
