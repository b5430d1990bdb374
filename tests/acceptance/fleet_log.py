"""What the processes of a fleet write down of their runs, and how it is read. Each process has a file of its own, with
its number in the name; the Go peer writes the same lines.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.acceptance.soak_verdict import Key, Start
from workkit import current_job

LOG = "WORKKIT_TEST_LOG"  # the variable that names the file


@cache
def _file() -> int:
    return os.open(os.environ[LOG], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def write(**line: Any) -> None:
    """Write one line, with the time, by one call: it outlives the process."""
    os.write(_file(), json.dumps({**line, "at_ms": round(time.time() * 1000)}).encode() + b"\n")


def run(*, sleep_ms: float = 0, fail: str | None = None, fail_n: int | None = None, **rest: Any) -> None:
    """Run as a handler of any kind: note the beginning, sleep, note the end, and fail where that is asked for."""
    here = current_job()
    me = {"name": here.fn, "id": here.id, "args": rest, "fails": here.attempt}
    write(event="run", **me)
    time.sleep(sleep_ms / 1000)
    write(event="end", **me)
    if fail is not None and (fail_n is None or here.attempt < fail_n):
        raise RuntimeError(fail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One start of a handler, in the process of this number. Times in epoch seconds; `end` None: it never ended."""

    process: int
    name: str
    number: int
    id: str
    fails: int
    at: float
    end: float | None


def read_runs(folder: Path) -> list[Run]:
    """Every run of every process. A last line may be a part of one: its process was killed."""
    found = []
    for file in folder.glob("*.log"):
        process = int(file.stem.rpartition("-")[2])
        open_: dict[tuple[Any, ...], list[float]] = defaultdict(list)
        for line in lines(file):
            if line["event"] not in ("run", "end"):
                continue
            me = line["name"], int(line["args"]["n"]), line["id"], line["fails"]
            at = line["at_ms"] / 1000
            if line["event"] == "run":
                open_[me].append(at)
            else:
                found.append(_run(process, me, open_[me].pop(0), at))
        found += [_run(process, me, at, None) for me, begun in open_.items() for at in begun]
    return found


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """Every whole line of one process."""
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.endswith("\n"):
            yield json.loads(line)


def starts(runs: Sequence[Run]) -> dict[Key, list[Start]]:
    """The runs as `soak_verdict.repeated` takes them."""
    found: dict[Key, list[Start]] = defaultdict(list)
    for run in runs:
        found[f"{run.name} {run.number}", run.id, 0, run.fails].append(Start(pid=run.process, at=run.at, end=run.end))
    return found


def _run(process: int, me: tuple[Any, ...], at: float, end: float | None) -> Run:
    name, number, id, fails = me
    return Run(process=process, name=name, number=number, id=id, fails=fails, at=at, end=end)
