"""One listener process, as its supervisor holds it, and the seat in which one such process follows another."""

from __future__ import annotations

import http.client
import json
import os
import random
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from workkit.clocks import time
from workkit.worker.monitoring.run_table import RunTable, shared_file

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SETTLED = 60.0  # seconds of life after which a death is the first again
ANSWER_SECONDS = 2.0


class ListenerProcess:
    """A process that runs, and the supervisor's ends of its pipes. `reports` holds the latest report of each name."""

    def __init__(self, command: Callable[[str], Sequence[str]], *, counts: bool = False) -> None:
        orders, self._orders = os.pipe()
        self.pipe, reports = os.pipe()
        self.table: RunTable | None = None  # where it counts its runs; its owner closes it
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
        self.silent = 0.0  # seconds in which it has not answered (`pulse.py`)
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
        """Return its exit status (minus the number of the signal that killed it), or None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Kill it, if it still runs."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipes. A process that still runs stops then."""
        os.close(self._orders)
        os.close(self.pipe)

    def unready(self) -> str | None:
        """Ask its own `/readyz` why it takes no work right now; None if it does. From any thread."""
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
    """The place of one process after another; `start_at` is when the next one starts, `time.monotonic()` seconds."""

    process: ListenerProcess | None = None
    start_at: float | None = None
    has_listened: bool = False
    deaths: int = 0  # in a row, each within a minute of its start

    @property
    def is_listening(self) -> bool:
        """Whether its process listens: it has reported `listening`, and `may_run` right after."""
        return self.process is not None and "may_run" in self.process.reports

    def pause(self, *, lived: float) -> float:
        """Compute the seconds to wait before the next process, after one that lived so long: none the first time, then
        0.5 doubling to 30, less a random part of up to half.
        """
        self.deaths = 1 if lived >= SETTLED else self.deaths + 1
        if self.deaths == 1:
            return 0.0
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.deaths - 2, 10)) * random.uniform(0.5, 1.0)
