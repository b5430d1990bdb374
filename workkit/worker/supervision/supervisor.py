"""Several listener processes as one: started, told what to do, started anew when they die, and told of in one voice.

Each child is a whole listener, with a registration and a heartbeat of its own; this process talks to no server. It has
two pipes to each: what is ordered goes down one (see `supervised.py`), what concerns the whole comes up the other.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType
from typing import Any

from workkit import events
from workkit.worker.health import Pages
from workkit.worker.signals import DUMP, STOP
from workkit.worker.supervision.child import Child, Slot, how_it_ended
from workkit.worker.supervision.orders import GRACE

SERVER = 69  # status of a child that the server refuses for good
TELLING = 1.0  # seconds that children have to say what still runs, before the line about the stop
ORDERS = {signal.SIGTSTP: "quiet", signal.SIGCONT: "resume", **dict.fromkeys(DUMP, "dump")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to keep running. `command` gives the child's command line, with the ends of its pipes in it."""

    command: Callable[[str], Sequence[str]]
    processes: int
    deadline: timedelta
    burst: bool = False
    health: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it ended: an exit status, and what one of the children had to say to the user about it."""

    status: int
    text: str = ""


class Supervisor:
    """Keeps `plan.processes` children until INT, TERM or HUP; with `burst` until each has ended. Serves once."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._slots = [Slot() for _ in range(plan.processes)]
        self._selector = selectors.DefaultSelector()
        self._signals: list[int] = []
        self._began = time.monotonic()
        self._stopping_at: float | None = None
        self._told = {"listening": False, "stopping": False}
        self._quiet = False
        self._refusal: Ending | None = None
        self._worst = 0
        self._tally = dict.fromkeys(("ran", "failed", "given_back"), 0)
        self._start_said: dict[str, Mapping[str, Any]] = {}  # by the first child that listened
        self._ran_on = 0  # runs that went on as the stop began, in children that have ended since
        self._uncounted = 0  # processes that ended without a word of what they ran

    def run(self) -> Ending:
        """Serve until all have ended. In the main thread only. Raises InvalidOptions for a port that is taken."""
        health = self._plan.health
        pages = Pages(health, live=self.dead, ready=self.unready) if health else None
        try:
            with self._obeyed():
                for slot in self._slots:
                    self._start(slot)
                while any(slot.child or slot.start_at is not None for slot in self._slots):
                    self._turn()
        finally:
            for slot in self._slots:  # none is left, unless this process itself failed
                if slot.child is not None:
                    slot.child.close()
            self._selector.close()
            if pages is not None:
                pages.close()
        if self._told["listening"]:
            up_ms = round((time.monotonic() - self._began) * 1000)
            events.emit("stopped", **self._tally, up_ms=up_ms, uncounted=self._uncounted)
        return self._refusal or Ending(status=self._worst)

    # What is seen from outside, by the threads that serve the pages.

    def dead(self) -> str | None:
        """Why the whole does not live, or None: a process may be missing only as long as its pause."""
        now = time.monotonic()
        late = [slot for slot in self._slots if slot.start_at is not None and now > slot.start_at + GRACE]
        return "a process that ended was not started anew" if late and self._stopping_at is None else None

    def unready(self) -> str | None:
        """Why not every process takes work right now, or None."""
        if self._stopping_at is not None:
            return "stopping"
        children = [slot.child for slot in self._slots]
        listening = [child for child in children if child is not None and "listening" in child.said]
        if len(listening) < len(children):
            return f"{len(listening)} of {len(children)} processes listen"
        troubles = ((child.pid, child.unready()) for child in listening)
        return next((f"process {pid}: {trouble}" for pid, trouble in troubles if trouble), None)

    # One turn: wait, hear, bury, start.

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            if isinstance(key.data, Child):
                self._hear(key.data)
            else:
                with suppress(BlockingIOError):
                    key.data.recv(4096)
        while self._signals:
            self._obey(self._signals.pop(0))
        for slot in self._slots:
            if slot.child is not None and (status := slot.child.status()) is not None:
                self._bury(slot, slot.child, status)
            if slot.start_at is not None and time.monotonic() >= slot.start_at:
                self._start(slot)
        self._tell()

    def _patience(self) -> float:
        """Tell how many seconds may pass until something is to be done, if nothing comes in."""
        at = [slot.start_at for slot in self._slots if slot.start_at is not None]
        if self._stopping_at is not None:
            at.append(self._stopping_at + TELLING if not self._told["stopping"] else self._ends_at())
        return max(0.02, min(at) - time.monotonic()) if at else 60.0

    def _ends_at(self) -> float:
        return (self._stopping_at or 0.0) + self._plan.deadline.total_seconds() + GRACE

    def _start(self, slot: Slot) -> None:
        slot.start_at = None
        try:
            child = slot.child = Child(self._plan.command)
        except OSError:  # out of processes or memory, for now
            if not slot.has_listened:
                raise
            slot.start_at = time.monotonic() + slot.pause(lived=0.0)
            return
        self._selector.register(child.reports, selectors.EVENT_READ, child)
        if self._quiet:
            child.order("quiet")

    def _hear(self, child: Child) -> None:
        for name, fields in child.hear():
            child.said[name] = fields
            if name in ("listening", "may_run"):
                self._start_said.setdefault(name, fields)
            if name == "stopped":
                for key in self._tally:
                    self._tally[key] += int(fields.get(key) or 0)
        if child.is_deaf:
            with suppress(KeyError):
                self._selector.unregister(child.reports)

    def _bury(self, slot: Slot, child: Child, status: int) -> None:
        self._hear(child)
        with suppress(KeyError):
            self._selector.unregister(child.reports)
        child.close()
        slot.child = None
        slot.has_listened = slot.has_listened or "listening" in child.said
        self._uncounted += "listening" in child.said and "stopped" not in child.said
        if self._stopping_at is not None:
            self._ran_on += int(child.said.get("stopping", {}).get("running") or 0)
        refusal = child.said.get("refused")
        if self._stopping_at is None and self._comes_again(slot, child, status):
            self._refuse(child, status)
            self._stop()
        elif self._stopping_at is None and not self._plan.burst:
            pause = slot.pause(lived=time.monotonic() - child.began)
            reason = how_it_ended(status) + (f": {refusal['reason']}" if refusal else "")
            events.emit("restarted", pid=child.pid, status=status, after_ms=round(pause * 1000), reason=reason)
            slot.start_at = time.monotonic() + pause
        else:
            self._worst = max(self._worst, _exit_status(status))
            if refusal and self._refusal is None:
                self._refuse(child, status)

    def _refuse(self, child: Child, status: int) -> None:
        text = child.said.get("refused", {}).get("text")
        text = text or f"error: process {child.pid} {how_it_ended(status)} before it listened."
        self._refusal = Ending(status=_exit_status(status), text=text)

    def _comes_again(self, slot: Slot, child: Child, status: int) -> bool:
        """Whether a new child would end like this one: refused before it ever listened, or by its server for good.

        One that was killed may be started anew, unless none has listened yet: then it may well be the code.
        """
        if status < 0:
            return not any(place.has_listened or place.is_listening for place in self._slots)
        if not slot.has_listened:
            return status != 0
        return status == SERVER and "listening" in child.said and "refused" in child.said

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
            for slot in self._slots:
                slot.start_at = None
            self._order("stop")

    def _order(self, order: str) -> None:
        for slot in self._slots:
            if slot.child is not None:
                slot.child.order(order)

    def _tell(self) -> None:
        """Say in one line what holds for all."""
        if not self._told["listening"] and all(slot.has_listened or slot.is_listening for slot in self._slots):
            self._told["listening"] = True
            me = {"listener": f"{socket.gethostname()}:{os.getpid()}", "pid": os.getpid()}
            events.emit("listening", **{**self._start_said["listening"], **me, "processes": len(self._slots)})
            events.emit("may_run", **self._start_said["may_run"])
        if self._stopping_at is not None:
            self._tell_stop([slot.child for slot in self._slots if slot.child is not None], since=self._stopping_at)

    def _tell_stop(self, children: Sequence[Child], *, since: float) -> None:
        now = time.monotonic()
        told = [child.said["stopping"] for child in children if "stopping" in child.said]
        if not self._told["stopping"] and (len(told) == len(children) or now >= since + TELLING):
            self._told["stopping"] = True
            if self._refusal is None:
                running = self._ran_on + sum(int(fields.get("running") or 0) for fields in told)
                events.emit("stopping", running=running, deadline_ms=round(self._plan.deadline.total_seconds() * 1000))
        if now >= self._ends_at():
            for child in children:
                child.kill()

    @contextmanager
    def _obeyed(self) -> Iterator[None]:
        """Take signals down for the next turn. The second that stops ends all at once with 128 + its number; what ran
        is taken over by other listeners.
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
        for slot in self._slots:
            if slot.child is not None:
                slot.child.kill()
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()
        os._exit(status)


def _exit_status(status: int) -> int:
    return 128 - status if status < 0 else status
