"""Commands on a terminal of a given size: what a person sees, line by line."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.processes import PATIENCE
from tests.warm import Program, clean_environ

SIZE = ("COLUMNS", "LINES")
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """One command on a terminal of its own; `text` is all that it wrote."""

    def __init__(self, command: Sequence[str], *, columns: int, cwd: Path, env: Mapping[str, str], lines: int) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        environ = clean_environ(**{"TERM": "xterm", **env})
        self.child = Program(
            list(command),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env={name: value for name, value in environ.items() if name not in SIZE},
            start_new_session=True,
        )
        os.close(theirs)
        self._file, self._bytes = ours, b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(self._file, 65536):
                self._bytes += part

    @property
    def text(self) -> str:
        """What was written, escape codes among it."""
        return self._bytes.decode("utf-8", "replace").replace("\r\n", "\n")

    @property
    def plain(self) -> str:
        """The same without escape codes."""
        return _CODES.sub("", self.text)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Return the exit status, as soon as everything was read."""
        status = self.child.wait(timeout)
        self._reader.join(timeout)
        os.close(self._file)
        return status

    def wait_for(self, pattern: str, timeout: float = PATIENCE) -> re.Match[str]:
        """Return the first match in what was written so far; fail where the command ends without one."""
        deadline = time.monotonic() + timeout
        while not (found := re.search(pattern, self.plain)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.plain!r}"
            assert self.child.poll() is None or self._reader.is_alive(), f"ended without {pattern!r}: {self.plain!r}"
            time.sleep(0.01)
        return found

    def close(self) -> None:
        """End it, if it still runs."""
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


def on_terminal(
    *words: str, columns: int = 80, lines: int = 24, cwd: Path, env: Mapping[str, str] | None = None
) -> Terminal:
    """Run the command line on a terminal."""
    command = [sys.executable, "-m", "workkit", *words]
    return Terminal(command, columns=columns, cwd=cwd, env=env or {}, lines=lines)
