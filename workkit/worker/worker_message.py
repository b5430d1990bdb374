"""What a listener and its worker processes send each other."""

from __future__ import annotations

from dataclasses import dataclass
from logging import WARNING, LogRecord
from pathlib import Path

from workkit.jobs.job import Job
from workkit.jobs.outcome import Failure, Kept
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.tracing import TraceContext
from workkit.worker.run.running_job import Progress

Function = tuple[str, str]  # module and name


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """To a process, at its start: which functions it may run. `log_level`: what the root logger of the listener lets
    pass; `logs`: whether it has handlers, and so gets records.
    """

    imports: tuple[str, ...]
    folder: Path | None
    consumers: tuple[tuple[str, str], ...]  # job names, and where their functions are
    log_level: int = WARNING
    logs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """To a process: run this handler. `fn`: the name under which it is found; `schedule` is the name under which the
    middleware `around` is registered; `origin`: what registers it where imports do not
    (`workkit.jobs.middleware.ORIGINS`); `options`: whether its result is kept; `trace`: the context of the span of this
    run.
    """

    job: Job
    fn: str
    late_ms: int
    crashes: int
    handler: Function
    schedule: str
    around: tuple[Function, ...] = ()
    origin: tuple[str, str, str] | None = None
    options: RunOptions = UNSAID
    trace: TraceContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """To a process: its run must stop at its next check-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """From a process: its imports are done, and the handler starts now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """From a process: the latest progress of its run, if it has reported any, and what it has logged since."""

    progress: Progress | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """From a process in which logging is not configured: a record that its handler has logged."""

    record: LogRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """From a process: its run may take so long from now."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """From a process: the run has ended. `error` is pickled; None for one that cannot be unpickled elsewhere. `kept`:
    what is kept of the value that it returned.
    """

    failure: Failure | None = None
    error: bytes | None = None
    kept: Kept | None = None
