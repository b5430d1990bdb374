"""A listener as its owner holds it: the owner starts it, makes it quiet, stops it and waits for it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial

from workkit import events
from workkit.clocks import time
from workkit.contract.broker import Broker, Inspector, Producer
from workkit.contract.producer import Tally
from workkit.errors import ListenerStopped, Unsupported, WorkkitError, described, text_of
from workkit.text.exposition import Page, is_installed
from workkit.triggers.english.numbers import duration
from workkit.worker.health import Pages, Watchdog
from workkit.worker.logbook import logbook
from workkit.worker.loop import How, Loop
from workkit.worker.monitoring.exposition import metrics_page
from workkit.worker.monitoring.gauges import Gauges
from workkit.worker.monitoring.run_table import RunTable, Totals
from workkit.worker.service import ServiceManager, served

BETWEEN_COLLECTIONS = 10_000  # new objects between two collections of the youngest generation; Python's default is 700


class Listener:
    """Runs the due jobs of one or more schedules until stopped, or forwards them `to` another one. Made by
    `schedule.listener` and `schedule.forwarder`; serves once.
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
        self._is_counted = False  # in a table that its supervisor reads
        self._is_over = False
        self._beside: list[Listener] = []
        self._failed: Callable[[], None] = lambda: None  # what to do when it has ended by an error, in its own thread

    def beside(self, other: Listener) -> Listener:
        """Serve `other` too, in a thread of its own, as long as this one serves. An error that ends it ends both."""
        other._failed = self.ask_to_stop
        self._beside.append(other)
        return self

    def call_once_imported(self, call: Callable[[], None]) -> None:
        """Have this called at the start, once its modules are imported, and before it registers."""
        self._loop.once_imported = call

    def count_into(self, file: int) -> None:
        """Count its runs in a file that its supervisor reads too. Before it starts."""
        self._loop.count_into(RunTable(file))
        self._is_counted = True

    def start(self) -> Listener:
        """Register and listen in a thread of its own. Raises ServerUnreachable, ServerRefused, InvalidFunction."""
        self._open()
        self._thread = threading.Thread(target=self._serve, name="workkit-listener", daemon=True)
        self._thread.start()
        return self

    def run(self) -> Tally:
        """Register and listen here, until stopped; raises as `start` does. In the main thread it owns the process:
        a process whose loop stops moving ends with status 70, so that its supervisor starts another; and systemd is
        told how it is, if it asks for that.
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
        """Take nothing new, finish within the deadline (default: the one set at the start), give back the rest."""
        self.ask_to_stop(None if deadline is None else duration(deadline, name="deadline"))
        return self.wait()

    def ask_to_stop(self, deadline: timedelta | None = None) -> None:
        """Begin to stop, and return at once. Safe in a signal handler."""
        self._loop.post(lambda: self._loop.begin_stop(self._how.deadline if deadline is None else deadline))
        for other in self._beside:
            other.ask_to_stop(deadline)

    def quiet(self) -> None:
        """Take nothing new until `resume`; active runs continue."""
        self._loop.post(lambda: self._loop.set_quiet(True))
        for other in self._beside:
            other.quiet()

    def resume(self) -> None:
        """Take work again."""
        self._loop.post(lambda: self._loop.set_quiet(False))
        for other in self._beside:
            other.resume()

    def wait(self) -> Tally:
        """Wait until it has stopped; raises what ended it, if that was an error."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._join(self._thread)
        if self._error is not None:
            raise self._error
        return self._tally

    def _join(self, thread: threading.Thread) -> None:
        """Wait for the thread. Where Ctrl-C has interrupted `start`, it may not have begun yet, or never begins."""
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
        """Begin to count runs, and return what writes the page; None without prometheus-client."""
        if not is_installed():
            return None
        totals, gauges = Totals(), Gauges()
        self.measure_into(totals, gauges)
        return metrics_page(totals, gauges)

    def measure_into(self, totals: Totals, gauges: Gauges) -> None:
        """Count runs from now on, also those of listeners beside, into these sums; and have gauges look at their
        schedules until they stop.
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
        """Word why its loop does not move, or that of one beside it; None if all do. From any thread."""
        return next((trouble for one in (self, *self._beside) if (trouble := one._watchdog.trouble())), None)

    def unready(self) -> str | None:
        """Word why it takes no work right now, or one beside it; None if all do. From any thread."""
        return next((trouble for one in (self, *self._beside) if (trouble := one._loop.unready())), None)

    def _with_others(self, tally: Tally) -> Tally:
        """Wait until the listeners beside this one have ended, and add the endings that they could not store. Raises
        what has ended one of them.
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
        except BaseException as error:  # raised where the owner waits, which may be never
            self._error = error
            events.emit("ended", reason=text_of(error) if isinstance(error, WorkkitError) else described(error))
            self._failed()
        finally:
            self._close()


def _spare_collector() -> None:
    """Make Python collect cyclic garbage less often. Some thousand claims that live at a time look like growth to it,
    and the collections took a quarter of the time per job. Modules imported by now are exempt from collection.
    """
    youngest, *older = gc.get_threshold()
    if 0 < youngest < BETWEEN_COLLECTIONS:  # else the program has set its own
        gc.freeze()
        gc.set_threshold(BETWEEN_COLLECTIONS, *older)
