"""Exit statuses of processes, in words and as a shell counts them."""

from __future__ import annotations

import signal
from contextlib import suppress


def how_it_ended(status: int) -> str:
    """Word an exit status as `subprocess` reports it: minus the signal's number for a process that a signal killed."""
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"


def shell_status(status: int) -> int:
    """Convert such a status to the one that a shell reports: 128 + the number of the signal."""
    return 128 - status if status < 0 else status
