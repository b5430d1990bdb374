"""A listener and its control by calls or by signals: start, quiet, stop and wait.

If the program does not print events itself, they become records of the standard logger `workkit` while it listens.
"""

from __future__ import annotations

import faulthandler
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from types import FrameType
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.contract.broker import Broker, Inspector, Producer
from workkit.contract.producer import Tally
from workkit.errors import ListenerStopped, Unsupported, WorkkitError, described, text_of
from workkit.events import Event
from workkit.jobs.names import brief, shown
from workkit.text.exposition import Page, is_installed
from workkit.triggers.english.numbers import duration
from workkit.worker.event_text import event_parts
from workkit.worker.exposition import Gauges, metrics_page
from workkit.worker.health import Pages, Watchdog
from workkit.worker.loop import How, Loop
from workkit.worker.run.call import without_ours
from workkit.worker.run.run import job_fields
from workkit.worker.run_table import RunTable, Totals
from workkit.worker.service import ServiceManager, served

BETWEEN_COLLECTIONS = 10_000  # new objects between two collections of the youngest generation; Python's default is 700


class Listener:
    """A listener that runs the due jobs of one or more schedules until stopped, or forwards them `to` another one.
    `schedule.listener` and `schedule.forwarder` make it; it serves once.
    """

    def __init__(self, brokers: Sequence[tuple[Broker, int]], *, how: How, to: Producer | None = None) -> None:
        self._how = how
        self._loop = Loop(brokers, how=how, to=to)
        self._thread: threading.Thread | None = None
        self._used = False
        self._tally = Tally()
        self._error: BaseException | None = None
        self._watchdog = Watchdog(lambda: self._loop.pulse, seconds=how.stuck_after.total_seconds())
        self._pages: Pages | None = None
        self._end_log: Callable[[], None] = lambda: None
        self._is_counted = False  # whether a supervisor reads its table
        self._is_over = False
        self._beside: list[Listener] = []
        self._failed: Callable[[], None] = lambda: None  # called when it has ended by an error, in its own thread

    def beside(self, other: Listener) -> Listener:
        """Serve `other` too, in a separate thread, as long as this one serves. An error that ends `other` ends both."""
        other._failed = self.ask_to_stop
        self._beside.append(other)
        return self

    def call_once_imported(self, call: Callable[[], None]) -> None:
        """Make the start call this function, after its modules are imported and before it registers."""
        self._loop.once_imported = call

    def count_into(self, file: int) -> None:
        """Count its runs in a file that its supervisor also reads. Call this before the start."""
        self._loop.count_into(RunTable(file))
        self._is_counted = True

    def start(self) -> Listener:
        """Register and listen in a separate thread. Raises ServerUnreachable, ServerRefused, InvalidFunction."""
        self._open()
        self._thread = threading.Thread(target=self._serve, name="workkit-listener", daemon=True)
        self._thread.start()
        return self

    def run(self) -> Tally:
        """Register and listen in this thread until stopped; raises as `start` does. In the main thread it owns the
        process: if its loop stops moving, the process ends with status 70, so that its supervisor starts another. It
        also reports its state to systemd, if systemd asks for that.
        """
        owns_process = threading.current_thread() is threading.main_thread()
        self._watchdog.ends_process = owns_process
        with served(self.dead) if owns_process else nullcontext(ServiceManager()) as manager:
            self._open()
            if owns_process:
                _spare_collector()
            manager.ready()
            try:
                tally = self._loop.run()
            finally:
                self._close()
            return self._with_others(tally)

    def stop(self, deadline: str | timedelta | None = None) -> Tally:
        """Claim nothing new, finish within the deadline (default: the one set at the start), release the rest."""
        self.ask_to_stop(None if deadline is None else duration(deadline, name="deadline"))
        return self.wait()

    def ask_to_stop(self, deadline: timedelta | None = None) -> None:
        """Begin to stop, and return at once. Safe in a signal handler."""
        self._loop.post(lambda: self._loop.begin_stop(self._how.deadline if deadline is None else deadline))
        for other in self._beside:
            other.ask_to_stop(deadline)

    def quiet(self) -> None:
        """Claim nothing new until `resume`; active runs continue."""
        self._loop.post(lambda: self._loop.set_quiet(True))
        for other in self._beside:
            other.quiet()

    def resume(self) -> None:
        """Take work again."""
        self._loop.post(lambda: self._loop.set_quiet(False))
        for other in self._beside:
            other.resume()

    def wait(self) -> Tally:
        """Wait until it has stopped. Raises the error that ended it, if any."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._join(self._thread)
        if self._error is not None:
            raise self._error
        return self._tally

    def _join(self, thread: threading.Thread) -> None:
        """Wait for the thread. If Ctrl-C has interrupted `start`, the thread may begin later or never."""
        while True:
            try:
                thread.join()
            except RuntimeError:  # it has not begun
                if thread not in threading.enumerate():
                    return self._close()
                time.sleep(0.001)
            else:
                return None

    def __enter__(self) -> Listener:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _open(self) -> None:
        if self._used:
            raise ListenerStopped(
                "this listener is stopping and takes no more work. Make a new one: schedule.listener(s)."
            )
        self._used = True
        self._end_log = logbook.begin()
        try:
            if self._how.health is not None:  # first: a port that is taken refuses before anything is registered
                page = None if self._is_counted else self._metrics()
                self._pages = Pages(self._how.health, live=self.dead, ready=self.unready, metrics=page)
            for other in self._beside:
                other.start()
            self._loop.open()
        except BaseException:
            self._close()
            raise
        self._watchdog.start()

    def _metrics(self) -> Page | None:
        """Begin to count runs, and return the function that writes the page; None without prometheus-client."""
        if not is_installed():
            return None
        totals, gauges = Totals(), Gauges()
        self.measure_into(totals, gauges)
        return metrics_page(totals, gauges)

    def measure_into(self, totals: Totals, gauges: Gauges) -> None:
        """Count runs from now on into these sums, and add the schedules to the gauges until they stop. Includes the
        listeners beside this one.
        """
        for one in (self, *self._beside):
            totals.add(one._loop.counted())
            for broker in one._loop.brokers:
                gauges.add(broker.schedule, partial(one._inspector, broker))

    def _inspector(self, broker: Broker) -> Inspector:
        if self._is_over:
            raise Unsupported.about("a listener that has stopped", "looks at nothing", "Make a new one.")
        return broker.inspector

    def dead(self) -> str | None:
        """Return in words why its loop, or that of a listener beside it, is stuck; None if all move. Thread-safe."""
        return next((trouble for one in (self, *self._beside) if (trouble := one._watchdog.trouble())), None)

    def unready(self) -> str | None:
        """Return in words why it, or a listener beside it, takes no work now; None if all do. Thread-safe."""
        return next((trouble for one in (self, *self._beside) if (trouble := one._loop.unready())), None)

    def _with_others(self, tally: Tally) -> Tally:
        """Wait until the listeners beside this one have ended, and add the endings that they could not store. Raises
        the error that has ended one of them.
        """
        for other in self._beside:
            other.ask_to_stop()
        return replace(tally, unstored=tally.unstored + sum(other.wait().unstored for other in self._beside))

    def _close(self) -> None:
        self._is_over = True
        for other in self._beside:
            other.ask_to_stop()
        self._end_log()
        self._watchdog.close()
        if self._pages is not None:
            self._pages.close()

    def _serve(self) -> None:
        try:
            self._tally = self._with_others(self._loop.run())
        except BaseException as error:  # raised when the owner waits; it may never wait
            self._error = error
            events.emit("ended", reason=text_of(error) if isinstance(error, WorkkitError) else described(error))
            self._failed()
        finally:
            self._close()


def _spare_collector() -> None:
    """Make Python collect cyclic garbage less often. Python takes some thousand live claims for growth, and its
    collections took a quarter of the time per job. Modules imported by now are exempt from collection.
    """
    youngest, *older = gc.get_threshold()
    if 0 < youngest < BETWEEN_COLLECTIONS:  # else the program has set its own
        gc.freeze()
        gc.set_threshold(BETWEEN_COLLECTIONS, *older)


STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
DUMP = (signal.SIGUSR2, signal.SIGTTIN)


@contextmanager
def obeyed(listener: Listener) -> Iterator[None]:
    """Obey signals inside this context, if this is the main thread; otherwise the program's own handlers stay.

    INT, TERM and HUP: finish within the deadline; the second one ends the process at once with 128 + its number, and
    other listeners take over its runs. TSTP: claim nothing new. CONT: take work again. USR2 and TTIN: write stacks to
    stderr.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopping = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            sys.stderr.flush()
            os._exit(128 + number)
        stopping = True
        listener.ask_to_stop()

    handlers = dict.fromkeys(STOP, stop)
    handlers[signal.SIGTSTP] = lambda *_: listener.quiet()
    handlers[signal.SIGCONT] = lambda *_: listener.resume()
    for number in DUMP:
        handlers[number] = lambda *_: faulthandler.dump_traceback(all_threads=True)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


