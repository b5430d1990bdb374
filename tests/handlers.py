"""Functions that tests add and run. Imported by name, as a listener does."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from workkit import Discard, Retry, current_job, job

calls: list[Any] = []
gate = threading.Event()


def note(*args: Any, **kwargs: Any) -> None:
    calls.append((args, kwargs) if kwargs else args)


def fail(text: str = "disk full") -> None:
    raise OSError(text)


def leave() -> None:
    raise SystemExit(3)


def discard() -> None:
    raise Discard("order was cancelled")


def retry_twice() -> None:
    attempt = current_job().attempt
    calls.append(attempt)
    if attempt < 2:
        raise Retry(after="0s")


def wait_for_gate() -> None:
    calls.append("begun")
    gate.wait(20)


def look() -> None:
    run = current_job()
    calls.append((run.id, run.fn, run.args, run.due, run.attempt, run.lateness))


async def note_async(value: Any) -> None:
    await asyncio.sleep(0)
    calls.append((value, current_job().id, threading.current_thread().name))


async def fail_async() -> None:
    await asyncio.sleep(0)
    raise ValueError("no such user")


def welcome(email: str) -> None:
    calls.append(email)


def slow(seconds: float) -> None:
    time.sleep(seconds)


class Mailer:
    @staticmethod
    def send(to: str) -> None:
        calls.append(("sent", to))

    def bound(self) -> None:
        raise AssertionError("never run")


@job("your-app.cache/clear")
def clear_cache() -> None:
    calls.append("cleared")


def _secret() -> None:
    raise AssertionError("never run")
