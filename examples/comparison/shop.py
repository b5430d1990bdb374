"""What the jobs of this folder do, the same for each system: they write what they did to the standard output."""

from __future__ import annotations

import threading
import time

exported: list[str] = []
_lock = threading.Lock()
_attempts = 0
_running = 0


def write(day: str) -> int:
    """Export a day. Return how many letters its name has."""
    exported.append(day)
    print(f"exported {day} at {time.time():.2f}", flush=True)
    return len(day)


def load() -> None:
    """Fail twice, then work."""
    global _attempts
    _attempts += 1
    if _attempts < 3:
        raise OSError("the other server does not answer")
    print(f"loaded in attempt {_attempts}", flush=True)


def rebuild(number: int) -> None:
    """Rebuild an index, which takes a moment."""
    time.sleep(0.5)
    print(f"rebuilt {number}", flush=True)


def convert(picture: int) -> None:
    """Convert a picture. Say how many conversions this process was doing then."""
    global _running
    with _lock:
        _running += 1
        at_once = _running
    time.sleep(0.3)
    with _lock:  # so that two lines do not run together
        _running -= 1
        print(f"converted {picture}, {at_once} at once", flush=True)
