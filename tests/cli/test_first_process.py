"""The command line as the first process of a container, for which the kernel drops each signal without a handler."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import Process, Processes, until
from tests.servers import Server

FIRST = ["unshare", "--pid", "--fork", "--kill-child"]


@pytest.fixture(autouse=True)
def _can_unshare() -> None:
    try:
        subprocess.run([*FIRST, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no process can be the first here: {error}")


def first(processes: Processes, *words: str, cwd: Path | None = None) -> tuple[Process, int]:
    """Start the command line as the first process of a namespace; return `unshare` and the pid of the first process."""
    outer = processes.run(*FIRST, sys.executable, "-m", "workkit", *words, cwd=cwd)
    children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children")
    return outer, int(until(children.read_text).split()[0])


def hears(pid: int, number: signal.Signals) -> bool:
    """Tell whether the process has a handler for this signal."""
    caught = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_while_it_is_still_importing(
    processes: Processes, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    outer, pid = first(processes, "listen", "t", cwd=tmp_path)
    outer.wait_for("importing")
    os.kill(pid, number)
    assert outer.wait(timeout=10) == 128 + number, outer.transcript()


@pytest.mark.parametrize("options", [(), ("--processes", "2")], ids=["one process", "two processes"])
def test_term_right_after_its_start_ends_a_listener(
    processes: Processes, server: Server, name: str, options: tuple[str, ...]
) -> None:
    outer, pid = first(processes, "listen", name, "--redis", server.url, *options)
    until(lambda: hears(pid, signal.SIGTERM), what="a handler")
    began = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    assert outer.wait(timeout=15) in (0, 143), outer.transcript()
    assert time.monotonic() - began < 15
