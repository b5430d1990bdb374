"""The functions of the Python side on an exchange of RabbitMQ. A message says what they do with it: {"fail": 2} makes
them fail twice, {"fail": -1} each time.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from datetime import timedelta
from typing import Any

from workkit import current_job, job

SOON = {"retries": 2, "backoff": "constant", "base": timedelta(milliseconds=50)}
KEYS = ("orders.created", "active_job.mail_low", "Orders.Upper", "orders.#", "orders.*")

seen: dict[str, list[tuple[float, Any]]] = defaultdict(list)
"""By exchange: when each run began, in epoch seconds, and its argument."""

_one_at_a_time = threading.Lock()


def handle(value: Any) -> None:
    """Note the run, and fail as often as the message wants it."""
    run = current_job()
    with _one_at_a_time:
        seen[run.schedule].append((time.time(), value))
    limit = value.get("fail", 0) if isinstance(value, dict) else 0
    if limit < 0 or run.attempt < limit:
        raise RuntimeError("as it was asked to")


def _register(key: str) -> None:
    @job(key, **SOON)
    def handler(value: Any) -> None:
        handle(value)


for key in KEYS:
    _register(key)
