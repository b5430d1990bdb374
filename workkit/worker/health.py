"""Health of a listener: pages for monitors outside, a watchdog over its loop, and the stalls of its threads."""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from workkit import events
from workkit.errors import InvalidOptions
from workkit.jobs.names import brief, read_name
from workkit.text.exposition import MISSING
from workkit.worker.lane import LookUp
from workkit.worker.run.event_loop import EventLoop

STUCK = 70  # exit status of a process with a stuck loop (EX_SOFTWARE)
LOOK = 1.0  # seconds between looks
IDLE = 4  # factor of an alarm's wait for a process that uses no processor: it may be suspended
CORES = 8  # on a machine with more processors an alarm waits longer: threads in C may use them

SOON = 2.0  # the least seconds of silence after which the event loop counts as blocked
MOST_PASSED = 2.0  # the most seconds that count between two looks: a suspended process is not stuck

STDERR = 2  # the file descriptor: C code writes there
TEXT = "text/plain; charset=utf-8"

Check = Callable[[], str | None]  # returns the fault in words, or None
Answer = tuple[int, str, bytes]  # status, type of the content, content
Page = Callable[[], Answer]


class Watchdog:
    """A check, once a second, that the loop still moves.

    It counts its own checks, not the time, so that a process which was suspended and continued does not count as stuck.
    """

    def __init__(self, pulse: Callable[[], int], *, seconds: float) -> None:
        self._pulse, self._patience = pulse, max(1, round(seconds / LOOK))
        self.ends_process = False
        self._alarm: Alarm | None = None
        self._still = 0  # looks without a movement
        self._over = threading.Event()

    def start(self) -> None:
        """Look from now on."""
        if self.ends_process:
            self._alarm = Alarm(self._patience * LOOK)
        threading.Thread(target=self._watch, name="workkit-watchdog", daemon=True).start()

    def trouble(self) -> str | None:
        """Return in words why the loop counts as stuck; None if it moves."""
        return f"the loop has not moved for {self._still * LOOK:.0f} s" if self._still >= self._patience else None

    def close(self) -> None:
        """End its thread."""
        self._over.set()
        if self._alarm is not None:
            self._alarm.cancel()

    def _watch(self) -> None:
        last = -1
        while not self._over.wait(LOOK):
            if self._alarm is not None:
                self._alarm.set()
            now = self._pulse()
            self._still = 0 if now != last else self._still + 1
            last = now
            if self._still == self._patience:
                events.emit("stuck", reason=self.trouble())
                faulthandler.dump_traceback(all_threads=True)
                if self.ends_process:
                    sys.stderr.flush()
                    os._exit(STUCK)


class Alarm:
    """A timer that writes all stacks and ends this process, unless it is set again within `seconds` of processor time,
    or within four times as many by the clock.

    It needs no interpreter: a call into C that keeps the interpreter, such as an endless regular expression, blocks all
    Python threads and signal handlers. Processor time does not pass for a suspended process.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._over = seconds, False
        self._lock = threading.Lock()
        self._scale = max(1.0, (os.cpu_count() or 1) / CORES)
        self._has_timer = signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL  # else the program uses it
        if self._has_timer:
            faulthandler.register(signal.SIGVTALRM, file=STDERR, all_threads=True, chain=True)
        self.set()

    def set(self) -> None:
        """Set the timer again."""
        with self._lock:
            if self._over:
                return
            faulthandler.dump_traceback_later(IDLE * self._seconds, file=STDERR, exit=True)
            if self._has_timer:
                signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds * self._scale)

    def cancel(self) -> None:
        """Cancel the timer; the process may block from now on."""
        with self._lock:
            self._over = True
            faulthandler.cancel_dump_traceback_later()
            if self._has_timer:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
                faulthandler.unregister(signal.SIGVTALRM)


class Pages:
    """The pages ``/livez`` (the loop moves), ``/readyz`` (the listener takes work) and ``/metrics``. The first two
    answer 200, or 503 with the reason. HTTP, GET and HEAD.
    """

    def __init__(
        self, address: tuple[str, int], *, live: Check, ready: Check, metrics: Callable[[], tuple[str, bytes]] | None
    ) -> None:
        pages = {"/livez": _check(live), "/readyz": _check(lambda: live() or ready()), "/metrics": _metrics(metrics)}
        self._over, self._handler = threading.Event(), _handler(pages)
        try:
            server = _PageServer(address, self._handler, over=self._over)
        except (OSError, OverflowError) as error:
            host, port = address
            reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
            raise InvalidOptions(f"health_port={host}:{port}: {reason}. Give a free port.", given=port) from error
        self._thread = threading.Thread(target=self._serve, args=(server,), name="workkit-health", daemon=True)
        self._thread.start()
        server.announce()

    def close(self) -> None:
        """Close the port."""
        self._over.set()
        self._thread.join()

    def _serve(self, server: _PageServer) -> None:
        """Serve until closed. If a handler closes the socket, open the port again."""
        while not self._over.is_set():
            with suppress(_Lost):
                server.serve_forever()
            if server.is_ours():
                server.server_close()
                return
            server.socket.detach()  # another file may have its number by now
            while not self._over.is_set():
                with suppress(OSError):
                    server = _PageServer(server.server_address[:2], self._handler, over=self._over)
                    server.announce()
                    break
                self._over.wait(LOOK)


class _Lost(Exception):
    """The socket is closed, or is about to be."""


class _PageServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: Any, handler: type[BaseHTTPRequestHandler], *, over: threading.Event) -> None:
        super().__init__(address, handler)
        self._over, self._file = over, self._seen()

    def announce(self) -> None:
        host, port = self.server_address[:2]
        events.emit("health", url=f"http://{host!s}:{port}")

    def is_ours(self) -> bool:
        """Return whether its descriptor still belongs to its socket. A handler may close any descriptor, and the system
        uses the number again.
        """
        return self._seen() == self._file

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:  # no file descriptor is free; the connection stays pending, so pause before the next look
            self._over.wait(0.1)
            raise

    def service_actions(self) -> None:
        if self._over.is_set() or not self.is_ours():
            raise _Lost

    def _seen(self) -> tuple[int, int] | None:
        with suppress(OSError):
            found = os.fstat(self.fileno())
            return found.st_dev, found.st_ino
        return None


def _check(check: Check) -> Page:
    def page() -> Answer:
        trouble = check()
        return 503 if trouble else 200, TEXT, f"{trouble or 'ok'}\n".encode()

    return page


def _metrics(metrics: Callable[[], tuple[str, bytes]] | None) -> Page:
    def page() -> Answer:
        if metrics is None:
            return 404, TEXT, f"{MISSING}\n".encode()
        kind, text = metrics()
        return 200, kind, text

    return page


def _handler(pages: dict[str, Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            status, kind, body = _no_page(pages) if page is None else page()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name http.server asks for

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: probes arrive every few seconds."""

    return Handler


