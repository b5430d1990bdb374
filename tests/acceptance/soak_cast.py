"""Who takes part in the soak: producers that never stop adding, and the functions that they name.

A function writes one line when it begins and one when it ends, each by one write, to a file of its process, so that a
killed process leaves what it did; the producers write what was acknowledged. Lines are short: there are millions.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from workkit import current_job, job, schedule

HERE = "tests.acceptance.soak_cast"
HOSTILE = "tests.acceptance.hostile_jobs"
NAME = "soak"
CHUNK = 50  # rows of one add_many
RECURRING = 10  # jobs that run every second
FOLDER = "WORKKIT_TEST_FOLDER"


@cache
def _file(kind: str, folder: str) -> int:
    path = Path(folder) / f"{kind}-{os.getpid()}"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)


def _write(kind: str, text: str) -> None:
    os.write(_file(kind, os.environ[FOLDER]), text.encode())


@contextmanager
def noted(label: str) -> Iterator[int]:
    """Write a line when a run begins and one when it ends; gives the number of its attempt."""
    run = current_job()
    assert run.due is not None
    assert run.id is not None
    me = f"{label} {run.id[:12]} {round(run.due.timestamp() * 1000)} {run.attempt}"
    _write("runs", f"b {me} {time.time():.3f}\n")
    yield run.attempt
    _write("runs", f"e {me} {time.time():.3f}\n")


def note(number: int) -> None:
    with noted(str(number)):
        pass


def slow(number: int, seconds: float) -> None:
    with noted(str(number)):
        time.sleep(seconds)


def tick(name: str) -> None:
    with noted(name):
        pass


@job(base="0.2s", retries=2)
def fail(number: int) -> None:
    with noted(str(number)) as attempt:
        if attempt < 2:
            raise OSError("not yet")


def rows(first: int) -> Iterator[Mapping[str, Any]]:
    """One chunk: mostly at once, some later, one that fails twice, one that takes a while."""
    for number in range(first, first + CHUNK):
        match number % CHUNK:
            case 0:
                yield {"fn": f"{HERE}:fail", "at": "now", "args": [number]}
            case 1:
                yield {"fn": f"{HERE}:slow", "at": "now", "args": [number, 0.05 + number // CHUNK % 10 * 0.05]}
            case n if n < 10:
                yield {"fn": f"{HERE}:note", "in_": f"{n} seconds", "args": [number]}
            case _:
                yield {"fn": f"{HERE}:note", "at": "now", "args": [number]}


def produce(url: str, first: int, rate: float) -> None:
    """Add chunks from number `first` on, `rate` jobs a second, each until it is acknowledged, until stdin ends.

    Where the server could not keep up for a while, it does not try to catch up.
    """
    s = schedule.create(NAME, redis=url)
    reader = threading.Thread(target=sys.stdin.read, daemon=True)
    reader.start()
    next_at = time.monotonic()
    while reader.is_alive():
        _acknowledged(s, first)
        first += CHUNK
        next_at = max(next_at + CHUNK / rate, time.monotonic() - 1.0)
        time.sleep(max(0.0, next_at - time.monotonic()))


def _acknowledged(s: schedule.Schedule, first: int) -> None:
    while True:
        try:
            schedule.add_many(s, rows(first))
        except ConnectionError as error:
            _write("raised", f"{first} {time.time():.3f} {error}\n")
            time.sleep(0.05)
            continue
        _write("acks", f"{first} {CHUNK}\n")
        return


def listen(url: str) -> None:
    schedule.listen(
        schedule.create(NAME, redis=url), imports=[HERE, HOSTILE], folder=None, listener_timeout="5s", deadline="2s"
    )


if __name__ == "__main__":
    role, url, *rest = sys.argv[1:]
    if role == "listen":
        from tests.acceptance import soak_cast  # under its own name, by which jobs name it

        soak_cast.listen(url)
    else:
        produce(url, int(rest[0]), float(rest[1]))
