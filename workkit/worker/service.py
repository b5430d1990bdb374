"""Messages between a process and its service manager: systemd's READY, WATCHDOG, STOPPING and STATUS; exit statuses.

The service manager sets NOTIFY_SOCKET; without it no notification is sent. One datagram is one notification, so no
library is needed. Normative: systemd's pages sd_notify(3) and sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from workkit import events
from workkit.events import Event
from workkit.worker.event_text import event_parts

SEND_SECONDS = 1.0  # the longest time that one notification may delay its sender
AFTER_DEADLINE = 10.0  # seconds that a process may take to end after the deadline of its stop
TOLD = ("listening", "forwarding", "quiet", "resumed", "lost", "back", "stopping", "stopped")  # events, as STATUS


class ServiceManager:
    """The service manager that started this process and wants notifications. `beat_s`: seconds between two `alive`;
    None: it does not ask for them. Thread-safe; never raises.
    """

    def __init__(self, address: str = "", *, beat_s: float | None = None) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address  # @: an abstract socket
        self.beat_s = beat_s

    def tell(self, *said: str) -> None:
        """Send one notification of these assignments."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(SEND_SECONDS)
            out.sendto("\n".join(said).encode("utf-8", "replace"), self._address)

    def ready(self, *said: str) -> None:
        """Notify that the start is complete."""
        self.tell("READY=1", *said)

    def alive(self) -> None:
        """Notify that the process lives. Call this every `beat_s` seconds."""
        self.tell("WATCHDOG=1")

    @contextmanager
    def told_of_events(self) -> Iterator[None]:
        """Notify of the events of this process while the block runs."""
        unsubscribe = events.subscribe(self) if self._address else lambda: None
        try:
            yield
        finally:
            unsubscribe()

    # As a subscriber of events.

    least = events.INFO

    def wants(self, name: str) -> bool:
        """Return whether it notifies of such events."""
        return name in TOLD

    def count(self, name: str, number: int, late_ms: float | None) -> None:
        """Ignore counts of events that it does not want."""

    def __call__(self, event: Event) -> None:
        """Notify of the state of this process; at the begin of a stop also of the time that it may take."""
        if not self.wants(event.name):
            return
        said = [f"STATUS={' '.join((event.name, ', '.join(event_parts(event)))).replace(chr(10), ' ')}"]
        if event.name == "stopping":
            seconds = float(event.fields.get("deadline_ms") or 0) / 1000 + AFTER_DEADLINE
            said += ["STOPPING=1", f"EXTEND_TIMEOUT_USEC={round(seconds * 1_000_000)}"]
        self.tell(*said)


def service_manager() -> ServiceManager:
    """Read the service manager from the environment, and remove it there, so that child processes do not notify it. The
    time between two `alive` is half of the allowed time.
    """
    address = os.environ.pop("NOTIFY_SOCKET", "")
    usec, pid = os.environ.pop("WATCHDOG_USEC", ""), os.environ.pop("WATCHDOG_PID", "")
    if address[:1] not in ("/", "@"):
        return ServiceManager()
    is_asked = usec.isdecimal() and int(usec) > 0 and pid in ("", str(os.getpid()))
    return ServiceManager(address, beat_s=int(usec) / 2_000_000 if is_asked else None)


@contextmanager
def served(live: Callable[[], str | None]) -> Iterator[ServiceManager]:
    """Notify of this process while the block runs: of its events, and that it lives as long as `live` returns None. The
    block calls `ready` itself.
    """
    manager, over = service_manager(), threading.Event()

    def beat(seconds: float) -> None:
        while not over.wait(seconds):
            if live() is None:
                manager.alive()

    if manager.beat_s is not None:
        threading.Thread(target=beat, args=(manager.beat_s,), name="workkit-service", daemon=True).start()
    try:
        with manager.told_of_events():
            yield manager
    finally:
        over.set()


def how_it_ended(status: int) -> str:
    """Write in words an exit status of `subprocess`: minus the signal's number for a process that a signal killed."""
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def shell_status(status: int) -> int:
    """Convert such a status to the one that a shell reports: 128 + the number of the signal."""
    return 128 - status if status < 0 else status
