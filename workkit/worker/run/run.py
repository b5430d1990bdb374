"""One run of one claim: the handler's view of it, its interruption, and its ending. Code inside a run finds the run by
`current_job()`; `JobLogFilter` adds it to log records.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any
from weakref import WeakKeyDictionary

from workkit.contract.listener import Claim
from workkit.errors import JobCancelled, JobTimeout
from workkit.jobs.job import Job
from workkit.jobs.names import shown
from workkit.jobs.outcome import Failure, Kept
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.jobs.terms import instant_of
from workkit.worker.run.interruption import Clock, Interruption
from workkit.worker.run.running_job import OWN, Progress, RunLog, RunningJob, lines_of, present

LOG_FIELDS = ("job_id", "job_name", "job_fn", "job_schedule", "job_attempt", "job_meta")


class Run:
    """One claim that a thread runs. A listener and a worker process each have a subclass, which connects the run with
    them. The object that `current_job()` returns is made only on request. The class holds the defaults; an object holds
    only the fields that have changed.
    """

    late_ms: int = 0
    started: float = 0.0
    cancelled: bool = False
    job: RunningJob | None = None
    clock: Clock | None = None
    interruption: Interruption | None = None  # the clock, if there is one
    is_prevented: bool = False  # cancelled before its handler was called
    is_on_loop: bool = False  # whether it runs in a task of the event loop, and needs no thread
    thread: int = 0  # the thread that calls the handler; 0 before and after
    returned: Any = None  # by the handler
    not_begun: BaseException | None = None  # why the handler was not called
    error: BaseException | None = None  # of the handler; None: it returned
    failure: Failure | None = None  # the error in words
    took_ms: float = 0.0  # the time in the handler
    options: RunOptions = UNSAID  # those of its job over those of its function
    lifted: tuple[Sequence[Any], Mapping[str, Any] | None] | None = None  # the arguments of today, if its own are old
    kept: Kept | None = None  # the kept result
    log: RunLog | None = None  # the last lines that its code has logged, if there are any

    def __init__(self, claim: Claim) -> None:
        self.claim = claim

    @property
    def schedule(self) -> str:
        """The schedule of its job."""
        return self.claim.job.schedule

    def home(self) -> Any:
        """Return the Schedule of its listener. None: not known."""
        return None

    def reporter(self) -> Callable[[Progress], None] | None:
        """Return the function that takes reports of progress; None if they have no reader."""
        return None

    def open_log(self) -> RunLog:
        """Make the log for the lines of its code."""
        return RunLog()

    def logged(self, lines: Iterable[str]) -> None:
        """Keep lines that its code has logged. Thread-safe."""
        if self.log is None:
            with _making:
                if self.log is None:
                    self.log = self.open_log()
        self.log.add(lines)

    def running_job(self) -> RunningJob:
        """Return the run as its handler sees it, the same object every time."""
        if self.job is None:
            job: Job = self.claim.job
            args, kwargs = self.lifted or (job.args, job.kwargs)
            started = instant_of(self.claim.asked_ms + self.late_ms) or present()  # the server's clock, if it is known
            self.job = RunningJob(
                id=job.id,
                schedule=job.schedule,
                name=job.name,
                fn=job.fn,
                args=tuple(args),
                kwargs=None if kwargs is None else dict(kwargs),
                trigger=job.trigger,
                due=job.due or started,
                attempt=job.attempt,
                crashes=self.claim.crashes,
                meta=dict(job.meta or {}),
                tags=job.tags,
                started=started,
                lateness=timedelta(milliseconds=self.late_ms),
                _terms=job.terms,
                _home=self.home,
                _clock=self.clock,
                _report=self.reporter(),
            )
        self.job.cancelled = self.cancelled
        return self.job

    def begin(self) -> None:
        """Mark the start of the handler in this thread; until `end` it can be interrupted. Raises JobCancelled if the
        run was cancelled before.
        """
        self.thread = threading.get_ident()
        if self.cancelled:
            self.is_prevented = True
            raise JobCancelled(f"job {self.claim.id} was cancelled before it started", given=self.claim.id)

    def end(self) -> None:
        """Mark the end of the handler: no interruption follows. See `Interruption.stop` for why it is called again."""
        self.thread = 0
        if self.interruption is not None:
            self.interruption.stop()

    def interruptible(self) -> Interruption:
        """Return its interruption, made on the first request."""
        if self.interruption is None:
            with _making:
                if self.interruption is None:
                    self.interruption = Interruption(self.thread)
        return self.interruption

    def ask_to_stop(self) -> None:
        """Make its next check-in raise JobCancelled."""
        self.cancelled = True
        if self.job is not None:
            self.job.cancelled = True

    def cancel(self) -> None:
        """End it now: interrupt its handler, or prevent the call. A second call changes nothing."""
        self.ask_to_stop()  # first: a handler that begins at this moment sees this, or is interrupted below
        if self.thread:
            interruption = self.interruptible()
            if self.thread:  # still running, or `end` meets the interruption
                interruption.cancel()


_making = threading.Lock()  # for two threads that make the same interruption
current: ContextVar[Run | None] = ContextVar("workkit_run", default=None)
homes: WeakKeyDictionary[object, Any] = WeakKeyDictionary()
"""The Schedule of each broker that this process serves."""


def home() -> Any:
    """Return the Schedule of the listener that runs the job around this code; None if there is none."""
    run = current.get()
    return None if run is None else run.home()


def current_job() -> RunningJob:
    """Return the job that this thread or coroutine runs. Outside a run, its `id` is None, its `due` is the
    present, and its methods do nothing.
    """
    run = current.get()
    return RunningJob() if run is None else run.running_job()


def capture_logs() -> None:
    """Keep the lines that runs log from now on, in all of this process. A second call changes nothing.

    It reads each record where `logging` makes it, by the level of its logger. A handler of the root logger would see
    the same records; but with such a handler `logging.basicConfig` does nothing, and Python prints no warnings.
    """
    global _is_captured
    with _making:
        if _is_captured:
            return
        _is_captured = True
        made = logging.getLogRecordFactory()

        def factory(*args: Any, **given: Any) -> logging.LogRecord:
            record = made(*args, **given)
            run = current.get()
            if run is not None and record.name and record.name.partition(".")[0] != OWN:
                try:
                    run.logged(lines_of(record))
                except (JobCancelled, JobTimeout):  # an interruption, which may come anywhere in a handler
                    raise
                except Exception:  # a line that cannot be written must not fail its job
                    pass
            return record

        logging.setLogRecordFactory(factory)


_is_captured = False


class JobLogFilter(logging.Filter):
    """Give each log record the attributes `job_id`, `job_name`, `job_fn`, `job_schedule`, `job_attempt` (from 1) and
    `job_meta` (a dict, if the job has metadata).

    Add it to a handler of `logging`, and name the attributes in its format: ``%(job_id)s %(message)s``. A record that
    is written outside a run gets `missing` in each of them. The records of the logger `workkit` that concern a job have
    these attributes already, with or without the filter. It refuses no record.
    """

    def __init__(self, *, missing: Any = "-") -> None:
        super().__init__()
        self.missing = missing

    def filter(self, record: logging.LogRecord) -> bool:
        """Set the attributes that the record does not have. Returns True."""
        known: Mapping[str, Any] = {}
        if (run := current.get()) is not None:
            with suppress(Exception):  # a log line must not fail because of its job
                known = job_fields(run.running_job())
        for name in LOG_FIELDS:
            if name not in record.__dict__:
                value = known.get(name)
                setattr(record, name, self.missing if value is None else value)
        return True


def job_fields(job: Job | RunningJob) -> dict[str, Any]:
    """Return the attributes of a job's records, without those that it does not have."""
    fields = {
        "job_id": job.id,
        "job_name": job.name,
        "job_fn": None if job.fn is None else shown(job.fn),
        "job_schedule": job.schedule,
        "job_attempt": job.attempt + 1,
        "job_meta": job.meta or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
