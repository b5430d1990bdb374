"""A listener as others see it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from workkit.jobs.arguments import KnownFunction
from workkit.jobs.job import Job
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.text.cells import brief_repr


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How a listener serves one job name: its share of what is taken, and the options of its handler."""

    priority: int = 1
    options: RunOptions = UNSAID


_OWN = re.compile(r"(.+:\d+):[0-9a-f]{12}")


def called(listener: str) -> str:
    """Leave the random part of a listener's name out: ``web-1:4242``."""
    found = _OWN.fullmatch(listener)
    return listener if found is None else found[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerInfo:
    """A listener as others see it. `beat_ms` and `up_ms` are ages in milliseconds, None where nobody tells them;
    `schedules` maps each schedule to its weight; `running` holds the jobs of its claims; `trouble` says in a sentence
    which part of it has stopped moving while it sends heartbeats. `held`: how many jobs it holds, where the layout
    counts them, and does not list them. `serves`: the job names that it serves, for layouts with a queue for
    each. `functions`: what it tells of the functions that it knows, when it registers; read them by `History.knows`.
    """

    listener: str
    host: str
    pid: int
    version: str
    schedules: dict[str, int]
    threads: int
    state: str = "listening"
    beat_ms: int | None = 0
    up_ms: int | None = 0
    running: tuple[Job, ...] = ()
    trouble: str | None = None
    held: int | None = None
    serves: Mapping[str, Serving] = field(default_factory=dict)
    functions: tuple[KnownFunction, ...] = field(default=(), repr=False)

    __repr__ = brief_repr

    @property
    def called(self) -> str:
        """What it is called: its name, where it was given one; else its host and process."""
        name = called(self.listener)
        is_named = name != self.listener and self.host and not name.startswith(f"{self.host}:")
        return name.rpartition(":")[0] if is_named else name

    @property
    def busy(self) -> int:
        """How many of its threads work."""
        return len(self.running) if self.held is None else self.held
