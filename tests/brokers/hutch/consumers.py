"""Functions that tests consume with. Imported by name, as a listener does."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

from workkit import Discard, Retry, current_job, job

seen: list[tuple[Any, int]] = []
gate = threading.Event()


@job("hutch.fails", retries=2, backoff="constant", base=timedelta(milliseconds=20))
def fails(body: dict[str, Any]) -> None:
    seen.append((body["n"], current_job().attempt))
    if current_job().attempt < body["until"]:
        raise OSError("disk full")


@job("hutch.answers")
def answers(body: dict[str, Any]) -> None:
    seen.append((body["n"], current_job().attempt))
    if body["n"] == "discard":
        raise Discard("order was cancelled")
    if current_job().attempt < 1:
        raise Retry(after=timedelta(milliseconds=20))


@job("hutch.waits")
def waits(body: dict[str, Any]) -> None:
    seen.append((body["n"], current_job().attempt))
    assert gate.wait(60)
