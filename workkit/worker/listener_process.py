"""One listener process of a supervisor: its replacement, its health checks, and the pipes between the two.

The supervisor asks each process once a second, and the process answers by a report. The supervisor kills a process that
is silent for too long, so that another takes its place. It reports to the service manager if any process has answered.

Orders come by pipe and not by signal: a signal that the terminal or systemd sends to every process is no order, and a
pipe keeps an order that comes before the listener exists. The supervisor alone holds the other end; when it ends, in
any way, the listener stops too.
"""

from __future__ import annotations

import faulthandler
import http.client
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from workkit import events
from workkit.clocks import time
from workkit.text.wording import duration_text
from workkit.worker.listener import Listener
from workkit.worker.run_table import RunTable, shared_file
from workkit.worker.service import ServiceManager

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SETTLED = 60.0  # seconds of life after which the count of deaths starts again
ANSWER_SECONDS = 2.0


class ListenerProcess:
    """A process that runs, and the supervisor's ends of its pipes. `reports` holds the latest report of each name."""

    def __init__(self, command: Callable[[str], Sequence[str]], *, counts: bool = False) -> None:
        orders, self._orders = os.pipe()
        self.pipe, reports = os.pipe()
        self.table: RunTable | None = None  # its runs are counted here; its owner closes it
        ends = [orders, reports]
        try:
            if counts:
                ends.append(shared_file())
                self.table = RunTable(ends[-1])
            self._process = subprocess.Popen(
                command(",".join(map(str, ends))),
                stdin=subprocess.DEVNULL,
                pass_fds=ends,
                start_new_session=True,  # a Ctrl-C is for the supervisor alone
            )
        except BaseException:
            self.close()
            raise
        finally:
            for end in ends:
                os.close(end)
        os.set_blocking(self.pipe, False)
        os.set_blocking(self._orders, False)
        self.pid, self.began = self._process.pid, time.monotonic()
        self.reports: dict[str, Mapping[str, Any]] = {}
        self.silent = 0.0  # seconds in which it has not answered: see `ProcessPulse`
        self.has_finished = False  # its end of the report pipe is closed
        self._rest = b""

    def order(self, order: str) -> None:
        """Send an order. It is dropped if the process is ending, or if a stuck process has not read earlier ones."""
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._orders, f"{order}\n".encode())

    def read(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Read the reports that have arrived."""
        while not self.has_finished:
            try:
                part = os.read(self.pipe, 65536)
            except BlockingIOError:
                return
            self.has_finished = not part
            *lines, self._rest = (self._rest + part).split(b"\n")
            for line in lines:
                report = json.loads(line)
                yield report["name"], report["fields"]

    def status(self) -> int | None:
        """Return its exit status (minus the number of the signal that killed it); None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipes. A process that still runs stops then."""
        os.close(self._orders)
        os.close(self.pipe)

    def unready(self) -> str | None:
        """Ask its own `/readyz`, and return why it takes no work now; None if it does. Thread-safe."""
        address = urlsplit(str(self.reports.get("health", {}).get("url"))).netloc
        connection = http.client.HTTPConnection(address, timeout=ANSWER_SECONDS)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            text = answer.read().decode().strip()
            return None if answer.status == 200 else text
        except (OSError, http.client.HTTPException):
            return "does not answer"
        finally:
            connection.close()


@dataclass(slots=True)
class Seat:
    """The place of one process after another. `start_at`: the start of the next one, `time.monotonic()` seconds."""

    process: ListenerProcess | None = None
    start_at: float | None = None
    has_listened: bool = False
    deaths: int = 0  # in a row, each within a minute of its start

    @property
    def is_listening(self) -> bool:
        """Whether its process listens: it has reported `listening`, and `may_run` right after."""
        return self.process is not None and "may_run" in self.process.reports

    def pause(self, *, lived: float) -> float:
        """Return the seconds to wait before the next process, after one that lived `lived` seconds: 0 the first time,
        then 0.5 doubling to 30, less a random part of up to half.
        """
        self.deaths = 1 if lived >= SETTLED else self.deaths + 1
        if self.deaths == 1:
            return 0.0
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.deaths - 2, 10)) * random.uniform(0.5, 1.0)


ASKED = "alive"  # the order, and the report that answers it
LOOK = 1.0  # seconds between two questions


class ProcessPulse:
    """The regular questions to processes. `at`: the time of the next `beat`, `time.monotonic()` seconds. A process may
    be silent for `seconds`, counted in questions, so that a suspended supervisor blames no process. The process has
    `GRACE` seconds more to end by itself and write its stacks.
    """

    def __init__(self, manager: ServiceManager, *, seconds: float) -> None:
        self._manager, self._patience, self.at = manager, seconds, math.inf
        self._between = LOOK if manager.beat_s is None else min(LOOK, manager.beat_s)
        self._tell_at, self._answered = 0.0, False

    def begin(self, processes: Sequence[ListenerProcess]) -> None:
        """Report to the service manager that all is ready, and ask for the first time."""
        self._manager.ready()
        self._tell_at = time.monotonic() + (self._manager.beat_s or 0.0)
        self._ask(processes)

    def beat(self, processes: Sequence[ListenerProcess]) -> None:
        """Report to the service manager that this service lives, if a process has answered since the last report. Kill
        processes that are silent for too long, and ask again.
        """
        now = time.monotonic()
        if now < self.at:
            return
        for process in processes:
            if process.reports.pop(ASKED, None) is not None:
                process.silent, self._answered = 0.0, True
            elif "may_run" in process.reports:  # it listens
                process.silent += self._between
                if process.silent >= self._patience + GRACE:
                    events.emit("stuck", reason=self.trouble(process))
                    process.kill()
        if self._manager.beat_s is not None and now >= self._tell_at:
            if self._answered:
                self._manager.alive()
            self._tell_at, self._answered = now + self._manager.beat_s, False
        self._ask(processes)

    def trouble(self, process: ListenerProcess) -> str | None:
        """Return in words how long a process has been silent; None if that is not too long. Thread-safe."""
        silent = process.silent
        if silent < self._patience:
            return None
        return f"process {process.pid} has not answered for {duration_text(round(silent * 1000))}"

    def _ask(self, processes: Sequence[ListenerProcess]) -> None:
        self.at = time.monotonic() + self._between
        for process in processes:
            process.order(ASKED)


GRACE = 10.0  # seconds that a process may take to end after the deadline of its stop


class Supervised:
    """This process under a supervisor. `ends` lists its inherited descriptors, as the command line does: the pipes
    `orders,reports`, and then the file that counts its runs, if the supervisor shows metrics.
    """

    def __init__(self, ends: str) -> None:
        self._orders, self._reports, *file = map(int, ends.split(","))
        self._file = file
        self._supervisor = os.getppid()
        for end in (self._orders, self._reports, *file):
            os.set_inheritable(end, False)  # not for programs that handlers start

    def report(self, name: str, /, **fields: Any) -> bool:
        """Send a report to the supervisor; False if it has ended."""
        line = json.dumps({"name": name, "fields": fields}, default=str).encode() + b"\n"
        with suppress(OSError):
            return os.write(self._reports, line) == len(line)
        return False

    def obey(self, listener: Listener, *, deadline: timedelta) -> None:
        """Carry out the supervisor's orders from now on, including earlier ones; count the runs for it."""
        for file in self._file:
            listener.count_into(file)
            os.close(file)
        self._file = []
        threading.Thread(target=self._obey, args=(listener, deadline), name="workkit-orders", daemon=True).start()

    def _obey(self, listener: Listener, deadline: timedelta) -> None:
        for order in self._received():
            match order:
                case "stop":
                    listener.ask_to_stop()
                case "quiet":
                    listener.quiet()
                case "resume":
                    listener.resume()
                case "dump":
                    _dump()
                case "alive":  # no answer means that its loop does not move
                    if listener.dead() is None:
                        self.report("alive")
        events.emit("orphaned", pid=self._supervisor)
        listener.ask_to_stop()
        time.sleep(deadline.total_seconds() + GRACE)
        os._exit(1)  # it may hang in an import, and no other process can end it

    def _received(self) -> Iterator[str]:
        """Read orders until the supervisor has ended."""
        rest = b""
        while part := os.read(self._orders, 4096):
            *lines, rest = (rest + part).split(b"\n")
            yield from (line.decode() for line in lines)


def _dump() -> None:
    """Write all stacks to stderr in one piece, because other processes write at the same time."""
    with tempfile.TemporaryFile() as file:
        file.write(f"stacks of process {os.getpid()}:\n".encode())
        file.flush()
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed
            os.write(sys.stderr.fileno(), file.read())
