"""The processes of a fleet under troubles, and what a run of such a fleet prints."""

from __future__ import annotations

import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tests.acceptance.fleet_log import LOG
from tests.warm import ROOT, Program, clean_environ


class Judged(Protocol):
    """What came of a run."""

    complaints: list[str]


def begun(command: Sequence[str], *, log: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a process that notes its runs in `log`."""
    log.touch()
    env = clean_environ(**{LOG: str(log)})
    with open(output, "ab") as said:
        return Program(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)


def end_all(processes: Iterable[subprocess.Popen[bytes]]) -> None:
    """Kill those that still run, also those that are frozen."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()


def counts(found: Mapping[str, int]) -> str:
    """Write counts as one line of a report."""
    return ", ".join(f"{number:,} {what}" for what, number in sorted(found.items())) or "none"


def carried_out(name: str, *, seed: int, run: Callable[[Path], Judged]) -> int:
    """Run in a folder of its own, print the report, and return the exit status."""
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    print(f"seed {seed}, files in {folder}", flush=True)
    report = run(folder)
    print(report)
    return 1 if report.complaints else 0
