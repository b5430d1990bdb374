"""A way to the broker that a test can cut, as a network does, and at which it counts what is sent."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from contextlib import suppress
from types import TracebackType

HEARTBEAT = "heartbeat"
_KINDS = {1: "method", 2: "header", 3: "body", 8: HEARTBEAT}


class Relay:
    """Passes bytes between those who connect here (`at` a port, else any) and a port; `cut` ends every connection.
    `sent` counts the frames of those who connect, by their kind. `cut_at`: it cuts by itself in place of the frame of
    this number, from 1.
    """

    def __init__(self, port: int, *, at: int = 0, cut_at: int = 0) -> None:
        self._to, self._cut_at = port, cut_at
        self._is_behind = self._is_once = False
        self._listening = socket.create_server(("127.0.0.1", at))
        self.port = int(self._listening.getsockname()[1])
        self._ends: list[socket.socket] = []
        self.sent: Counter[str] = Counter()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut_next(self, *, behind: bool = False) -> None:
        """Cut in place of the next frame that somebody sends, once; `behind`: in place of the answer to it."""
        self._is_behind, self._is_once, self._cut_at = behind, True, self.sent.total() + 1

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
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:  # nobody listens there now
                near.close()
                continue
            self._ends += [near, far]
            for pair in ((near, far, self.sent), (far, near, Counter())):
                self._threads.append(threading.Thread(target=self._pass, args=pair, daemon=True))
                self._threads[-1].start()

    def _pass(self, source: socket.socket, target: socket.socket, count: Counter[str]) -> None:
        frames = _Frames(count)
        with suppress(OSError):
            while data := source.recv(65536):
                frames.read(data)
                if 0 < self._cut_at <= self.sent.total() and (count is self.sent) is not self._is_behind:
                    self._cut_at = 0 if self._is_once else self._cut_at
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()


class _Frames:
    """Finds the frames of AMQP 0-9-1 in bytes as they come: kind, channel, size, payload, and one byte that ends it."""

    def __init__(self, count: Counter[str]) -> None:
        self._count, self._skip, self._begun = count, 0, b""

    def read(self, data: bytes) -> None:
        data, self._begun = self._begun + data, b""
        at = self._skip
        if data.startswith(b"AMQP"):  # the first 8 bytes of those who connect
            at += 8
        while len(data) - at >= 7:
            kind, _, size = struct.unpack_from(">BHI", data, at)
            self._count[_KINDS.get(kind, "?")] += 1
            at += 7 + size + 1
        self._skip = max(0, at - len(data))
        self._begun = data[at:]
