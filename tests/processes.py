"""Real processes for tests: start a script or the command line, read what it prints, wait for a condition."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

from tests.warm import FOREIGN as FOREIGN
from tests.warm import ROOT as ROOT
from tests.warm import Program, clean_environ

PATIENCE = 30.0  # seconds; whoever waits in vain waits longer on a busy machine, and nobody else does
LONGEST_PAUSE = 0.1  # seconds between two looks at a condition

T = TypeVar("T")


def until(condition: Callable[[], T], *, timeout: float = PATIENCE, what: str = "") -> T:
    """Poll `condition` until it is true and return what it gave; fail after `timeout` seconds, saying `what`.

    Polls every 10 ms, and after a while less often: the processor is for what it waits for. It pauses for a twentieth
    of the time that it has waited, and as long as the condition took, but no longer than `LONGEST_PAUSE`.
    """
    begun = asked = time.monotonic()
    while not (given := condition()):
        now = time.monotonic()
        if now > begun + timeout:
            raise AssertionError(f"waited {timeout:g} s in vain for {what or condition}; last: {given!r}")
        time.sleep(min(LONGEST_PAUSE, max(0.01, now - asked, (now - begun) / 20)))
        asked = time.monotonic()
    return given


def is_alive(pid: int) -> bool:
    """Tell whether the process runs; a zombie does not."""
    state, _ = _state(pid)
    return state not in ("", "Z")


def is_stopped(pid: int) -> bool:
    """Tell whether all threads of a process stand still. One that was just told to may go on for a moment."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        return _state(pid)[0] == "T"
    try:
        states = {file.read_text().rpartition(")")[2].split()[0] for file in tasks.glob("*/stat")}
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
        return False
    return states == {"T"}


def parent_of(pid: int) -> int:
    _, parent = _state(pid)
    return parent


def _state(pid: int) -> tuple[str, int]:
    """Return a process's state letter and its parent; "" and 0 if there is none."""
    if Path("/proc/self/stat").exists():  # ps is not everywhere
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            return state, int(parent)
        return "", 0
    said = subprocess.run(["ps", "-o", "stat=,ppid=", "-p", str(pid)], capture_output=True, text=True).stdout.split()
    return (said[0][0], int(said[1])) if said else ("", 0)


def _drift() -> float:
    return time.time() - time.monotonic()


class Process:
    """One child process; `out` and `err` are its lines so far, `lines` both in order of arrival."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, is_warm: bool = True
    ) -> None:
        self.command = list(command)
        self._drift = _drift()
        self._child = Program(
            self.command,
            is_warm=is_warm,
            cwd=cwd,
            env=clean_environ(**(env or {})),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._child.stdout is not None
        assert self._child.stderr is not None
        self.pid = self._child.pid
        self.lines: list[str] = []
        self.out: list[str] = []
        self.err: list[str] = []
        self._news = threading.Condition()
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self._child.stdout, self.out), (self._child.stderr, self.err))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: IO[str], kept: list[str]) -> None:
        with stream:
            for line in stream:
                with self._news:
                    kept.append(line.rstrip("\n"))
                    self.lines.append(line.rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._news.notify_all()

    def wait_for(self, pattern: str, *, timeout: float = PATIENCE, count: int = 1) -> re.Match[str]:
        """Return the match of the `count`th line, of either stream and of all since the start, that has the pattern.

        Fails after `timeout` seconds, or as soon as the process has ended without such a line.
        """
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                found = [match for line in self.lines if (match := re.search(pattern, line))]
                if len(found) >= count:
                    return found[count - 1]
                left = deadline - time.monotonic()
                ended = self._child.poll() is not None and not any(reader.is_alive() for reader in self._readers)
                if ended or left <= 0:
                    break
                self._news.wait(min(left, 0.1))
        why = f"ended with status {self._child.returncode}" if ended else f"ran on for {timeout:g} s, {self._abort()}"
        raise AssertionError(f"{why} without line {count} of {pattern!r}\n{self.transcript()}")

    def wait(self, *, timeout: float = 20.0) -> int:  # less than a listener's deadline: it must not need all of that
        """Return the exit status, as soon as all that was printed has been read too."""
        try:
            status = self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {timeout:g} s, {self._abort()}\n{self.transcript()}") from None
        for reader in self._readers:
            reader.join(5.0)
            assert not reader.is_alive(), f"a descendant holds the output open\n{self.transcript()}"
        return status

    def _abort(self) -> str:
        """End it so that it prints where each thread is. Return its state before, and how far the clock was moved."""
        state, moved = _state(self.pid)[0], _drift() - self._drift
        self.send(signal.SIGABRT)
        self.send(signal.SIGCONT)
        for reader in self._readers:
            reader.join(3.0)
        return f"in state {state}, the clock moved by {moved:.1f} s"

    def tell(self, text: str) -> None:
        """Write a line to its standard input."""
        assert self._child.stdin is not None
        self._child.stdin.write(text + "\n")
        self._child.stdin.flush()

    def send(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    def transcript(self) -> str:
        return "\n".join([f"$ {' '.join(self.command)}", *self.lines])

    def close(self) -> None:
        """End it if it still runs."""
        if self.is_running:
            self._child.kill()
        self._child.wait()
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # something told to it was never read
            self._child.stdin.close()
        for reader in self._readers:
            reader.join(1.0)


class Processes:
    """Starts processes for one test, in `folder` unless told otherwise, and ends those that are left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Process] = []

    def run(
        self, *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, is_warm: bool = True
    ) -> Process:
        """Start a program. One in Python is forked where it can be (`warm.py`), unless the test looks at its start."""
        process = Process(command, cwd=cwd or self.folder, env=env, is_warm=is_warm)
        self._started.append(process)
        return process

    def python(
        self, source: str, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Process:
        """Run Python source text."""
        return self.run(sys.executable, "-c", source, *arguments, cwd=cwd, env=env)

    def workkit(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Process:
        """Run the command line."""
        return self.run(sys.executable, "-m", "workkit", *arguments, cwd=cwd, env=env)

    def close(self) -> None:
        for process in self._started:
            process.close()


def completed(
    *command: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stderr: int = subprocess.PIPE,
    timeout: float = 60.0,
    is_warm: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, as `subprocess.run` does, warm where it can be. Nothing is on its standard input."""
    streams: dict[str, int] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": stderr}
    environ = clean_environ(**(env or {}))
    with Program(command, is_warm=is_warm, cwd=cwd, env=environ, text=True, **streams) as program:
        try:
            out, err = program.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            program.kill()
            raise
    return subprocess.CompletedProcess(command, program.returncode, out, err)
