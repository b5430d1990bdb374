"""A listener's end of the two pipes to its supervisor: orders arrive, reports leave.

Orders come by pipe and not by signal: a signal that the terminal or systemd sends to every process is no order, and an
order that comes before the listener exists is not lost. The supervisor alone holds the other end; when it ends, in any
way, the listener stops too. Knows nothing of log lines.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from workkit import events
from workkit.clocks import time
from workkit.worker.listener import Listener

GRACE = 10.0  # seconds that a process may take to end after the deadline of its stop


class Supervised:
    """This process under a supervisor. `ends` names what it has inherited, as the command line does:
    `orders,reports`, the pipes, and after them the file where its runs are counted, if the supervisor shows metrics.
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
        """Carry out the supervisor's orders from now on, earlier ones included; count the runs for it."""
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
                case "alive":  # no answer says that its loop does not move
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
    """Write all stacks to stderr in one piece: the others do so at the same time."""
    with tempfile.TemporaryFile() as file:
        file.write(f"stacks of process {os.getpid()}:\n".encode())
        file.flush()
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed
            os.write(sys.stderr.fileno(), file.read())
