"""The program of a worker process, which runs the handlers that its listener sends, one by one, and ends with it. Also
the messages between the two.
"""

from __future__ import annotations

import fcntl
import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from logging import WARNING, LogRecord
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NoReturn

from workkit import tracing
from workkit.clocks import time
from workkit.contract.listener import Claim
from workkit.errors import FunctionNotFound, Invalid, InvalidFunction
from workkit.jobs import meta as metadata
from workkit.jobs.consumers import Functions
from workkit.jobs.importing import import_module, import_trouble
from workkit.jobs.job import Job
from workkit.jobs.marks import Handler
from workkit.jobs.middleware import Around, around_of, within, within_async
from workkit.jobs.names import shown
from workkit.jobs.outcome import Failure, Kept
from workkit.jobs.registry import Registry
from workkit.jobs.run_options import UNSAID, RunOptions
from workkit.tracing import TraceContext
from workkit.worker.run import interruption
from workkit.worker.run.call import failure_of, invoke_of, is_coroutine, kept_value, lift
from workkit.worker.run.event_loop import run_alone
from workkit.worker.run.interruption import Clock, Watched
from workkit.worker.run.run import Run, capture_logs, current
from workkit.worker.run.running_job import Progress, Reports, RunLog

Function = tuple[str, str]  # module and name


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSetting:
    """To a process, at its start: the functions that it may run. `log_level`: the level of the listener's root logger;
    `logs`: whether that logger has handlers, and so gets records.
    """

    imports: tuple[str, ...]
    folder: Path | None
    consumers: tuple[tuple[str, str], ...]  # job names, and the places of their functions
    log_level: int = WARNING
    logs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """To a process: run this handler. `fn`: the name to find it by; `schedule`: the name under which the middleware
    `around` is registered; `origin`: the function that registers it if imports do not
    (`workkit.jobs.middleware.ORIGINS`); `options`: whether its result is kept; `asked_ms`: the start of its lateness,
    epoch ms; `trace`: the context of the span of this run; `home`: the Schedule of the listener, if it can travel.
    """

    job: Job
    fn: str
    asked_ms: int
    late_ms: int
    crashes: int
    handler: Function
    schedule: str
    around: tuple[Function, ...] = ()
    origin: tuple[str, str, str] | None = None
    options: RunOptions = UNSAID
    trace: TraceContext | None = None
    home: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """To a process: its run must stop at its next check-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """From a process: its imports are done, and the handler starts now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """From a process: the latest progress of its run, if it has reported any, and the lines logged since."""

    progress: Progress | None = None
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """From a process in which logging is not configured: a record that its handler has logged."""

    record: LogRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended:
    """From a process: the time that its run may take from now, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """From a process: the run has ended. `error` is pickled; None for one that cannot be unpickled elsewhere. `kept`:
    its kept result.
    """

    failure: Failure | None = None
    error: bytes | None = None
    kept: Kept | None = None


APART = 0.1  # seconds between two reports of progress
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # the listener decides when this process ends


def main(end: int, lives: int) -> None:
    """Serve the listener at the other end of this socket. The listener holds the pipe `lives` open while it lives."""
    for inherited in (end, lives):
        os.set_inheritable(inherited, False)  # not for programs that handlers start
    _end_with(lives)
    for number in IGNORED:
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which programs that handlers start would inherit
    Worker(Connection(end)).serve()


class OffloadedRun(Run):
    """A run in this process. Its reports of progress go to the listener."""

    def __init__(self, claim: Claim, reports: SimpleQueue[Reports]) -> None:
        super().__init__(claim)
        self.reports = Reports(self, announce=reports.put)
        self.of: Any = None

    def home(self) -> Any:
        """Return the Schedule of its listener, if it could travel here."""
        return self.of

    def reporter(self) -> Callable[[Progress], None]:
        """Return the function that takes reports of progress."""
        return self.reports.put

    def open_log(self) -> RunLog:
        """Make the log for the lines of its code."""
        self.reports.log = RunLog(self.reports.announce)
        return self.reports.log

    def news(self) -> Reported:
        """Take the new reports and lines."""
        self.reports.are_news = False  # before the read: any later report is announced again
        return Reported(progress=self.reports.latest, lines=tuple(self.log.news()) if self.log is not None else ())


class Worker:
    """This process."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._orders: SimpleQueue[RunOrder] = SimpleQueue()
        self._reports: SimpleQueue[Reports] = SimpleQueue()
        self._run: OffloadedRun | None = None
        self._born = interruption.forks

    def serve(self) -> None:
        """Run the orders that arrive in this thread, as long as the listener lives."""
        setting: WorkerSetting = self._connection.recv()
        self._logs = _Logs(self._send, setting)
        capture_logs()
        registry = Functions(imports=setting.imports, folder=setting.folder, consumers=setting.consumers)
        for serve in (self._receive, self._send_reports):
            threading.Thread(target=serve, name="workkit-offloaded", daemon=True).start()
        is_loaded = False
        while True:
            order = self._orders.get()
            try:
                if not is_loaded:
                    registry.load()
                    is_loaded = True
                ended = self._run_order(order, registry)
            except BaseException as error:  # imports may raise anything, too
                ended = _ended(error)
            for stream in (sys.stdout, sys.stderr):  # nothing is flushed when this process ends
                with suppress(OSError, ValueError, AttributeError):
                    stream.flush()
            if (run := self._run) is not None and run.log is not None:
                self._report(run)
            self._send(ended)

    def _run_order(self, order: RunOrder, registry: Registry) -> Ended:
        """Run the handler of an order to its end."""
        job = order.job
        logging.root.removeHandler(self._logs)  # so that the modules may configure logging
        _import({module for module, _ in (order.handler, *order.around)}, fn=job.fn)
        handler, options = registry.handler(order.fn)
        around = _around(order)
        self._logs.start()
        claim = Claim(
            receipt=None,
            describe=lambda _: job,
            id=job.id,
            fn=order.fn,
            args=job.args,
            due_ms=order.asked_ms,
            kwargs=job.kwargs,
            crashes=order.crashes,
            meta=job.meta,
        )
        run = OffloadedRun(claim, self._reports)
        run.of = order.home
        run.late_ms, run.started, run.clock = order.late_ms, time.monotonic(), _Clock(self._send)
        self._run = run
        self._send(Begun())
        token, carried = current.set(run), metadata.CARRIED.set(job.meta)
        metadata.is_used = metadata.is_used or job.meta is not None
        try:
            with tracing.within(order.trace):
                lift(run, handler, options)
                within(around.plain, partial(_call, handler, run, around))
        except BaseException as error:  # a handler may raise anything, SystemExit included
            return _ended(error)
        finally:
            current.reset(token)
            metadata.CARRIED.reset(carried)
        return Ended(kept=kept_value(run.returned, order.options, handler))

    def _send(self, message: Begun | Reported | Logged | Extended | Ended) -> None:
        if (
            interruption.forks != self._born
        ):  # a handler or its middleware forked this process: the socket is its parent's
            interruption.end_fork()
        with self._sending:
            if isinstance(message, Ended):
                self._run = None
            self._put(message)

    def _report(self, run: OffloadedRun) -> None:
        """Send the new reports and lines of the run, if it still runs."""
        with self._sending:
            if run is self._run:
                self._put(run.news())

    def _put(self, message: object) -> None:
        try:
            self._connection.send(message)
        except OSError:
            _end()

    def _receive(self) -> None:
        """Receive messages, in a separate thread. This process ends as soon as the listener has ended."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                _end()
            match message:
                case RunOrder():
                    self._orders.put(message)
                case Cancelled() if (run := self._run) is not None:
                    run.ask_to_stop()

    def _send_reports(self) -> None:
        """Send the latest progress of the run at most every `APART` seconds, in a separate thread."""
        while True:
            reports = self._reports.get()
            if (run := self._run) is not None and run.reports is reports:
                self._report(run)
            time.sleep(APART)


class _Logs(QueueHandler):
    """A log handler that sends the records of handlers to the listener, if nothing in this process handles them."""

    def __init__(self, send: Callable[[Logged], None], setting: WorkerSetting) -> None:
        super().__init__(None)  # type: ignore[arg-type]  # no queue: the socket
        self._send, self._setting = send, setting

    def start(self) -> None:
        """Begin, if the modules imported here have added no handlers. Uses the level of the listener, and its handlers
        if it has some.
        """
        if not logging.root.handlers:
            logging.root.setLevel(self._setting.log_level)
            if self._setting.logs:
                logging.root.addHandler(self)

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send a record, unless a logger below the root has handlers for it."""
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None and logger is not logging.root:
            if logger.handlers:
                return
            logger = logger.parent
        self._send(Logged(record=record))


