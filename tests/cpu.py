"""Functions that tests run in worker processes; they tell what they did in files."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from tests.processes import until
from workkit import Discard, current_job, job, schedule

watched = schedule.create("watched")
label = contextvars.ContextVar("label", default="none")


class Own(Exception):
    pass


class Unusual(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def note(folder: str, *said: object) -> None:
    """Add a line to the file of this process."""
    with open(Path(folder) / f"{os.getpid()}", "a") as file:
        print(*said, file=file)


@job(cpu=True)
def log(text: str) -> None:
    logging.getLogger("tests.cpu").info("computing %s", text, extra={"place": 7})


@watched.middleware
def around() -> Iterator[None]:
    run = current_job()
    run.context["seen"] = [run.attempt]
    label.set("set around")
    try:
        yield
    except Own as error:
        raise Discard("as told around") from error
    finally:
        note(run.args[0], "around", run.context["seen"])


@watched.middleware
async def around_coroutines() -> AsyncIterator[None]:
    await asyncio.sleep(0)
    yield
    note(current_job().args[0], "around a coroutine")


@job(cpu=True)
def keep(folder: str) -> None:
    """Start a program, and keep the interpreter for ever."""
    program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    note(folder, os.getpid(), program.pid)
    ctypes.PyDLL(None).sleep(600)


@job(cpu=True)
def burn(folder: str, seconds: float) -> None:
    began = time.time()
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    note(folder, began, time.time())


@job(cpu=True)
def meet(folder: str, others: int) -> None:
    """Wait until so many runs are here, each in a process of its own."""
    note(folder, "met")
    until(lambda: len(list(Path(folder).iterdir())) == others)


@job(cpu=True)
def look(folder: str) -> None:
    run = current_job()
    run.context.setdefault("seen", []).append("handler")
    stdin = os.fstat(0)
    devnull = os.stat(os.devnull)
    note(folder, run.id, run.fn, run.attempt, label.get(), stdin.st_rdev == devnull.st_rdev)


@job(cpu=True)
async def look_async(folder: str) -> None:
    await asyncio.sleep(0)
    note(folder, current_job().id, label.get())


@job(cpu=True)
def hang(folder: str) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    note(folder, os.getpid(), child.pid)
    while True:
        pass


@job(cpu=True)
def fall(folder: str, how: str) -> None:
    note(folder, current_job().attempt)
    if how == "exit":
        os._exit(3)
    ctypes.string_at(0)


@job(cpu=True, retries=3, backoff="constant", base="0s", discard_on=Own)
def fail(folder: str, kind: str) -> None:
    note(folder, current_job().attempt)
    errors: dict[str, Any] = {"own": Own("mine"), "os": OSError(5, "disk full"), "two": Unusual("one", "two")}
    raise errors[kind]


@job(cpu=True)
def typed(folder: str, number: int) -> None:
    raise AssertionError("never run")


@job(cpu=True, timeout="0.5s")
def extend(folder: str, seconds: float) -> None:
    current_job().extend("20s")
    burn(folder, seconds)


@job(cpu=True)
def count(folder: str, times: int) -> None:
    began = time.perf_counter()
    for n in range(times):
        current_job().progress(n + 1, times)
    note(folder, time.perf_counter() - began)
    current_job().checkin("counted")
    while not (Path(folder) / "go on").exists():
        time.sleep(0.01)


@job(cpu=True)
def wait_until_cancelled(folder: str) -> None:
    note(folder, os.getpid())
    while True:
        current_job().checkin("still here")
        time.sleep(0.01)


def lifted_v1(folder: str) -> Any:
    return (folder, 8) if folder else object()


@job(cpu=True, accepts=[lifted_v1])
def lifted(folder: str, number: int) -> None:
    note(folder, "lifted", number, current_job().args)
