"""Several listener processes as one: the supervisor starts them, passes orders on, replaces those that end, and reports
for all of them.

Each process is a whole listener, with its own registration and heartbeat. The supervisor connects to no server, except
for the gauges of `/metrics`. It has two pipes to each process: one carries orders, the other carries reports back (see
`listener_process.py`). With metrics, each process counts its runs in a file that the supervisor also reads.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import FrameType
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.contract.broker import Inspector
from workkit.text.exposition import is_installed
from workkit.worker.exposition import Gauges, metrics_page
from workkit.worker.health import Pages
from workkit.worker.listener import DUMP, STOP
from workkit.worker.listener_process import GRACE, ListenerProcess, ProcessPulse, Seat
from workkit.worker.run_table import Totals
from workkit.worker.service import how_it_ended, service_manager, shell_status

SERVER = 69  # exit status of a process that the server refuses for good
REPORTING = 1.0  # seconds in which processes report active runs, before the line about the stop
ORDERS = {signal.SIGTSTP: "quiet", signal.SIGCONT: "resume", **dict.fromkeys(DUMP, "dump")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """The processes to keep running. `command` makes the command line of a process, with the ends of its pipes in it.
    `inspectors`: the inspectors of the schedules, by name, for the gauges of `/metrics`.
    """

    command: Callable[[str], Sequence[str]]
    processes: int
    deadline: timedelta
    burst: bool = False
    stuck_after: timedelta = timedelta(seconds=30)
    health: tuple[str, int] | None = None
    inspectors: Mapping[str, Callable[[], Inspector]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """The end of the supervisor: an exit status, and the message of a process to the user. `retrying`: the number of
    jobs that wait for a retry after a burst.
    """

    status: int
    text: str = ""
    retrying: int = 0


class Supervisor:
    """The supervisor: it keeps N processes running until INT, TERM or HUP; with `burst` until each has ended. Serves
    once.
    """

    def __init__(self, plan: ProcessPlan) -> None:
        self._plan = plan
        self._seats = [Seat() for _ in range(plan.processes)]
        self._selector = selectors.DefaultSelector()
        self._signals: list[int] = []
        self._began = time.monotonic()
        self._stopping_at: float | None = None
        self._reported = {"listening": False, "stopping": False}
        self._quiet = False
        self._refusal: Exit | None = None
        self._worst = 0
        self._tally = dict.fromkeys(("ran", "failed", "given_back"), 0)
        self._retried = 0
        self._retrying = 0  # jobs that waited for a retry when the last process ended
        self._start_reports: dict[str, Mapping[str, Any]] = {}  # of the first process that listened
        self._ran_on = 0  # runs that were active as the stop began, in processes that have ended since
        self._totals = Totals() if plan.health and is_installed() else None
        self._uncounted = 0  # processes that ended without a report of their runs
        self._manager = service_manager()
        self._pulse = ProcessPulse(self._manager, seconds=plan.stuck_after.total_seconds())

    def run(self) -> Exit:
        """Serve until all have ended. In the main thread only. Raises InvalidOptions for a port that is taken."""
        with self._manager.told_of_events():
            return self._served()

    def _served(self) -> Exit:
        health = self._plan.health
        page = metrics_page(self._totals, Gauges(self._plan.inspectors)) if self._totals is not None else None
        pages = Pages(health, live=self.dead, ready=self.unready, metrics=page) if health else None
        try:
            with self._obeyed():
                for seat in self._seats:
                    self._start(seat)
                while any(seat.process or seat.start_at is not None for seat in self._seats):
                    self._turn()
        finally:
            for seat in self._seats:  # none is left, unless this process itself failed
                if seat.process is not None:
                    seat.process.close()
            self._selector.close()
            if pages is not None:
                pages.close()
        if self._reported["listening"]:
            up_ms = round((time.monotonic() - self._began) * 1000)
            some = {"retried": self._retried, "retrying": self._retrying}
            tally = self._tally | {name: number for name, number in some.items() if number}
            events.emit("stopped", **tally, up_ms=up_ms, uncounted=self._uncounted)
        return self._refusal or Exit(status=self._worst, retrying=self._retrying)

    # State for the threads that serve the pages.

    def dead(self) -> str | None:
        """Return why the whole does not live, or None. It lives if each process answers; only a process in its pause
        may be missing.
        """
        now = time.monotonic()
        late = [seat for seat in self._seats if seat.start_at is not None and now > seat.start_at + GRACE]
        if late and self._stopping_at is None:
            return "a process that ended was not replaced"
        return next((trouble for process in self._processes() if (trouble := self._pulse.trouble(process))), None)

    def unready(self) -> str | None:
        """Return why not every process takes work now, or None."""
        if self._stopping_at is not None:
            return "stopping"
        processes = [seat.process for seat in self._seats]
        listening = [process for process in processes if process is not None and "listening" in process.reports]
        if len(listening) < len(processes):
            return f"{len(listening)} of {len(processes)} processes listen"
        troubles = ((process.pid, process.unready()) for process in listening)
        return next((f"process {pid}: {trouble}" for pid, trouble in troubles if trouble), None)

    # One turn: wait, read reports, bury, start.

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            if isinstance(key.data, ListenerProcess):
                self._read(key.data)
            else:
                with suppress(BlockingIOError):
                    key.data.recv(4096)
        while self._signals:
            self._obey(self._signals.pop(0))
        for seat in self._seats:
            if seat.process is not None and (status := seat.process.status()) is not None:
                self._bury(seat, seat.process, status)
            if seat.start_at is not None and time.monotonic() >= seat.start_at:
                self._start(seat)
        self._report()
        self._pulse.beat(self._processes())

    def _processes(self) -> list[ListenerProcess]:
        return [seat.process for seat in self._seats if seat.process is not None]

    def _patience(self) -> float:
        """Return the seconds until the next step, if nothing arrives."""
        at = [seat.start_at for seat in self._seats if seat.start_at is not None]
        at.append(self._pulse.at)
        if self._stopping_at is not None:
            at.append(self._stopping_at + REPORTING if not self._reported["stopping"] else self._ends_at())
        return min(60.0, max(0.02, min(at) - time.monotonic()))

    def _ends_at(self) -> float:
        return (self._stopping_at or 0.0) + self._plan.deadline.total_seconds() + GRACE

    def _start(self, seat: Seat) -> None:
        seat.start_at = None
        try:
            process = seat.process = ListenerProcess(self._plan.command, counts=self._totals is not None)
        except OSError:  # out of processes or memory, for now
            if not seat.has_listened:
                raise
            seat.start_at = time.monotonic() + seat.pause(lived=0.0)
            return
        self._selector.register(process.pipe, selectors.EVENT_READ, process)
        if self._totals is not None and process.table is not None:
            self._totals.add(process.table)
        if self._quiet:
            process.order("quiet")

    def _read(self, process: ListenerProcess) -> None:
        for name, fields in process.read():
            process.reports[name] = fields
            if name in ("listening", "may_run"):
                self._start_reports.setdefault(name, fields)
            if name == "stopped":
                for key in self._tally:
                    self._tally[key] += int(fields.get(key) or 0)
                self._retried += int(fields.get("retried") or 0)
                self._retrying = int(fields.get("retrying") or 0)
        if process.has_finished:
            with suppress(KeyError):
                self._selector.unregister(process.pipe)

    def _bury(self, seat: Seat, process: ListenerProcess, status: int) -> None:
        self._read(process)
        with suppress(KeyError):
            self._selector.unregister(process.pipe)
        process.close()
        if self._totals is not None and process.table is not None:
            self._totals.retire(process.table)
        seat.process = None
        seat.has_listened = seat.has_listened or "listening" in process.reports
        self._uncounted += "listening" in process.reports and "stopped" not in process.reports
        if self._stopping_at is not None:
            self._ran_on += int(process.reports.get("stopping", {}).get("running") or 0)
        refusal = process.reports.get("refused")
        if self._stopping_at is None and self._comes_again(seat, process, status):
            self._refuse(process, status)
            self._stop()
        elif self._stopping_at is None and not self._plan.burst:
            pause = seat.pause(lived=time.monotonic() - process.began)
            reason = how_it_ended(status) + (f": {refusal['reason']}" if refusal else "")
            events.emit("restarted", pid=process.pid, status=status, after_ms=round(pause * 1000), reason=reason)
            seat.start_at = time.monotonic() + pause
        else:
            self._worst = max(self._worst, shell_status(status))
            if refusal and self._refusal is None:
                self._refuse(process, status)

    def _refuse(self, process: ListenerProcess, status: int) -> None:
        text = process.reports.get("refused", {}).get("text")
        text = text or f"error: process {process.pid} {how_it_ended(status)} before it listened."
        self._refusal = Exit(status=shell_status(status), text=text)

    def _comes_again(self, seat: Seat, process: ListenerProcess, status: int) -> bool:
        """Return whether a new process would end like this one: refused before it ever listened, or by its server for
        good.

        A killed process may be started again, unless none has listened yet: then its code may be the cause.
        """
        if status < 0:
            return not any(seat.has_listened or seat.is_listening for seat in self._seats)
        if not seat.has_listened:
            return status != 0
        return status == SERVER and "listening" in process.reports and "refused" in process.reports

    # Orders.

    def _obey(self, number: int) -> None:
        order = ORDERS.get(signal.Signals(number))
        if order is None:
            self._stop()
            return
        if order != "dump" and (self._stopping_at is not None or self._quiet == (order == "quiet")):
            return
        self._order(order)
        if order != "dump":
            self._quiet = order == "quiet"
            events.emit("quiet" if self._quiet else "resumed")

    def _stop(self) -> None:
        if self._stopping_at is None:
            self._stopping_at = time.monotonic()
            for seat in self._seats:
                seat.start_at = None
            self._order("stop")

    def _order(self, order: str) -> None:
        for seat in self._seats:
            if seat.process is not None:
                seat.process.order(order)

    def _report(self) -> None:
        """Emit one event for all processes as soon as it holds for each."""
        if not self._reported["listening"] and all(seat.has_listened or seat.is_listening for seat in self._seats):
            self._reported["listening"] = True
            me = {"listener": f"{socket.gethostname()}:{os.getpid()}", "pid": os.getpid()}
            events.emit("listening", **{**self._start_reports["listening"], **me, "processes": len(self._seats)})
            events.emit("may_run", **self._start_reports["may_run"])
            self._pulse.begin(self._processes())
        if self._stopping_at is not None:
            self._report_stop(self._processes(), since=self._stopping_at)

    def _report_stop(self, processes: Sequence[ListenerProcess], *, since: float) -> None:
        now = time.monotonic()
        stopping = [process.reports["stopping"] for process in processes if "stopping" in process.reports]
        if not self._reported["stopping"] and (len(stopping) == len(processes) or now >= since + REPORTING):
            self._reported["stopping"] = True
            if self._refusal is None:
                running = self._ran_on + sum(int(fields.get("running") or 0) for fields in stopping)
                events.emit("stopping", running=running, deadline_ms=round(self._plan.deadline.total_seconds() * 1000))
        if now >= self._ends_at():
            for process in processes:
                process.kill()

    @contextmanager
    def _obeyed(self) -> Iterator[None]:
        """Note signals for the next turn. The second stop signal kills all processes at once, and the status is 128 +
        its number; other listeners take over their runs.
        """
        woken, wake = socket.socketpair()
        with woken, wake:
            wake.setblocking(False)
            woken.setblocking(False)
            self._selector.register(woken, selectors.EVENT_READ, woken)
            stopped = False

            def hear(number: int, _: FrameType | None) -> None:
                nonlocal stopped
                if number in STOP and stopped:
                    self._end(128 + number)
                stopped = stopped or number in STOP
                if number != signal.SIGCHLD:
                    self._signals.append(number)

            numbers = (*STOP, *ORDERS, signal.SIGCHLD)
            before = {number: signal.signal(number, hear) for number in numbers}
            woke = signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
            try:
                yield
            finally:
                signal.set_wakeup_fd(woke)
                for number, handler in before.items():
                    signal.signal(number, handler)

    def _end(self, status: int) -> None:
        for seat in self._seats:
            if seat.process is not None:
                seat.process.kill()
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        os._exit(status)