LOGGER = logging.getLogger("workkit")
LEVELS = {"late": events.INFO}  # a whole backlog is late, and the logger writes every record


class Logbook:
    """The subscription of the logger to events, one for all listeners of this process, from the first to the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners = 0
        self._unsubscribe: Callable[[], None] = lambda: None

    def begin(self) -> Callable[[], None]:
        """Write records from now on, unless another subscriber prints events; return a function that ends this."""
        if events.printed():
            return lambda: None
        with self._lock:
            self._listeners += 1
            if self._listeners == 1:
                self._unsubscribe = events.subscribe(_Records())
        return self._end

    def _end(self) -> None:
        with self._lock:
            self._listeners -= 1
            if not self._listeners:
                self._unsubscribe()


class _Records:
    """The subscriber: it wants the events that the logger accepts."""

    takes = LOGGER.isEnabledFor

    def __call__(self, event: Event) -> None:
        level = min(event.level, LEVELS.get(event.name, event.level))
        if not LOGGER.isEnabledFor(level):
            return
        error = event.fields.get("exception") if event.is_final else None
        at = without_ours(error.__traceback__) if isinstance(error, BaseException) else None
        text = _record_text(event)
        if at is None and event.is_final:  # raised in a worker process, or without an error: its listeners died
            text = "\n".join(filter(None, (text, str(event.fields.get("traceback") or "").rstrip())))
        raised = (type(error), error, at) if error is not None and at else None
        LOGGER.log(level, "%s", text, exc_info=raised, extra=_extra(event))

    def wants(self, name: str) -> bool:
        """Return whether the logger accepts this event."""
        return LOGGER.isEnabledFor(LEVELS.get(name, events.LEVELS.get(name, events.INFO)))


def _extra(event: Event) -> dict[str, Any]:
    """Return the attributes of a record: its event and its job, with the names of `JobLogFilter`."""
    job, fields = event.fields.get("job"), {"event": event.name}
    if job is not None:
        return {**fields, **job_fields(job)}
    if event.fields.get("job_id") is not None:
        fields["job_id"] = str(event.fields["job_id"])
    return fields | ({} if event.schedule is None else {"job_schedule": event.schedule})


def _record_text(event: Event) -> str:
    """Write an event in one line: its word, its job and schedule, and its text. Leaves out arguments."""
    job = event.fields.get("job")
    id = job.id if job is not None else event.fields.get("job_id")
    about = [] if id is None else [str(id)[:8], *([brief(shown(job.fn))] if job is not None else [])]
    of = [f"of {event.schedule}"] if about and event.schedule else []
    subject = " ".join([event.name.replace("_", " "), *about, *of])
    return ": ".join(filter(None, (subject, ", ".join(event_parts(event)))))


logbook = Logbook()