class _Clock(Clock):
    """The timeout of a run, which the listener watches."""

    def __init__(self, send: Callable[[Extended], None]) -> None:
        super().__init__(0)
        self._send = send

    def extend(self, seconds: float) -> None:
        """Make the listener move the timeout to at least `seconds` from now."""
        self._send(Extended(seconds=seconds))


def _call(handler: Handler, run: Run, around: Around) -> None:
    result = invoke_of(run, handler)
    run.returned = run_alone(within_async(around.coroutines, Watched(result))) if is_coroutine(result) else result


def _import(modules: Iterable[str], *, fn: str) -> None:
    """Import the modules that define the handler and its middleware. Raises FunctionNotFound."""
    for module in modules:
        try:
            import_module(module)
        except BaseException as error:  # an import may raise anything
            where = f"{shown(fn)} in a worker process"
            trouble = f"importing {module} there failed: {import_trouble(error).removesuffix('.')}"
            raise FunctionNotFound(f"cannot run {where}: {trouble}", given=fn, where=where, trouble=trouble) from error


def _around(order: RunOrder) -> Around:
    """Return the same middleware as in the listener. Raises InvalidFunction, FunctionNotFound."""
    here = around_of(order.schedule) or Around()
    known = _middleware_by_name(here)
    if order.origin is not None and not known.keys() >= {*order.around}:
        _register(order.origin, fn=order.job.fn)
        here = around_of(order.schedule) or Around()
        known = _middleware_by_name(here)
    for module, name in order.around:
        if (module, name) not in known:
            raise InvalidFunction(
                f"middleware {module}.{name} is not registered where {module} is imported, as a worker process does. "
                f"Register it at module level.",
                given=name,
            )
    wanted = [known[name] for name in order.around]
    return Around(tuple(fn for fn in wanted if fn in here.plain), tuple(fn for fn in wanted if fn in here.coroutines))


