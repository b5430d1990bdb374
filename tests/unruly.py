"""Handlers that do what no handler should. Imported by name, as a listener does."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from tests import handlers
from workkit import current_job, job


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise SystemExit(5)


class Odd(Exception, metaclass=Nameless):
    pass


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(6)


class Liar(Exception):
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise SystemExit(7)


def fail(kind: str) -> None:
    """Raise an error that is hard to keep."""
    error: BaseException = {"odd": Odd, "mute": Mute, "liar": Liar, "huge": ValueError, "noted": OSError}.get(
        kind, OSError
    )("why" * (2_000_000 if kind == "huge" else 1))
    if kind == "noted":
        error.__notes__ = 5  # type: ignore[assignment]
    if kind == "caused":
        error.__cause__ = Odd()
    raise error


# Coroutines.


async def run_slowly(seconds: float) -> None:
    handlers.calls.append("begun")
    await asyncio.sleep(seconds)
    handlers.calls.append("ended")


async def exit_itself() -> None:
    sys.exit(3)


async def interrupt_itself() -> None:
    raise KeyboardInterrupt


async def exit_in_a_task() -> None:
    await asyncio.create_task(exit_itself())


async def exit_in_a_callback() -> None:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(0.05)
    handlers.calls.append("went on")


async def stop_the_loop() -> None:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.05)
    handlers.calls.append("went on")


async def close_the_selector() -> None:
    loop: Any = asyncio.get_running_loop()
    os.close(loop._selector.fileno())
    await asyncio.sleep(60)


async def close_the_pipe() -> None:
    loop: Any = asyncio.get_running_loop()
    os.close(loop._csock.fileno())
    await asyncio.sleep(60)


async def block() -> None:
    handlers.calls.append("begun")
    handlers.gate.wait(20)


# Forks: what runs is noted in a file, with the process.


def note(path: str, *words: object) -> None:
    with open(path, "a") as file:
        file.write(" ".join(map(str, words)) + "\n")


def _fork(path: str, end: Callable[[], None]) -> bool:
    """Fork; True in the child."""
    note(path, "run", os.getpid())
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        note(path, "child", child, os.waitstatus_to_exitcode(status))
    else:
        print("written by a child")
        end()
    return not child


def _end(how: str) -> None:
    if how == "raises":
        raise OSError("in a child")
    if how == "exits":
        sys.exit(7)


def fork(path: str, how: str) -> None:
    _fork(path, lambda: _end(how))


@job(cpu=True)
def fork_elsewhere(path: str, how: str) -> None:
    _fork(path, lambda: _end(how))


async def fork_in_a_coroutine(path: str, how: str) -> None:
    if _fork(path, lambda: _end(how)) and how == "returns":
        return
    await asyncio.sleep(0)
    note(path, "after", os.getpid())


@job(cpu=True)
async def fork_in_a_coroutine_elsewhere(path: str, how: str) -> None:
    await fork_in_a_coroutine(path, how)


async def fork_in_a_task(path: str, how: str) -> None:
    await asyncio.create_task(fork_in_a_coroutine(path, how))


async def fork_in_a_callback(path: str, how: str) -> None:
    asyncio.get_running_loop().call_soon(fork, path, how)
    await asyncio.sleep(0.2)
    note(path, "after", os.getpid())


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


async def compute() -> None:
    handlers.calls.append("begun")
    while not handlers.gate.is_set():
        pass


# What a handler takes from the whole process.


@job(cpu=True)
def note_elsewhere(path: str) -> None:
    note(path, current_job().id, current_job().attempt)


def take_all_files() -> None:
    """Leave room for no further file, socket or loop until the gate opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    os.close(lowest)
    handlers.calls.append("taken")
    handlers.gate.wait(20)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
