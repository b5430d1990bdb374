"""A server program of a test: begun in the background, awaited, stopped, killed, or hung for a while."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.processes import PATIENCE, is_stopped, until


def begun(command: Sequence[str], *, log: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a program that writes to a log. No signal to the terminal reaches it."""
    with open(log, "ab") as said:
        return subprocess.Popen(
            command, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )


def await_answer(
    child: subprocess.Popen[bytes], answers: Callable[[], bool], *, what: str, seconds: float = PATIENCE
) -> bool:
    """Wait until a program answers (True), or has ended (False). If it does neither in time, kill it and raise."""
    try:
        until(lambda: child.poll() is not None or answers(), timeout=seconds, what=f"{what} to answer")
    except BaseException:
        child.kill()
        child.wait()
        raise
    return child.poll() is None


class Daemon:
    """What a test does to a server that it has started."""

    @property
    def pid(self) -> int:
        """The number of its process."""
        raise NotImplementedError

    def end(self, number: signal.Signals) -> None:
        """Send a signal that ends it, and wait for its end."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop it as an operator would."""
        self.end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a crash would."""
        self.end(signal.SIGKILL)

    def freeze(self) -> None:
        """Have it hang, its connections open, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: is_stopped(self.pid), what="the server to stand still")

    def thaw(self) -> None:
        """Let it continue."""
        os.kill(self.pid, signal.SIGCONT)