def _no_page(pages: dict[str, Page]) -> Answer:
    return 404, TEXT, f"no such page; there are {', '.join(pages)}\n".encode()


class Stalls:
    """The search for stalls: an endless lookup, due work that no thread begins, a blocked or dead event loop. `/readyz`
    shows them. Only the loop's thread uses it; `trouble` is thread-safe. Times are `time.monotonic()` seconds.
    """

    def __init__(self, *, seconds: float) -> None:
        self.trouble: str | None = None  # in words
        self._patience = seconds
        self._looked_at = math.inf
        self._looking: dict[LookUp, float] = {}  # seconds since it began
        self._latest = 0.0  # when a run last began or ended
        self._idle = 0.0  # seconds in which threads were free, work was due, and none began
        self._ticks: int | None = None
        self._silent = 0.0  # seconds in which the event loop did not tick

    def look(self, now: float, *, lookups: Collection[LookUp], free: int, latest: float, event_loop: EventLoop) -> None:
        """Check all parts: `lookups` that threads have begun; the number of threads that are `free` for due work; the
        `latest` time when a run began or ended; and the event loop.
        """
        passed = max(0.0, min(now - self._looked_at, MOST_PASSED))
        self._looked_at = now
        stuck = self._lookups(lookups, passed)
        unbegun = self._unbegun(free, latest, passed)
        silent = self._event_loop(event_loop, passed) if event_loop.has_begun else None
        self.trouble = stuck or unbegun or silent

    def _lookups(self, lookups: Collection[LookUp], passed: float) -> str | None:
        before = self._looking
        self._looking = {task: before[task] + passed if task in before else 0.0 for task in lookups}
        stuck = [task for task, seconds in self._looking.items() if seconds >= self._patience]
        if not stuck:
            return None
        longest = max(stuck, key=self._looking.__getitem__)
        name = read_name(longest.claim.fn)
        what = brief(longest.claim.fn if name is None else name.space)
        who = "1 thread has" if len(stuck) == 1 else f"{len(stuck)} threads have"
        return f"{who} been importing {what} for {self._looking[longest]:.0f} s"

    def _unbegun(self, free: int, latest: float, passed: float) -> str | None:
        self._idle = self._idle + passed if free > 0 and latest <= self._latest else 0.0
        self._latest = max(self._latest, latest)
        if self._idle < self._patience:
            return None
        who = "1 thread is" if free == 1 else f"{free} threads are"
        return f"work is due and {who} free, but none has begun any for {self._idle:.0f} s"

    def _event_loop(self, event_loop: EventLoop, passed: float) -> str | None:
        ticks = event_loop.ticks
        self._silent = self._silent + passed if ticks is not None and ticks == self._ticks else 0.0
        self._ticks = ticks
        if lost := event_loop.lost:
            return f"{event_loop.name} has died: {lost}. The next coroutine starts another, unless it is the program's."
        trouble = f"{event_loop.name} has not answered for {self._silent:.0f} s: a handler blocks it"
        if self._silent >= max(SOON, self._patience / 6) and not event_loop.is_silent:  # half of `listener_timeout`
            event_loop.give_back()
            events.emit("stuck", reason=f"{trouble}. Coroutines that have not begun go back, until it answers.")
        return trouble if self._silent >= self._patience else None
