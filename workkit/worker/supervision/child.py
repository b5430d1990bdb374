"""One listener process as its supervisor holds it, and the place it has there, which another may take after it."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
SETTLED = 60.0  # seconds of life after which a death is the first again
ANSWER_SECONDS = 2.0


class Child:
    """A process that runs, and the supervisor's ends of its pipes. `said` is the latest report of each name."""

    def __init__(self, command: Callable[[str], Sequence[str]]) -> None:
        orders, self._orders = os.pipe()
        self.reports, reports = os.pipe()
        try:
            self._process = subprocess.Popen(
                command(f"{orders},{reports}"),
                stdin=subprocess.DEVNULL,
                pass_fds=(orders, reports),
                start_new_session=True,  # a Ctrl-C is for the supervisor alone
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(orders)
            os.close(reports)
        os.set_blocking(self.reports, False)
        os.set_blocking(self._orders, False)
        self.pid, self.began = self._process.pid, time.monotonic()
        self.said: dict[str, Mapping[str, Any]] = {}
        self.is_deaf = False  # no report can come any more
        self._rest = b""

    def order(self, order: str) -> None:
        """Tell it; one that is dying needs no orders, and one that stands still has enough of them."""
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self._orders, f"{order}\n".encode())

    def hear(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Read the reports that are there."""
        while not self.is_deaf:
            try:
                part = os.read(self.reports, 65536)
            except BlockingIOError:
                return
            self.is_deaf = not part
            *lines, self._rest = (self._rest + part).split(b"\n")
            for line in lines:
                report = json.loads(line)
                yield report["name"], report["fields"]

    def status(self) -> int | None:
        """Its exit status, minus the signal that killed it, or None while it runs."""
        return self._process.poll()

    def kill(self) -> None:
        """End it at once, if it still runs."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipes. To one that still runs this is the order to stop."""
        os.close(self._orders)
        os.close(self.reports)

    def unready(self) -> str | None:
        """Ask its own page why it takes no work right now; None if it does. From any thread."""
        address = urlsplit(str(self.said.get("health", {}).get("url"))).netloc
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
class Slot:
    """A place for one child after another; `start_at` is when the next begins, by `time.monotonic`."""

    child: Child | None = None
    start_at: float | None = None
    has_listened: bool = False
    deaths: int = 0  # in a row, none of them after a long life

    @property
    def is_listening(self) -> bool:
        """Whether the child has said so, and what it may run, which it says right after."""
        return self.child is not None and "may_run" in self.child.said

    def pause(self, *, lived: float) -> float:
        """Tell how many seconds to wait before the next child, after one that lived so long: none the first time,
        then 0.5 doubling to 30, a random part of up to half taken off.
        """
        self.deaths = 1 if lived >= SETTLED else self.deaths + 1
        if self.deaths == 1:
            return 0.0
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self.deaths - 2, 10)) * random.uniform(0.5, 1.0)


def how_it_ended(status: int) -> str:
    """Word what `Child.status` said."""
    if status >= 0:
        return f"ended with status {status}"
    with suppress(ValueError):
        return f"was killed by {signal.Signals(-status).name}"
    return f"was killed by signal {-status}"
