"""What the listener of the scene runs."""

from __future__ import annotations

import threading
from typing import Any

from workkit import current_job, job

WAIT = threading.Event()  # nobody sets it: what waits for it runs until it is cancelled, or its listener ends


def done(*_: Any, **__: Any) -> None:
    """Do nothing, well."""


def sync(*_: Any) -> None:
    raise ConnectionError("api.example.com: 503")


def full(disk: int) -> None:
    raise OSError(28, "No space left on device", f"/var/spool/{disk}")


def wordy() -> None:
    raise ValueError("<script>document.title='owned'</script> password=hunter2 \u202e" + "x" * 100_000)


def long(rows: int, **_: Any) -> None:
    """Run on, and say how far it is."""
    current_job().checkin(f"340 of {rows:,}")
    WAIT.wait()


@job(limit=1)
def alone(shop: str) -> None:
    """Run one at a time."""
    WAIT.wait()


def deaf() -> None:
    """Hear of no cancellation."""
    WAIT.wait()
