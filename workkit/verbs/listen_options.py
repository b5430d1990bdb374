"""The options of the verbs that run jobs, checked: keywords to one value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workkit.errors import InvalidOptions
from workkit.jobs.run_options import check_names
from workkit.triggers.duration import duration
from workkit.worker.loop import How

ACCEPTED = ("threads", "imports", "folder", "deadline", "strict", "burst", "listener_timeout", "health_port")
MOST_THREADS = 1000


def read_how(how: Mapping[str, Any]) -> tuple[How, int]:
    """How to listen, and after how many milliseconds a silent listener is taken for dead.

    Raises InvalidOptions, TriggerError.
    """
    check_names(how, accepted=ACCEPTED, verb="listen")
    threads, imports = how.get("threads", 10), how.get("imports", ())
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise InvalidOptions(f"threads={threads!r} is out of range. Accepted: 1 to {MOST_THREADS}.", given=threads)
    if isinstance(imports, str):
        raise InvalidOptions(
            f"imports={imports!r} is one text, not a list. Write imports=[{imports!r}].", given=imports
        )
    folder = how.get("folder", Path.cwd())
    timeout = duration(how.get("listener_timeout", "10s"), name="listener_timeout")
    if timeout.total_seconds() < 5:
        raise InvalidOptions(f"listener_timeout={how['listener_timeout']!r} is too short. Accepted: 5s and more.")
    read = How(
        threads=threads,
        imports=tuple(imports),
        folder=None if folder is None else Path(folder),
        deadline=duration(how.get("deadline", "25s"), name="deadline"),
        strict=bool(how.get("strict", False)),
        burst=bool(how.get("burst", False)),
        health=_address(how.get("health_port")),
        stuck_after=3 * timeout,
    )
    return read, round(timeout.total_seconds() * 1000)


def _address(port: object) -> tuple[str, int] | None:
    """Where the health pages are served: a port of 127.0.0.1, or another address of this machine with its port."""
    if port is None:
        return None
    host, _, digits = ("", "", str(port)) if type(port) is int else str(port).rpartition(":")
    if not (digits.isascii() and digits.isdigit() and int(digits) < 65536):
        raise InvalidOptions(
            f'health_port={port!r} is not a port. Accepted: 0 to 65535, or "0.0.0.0:8080".', given=port
        )
    return host.strip("[]") or "127.0.0.1", int(digits)
