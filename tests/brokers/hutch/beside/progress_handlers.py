"""A function that tells its progress. Imported by name, as a listener does."""

from __future__ import annotations

import threading
from typing import Any

from workkit import current_job, job

go = threading.Event()


@job("beside.tells")
def tells(_: dict[str, Any]) -> None:
    current_job().progress(1, 2)
    assert go.wait(10)