def _middleware_by_name(around: Around) -> dict[Function, Callable[[], Any]]:
    return {(fn.__module__, fn.__qualname__): fn for fn in (*around.plain, *around.coroutines)}


def _register(origin: tuple[str, str, str], *, fn: str) -> None:
    """Register middleware as its program does. Raises FunctionNotFound."""
    module, name, text = origin
    try:
        getattr(import_module(module), name)(text)
    except BaseException as error:  # it runs code of the user, which may raise anything
        where = f"{shown(fn)} in a worker process"
        trouble = str(error).removesuffix(".") if isinstance(error, Invalid) else import_trouble(error)
        raise FunctionNotFound(f"cannot run {where}: {trouble.removesuffix('.')}", given=fn, where=where,
                               trouble=trouble) from error  # fmt: skip


def _ended(error: BaseException) -> Ended:
    try:
        pickled = pickle.dumps(error)
    except BaseException:  # an unusual class may raise anything when it is pickled
        return Ended(failure=failure_of(error))
    return Ended(failure=failure_of(error), error=pickled)


def _end_with(lives: int) -> None:
    """Let the kernel kill this process, and the programs that handlers have started, when the other end of this pipe is
    closed. A handler may keep the interpreter, and then no thread notices the end. On Linux (F_SETSIG in fcntl(2)).
    """
    if sys.platform != "linux" or os.getpgrp() != os.getpid():
        return
    fcntl.fcntl(lives, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lives, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lives, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)


def _end() -> NoReturn:
    """End at once, together with the programs that handlers have started: the listener has ended."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
