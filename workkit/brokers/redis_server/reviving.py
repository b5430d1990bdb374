"""Start an embedded server again that is gone: it was killed, such as for memory.

Its users are attached, and each of them would wait for ever. So a program whose calls find nobody for some seconds has
the attachment start the server. The lock of the folder lets one of all programs do it. Knows no folder and no process.
"""

from __future__ import annotations

import threading
from typing import Protocol

from workkit import events
from workkit.clocks import time
from workkit.errors import WorkkitError

GONE_SECONDS = 2.0  # after which a caller starts an embedded server again
FORGOTTEN_SECONDS = 10.0  # between two failures that belong to one absence, at most


class Attachment(Protocol):
    """What holds an embedded server: it is closed with the server, and starts the program again if that is gone."""

    def revive(self) -> bool:
        """Start the program if it is gone. True: this call has started it. May take a while."""

    def close(self) -> None:
        """Close it."""


class Reviver:
    """Starts an embedded server again after it was gone for `GONE_SECONDS`, in a thread of its own. Thread-safe."""

    def __init__(self, attached: Attachment | None, *, url: str, schedule: str) -> None:
        self._attached, self._url, self._schedule = attached, url, schedule
        self._lock = threading.Lock()
        self._tries: list[float] = []  # when calls failed since it answered, in monotonic seconds: the first, the last
        self._is_busy = False

    def failed(self) -> None:
        """Note that a call found no server. A failure long after the last one is the first of another absence."""
        if self._attached is None:
            return
        now = time.monotonic()
        with self._lock:
            first, last = self._tries or (now, now)
            self._tries = [first if now - last < FORGOTTEN_SECONDS else now, now]
            if self._is_busy or now - self._tries[0] < GONE_SECONDS:
                return
            self._is_busy = True
        threading.Thread(target=self._revive, name="workkit-revive", daemon=True).start()

    def answered(self) -> None:
        """Note that the server answers."""
        self._tries = []

    def _revive(self) -> None:
        try:
            if self._attached is not None and self._attached.revive():
                events.emit("revived", self._schedule or None, url=self._url)
        except (WorkkitError, OSError):
            pass  # callers see that it is away; the next of them tries again
        finally:
            with self._lock:
                self._tries, self._is_busy = [], False
