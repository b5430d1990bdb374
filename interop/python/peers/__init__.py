"""The functions of the Python peer, and how they are announced."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

from workkit import current_job

_one_at_a_time = threading.Lock()


def say(record: dict[str, Any]) -> None:
    """Write one line. Handlers run in threads."""
    line = json.dumps(record) + "\n"
    with _one_at_a_time:
        sys.stdout.write(line)
        sys.stdout.flush()


def ran(function: str, args: Sequence[Any]) -> None:
    """Announce that a function runs, and the job that it runs for."""
    job = current_job()
    assert job.due is not None
    due = round(job.due.timestamp() * 1000)
    say(
        {
            "ran": function,
            "args": args,
            "schedule": job.schedule,
            "id": job.id,
            "due": due,
            "at": time.time_ns() // 10**6,
        }
    )
