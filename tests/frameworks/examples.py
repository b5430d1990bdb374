"""What the examples of all frameworks print."""

from __future__ import annotations

import re

from tests.processes import Process


def runs_of_poll(*served: Process) -> list[str]:
    """The due times for which the recurring job of an example ran, in some processes."""
    lines = [line for process in served for line in process.out]
    return [found[1] for line in lines if (found := re.fullmatch("polled for (.+)", line))]
