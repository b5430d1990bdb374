"""Functions that listeners under load run. Imported by name, as a listener does."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from workkit import job

runs: Counter[int] = Counter()


@job("load.note")
def note(body: dict[str, Any]) -> None:
    time.sleep(body.get("ms", 0) / 1000)
    runs[body["n"]] += 1


@job("load.later")
async def later(message: dict[str, Any]) -> None:
    """Make this a program with coroutines too: its listeners have room for both kinds."""
