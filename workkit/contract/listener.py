"""A listener as others see it."""

from __future__ import annotations

from dataclasses import dataclass

from workkit.jobs.job import Job
from workkit.text.brief import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerInfo:
    """A listener as others see it. `beat_ms` and `up_ms` are ages in milliseconds; `schedules` maps each schedule to
    its weight; `running` holds the jobs of its claims; `trouble` says in a sentence which part of it has stopped
    moving while it sends heartbeats.
    """

    listener: str
    host: str
    pid: int
    version: str
    schedules: dict[str, int]
    threads: int
    state: str = "listening"
    beat_ms: int = 0
    up_ms: int = 0
    running: tuple[Job, ...] = ()
    trouble: str | None = None

    __repr__ = brief_repr
