"""What is sent to a stream, and how it is written: server-sent events for pages, a line of JSON each for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workkit.contract.inspector import Pulse
from workkit.contract.record import compact, counts_record, job_record, listener_record
from workkit.text.wording import iso


def event(kind: str, record: Mapping[str, Any]) -> bytes:
    """Write a server-sent event. JSON has no line end in it, so one line holds it."""
    return f"event: {kind}\ndata: {compact(record)}\n\n".encode("utf-8", "replace")


def line(record: Mapping[str, Any]) -> bytes:
    """Write a line for programs."""
    return f"{compact(record)}\n".encode("utf-8", "replace")


def pulse_record(schedule: str, pulse: Pulse) -> dict[str, Any]:
    """Write a pulse as values, in the records that `--json` of the command line prints."""
    return {
        "schedule": schedule,
        "as_of": iso(pulse.now),
        "counts": counts_record(schedule, pulse.counts),
        "soon": [job_record(job) for job in pulse.soon],
        "listeners": [listener_record(info) for info in pulse.listeners],
        "paused": sorted(pulse.control.paused),
        "unknown": dict(pulse.unknown),
    }
