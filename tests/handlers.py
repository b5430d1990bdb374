"""Functions that tests add and run. Imported by name, as a listener does."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from workkit import Discard, Retry, current_job, job, schedule

calls: list[Any] = []
gate = threading.Event()
adds_to: list[schedule.Schedule] = []  # to which `add_itself` adds


@job("note")
def note(*args: Any, **kwargs: Any) -> None:
    calls.append((args, kwargs) if kwargs else args)


@job(rate="1/minute")
def rare() -> None:
    calls.append("rare")


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


def add_itself(n: int, **options: Any) -> None:
    calls.append((n,))
    if n < 3:
        schedule.add_now(adds_to[-1], add_itself, args=[n + 1], kwargs=options, name="poll", **options)


def poll(times: int, after: str, fails_at: int = -1) -> None:
    run = current_job()
    calls.append((run.attempt, run.due, run.lateness))
    run.progress(run.attempt + 1, times + 1)
    if run.attempt == fails_at:
        raise OSError("no answer")
    if run.attempt < times:
        raise Retry(after=after)


def wait_for_gate() -> None:
    calls.append("begun")
    gate.wait(20)


def wait_until_cancelled() -> None:
    calls.append("begun")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.005)


def look() -> None:
    run = current_job()
    calls.append((run.id, run.fn, run.args, run.due, run.attempt, run.lateness))


async def note_async(value: Any) -> None:
    await asyncio.sleep(0)
    calls.append((value, current_job().id, threading.current_thread().name))


async def await_gate(number: int = 0) -> None:
    calls.append(("begun", number))
    while not gate.is_set():
        await asyncio.sleep(0.01)
    calls.append(("ended", number))


async def pause_async(number: int = 0) -> None:
    await asyncio.sleep(0.1)
    calls.append("paused")


@job(limit=3)
async def one_of_three(number: int = 0) -> None:
    calls.append("begun")
    await asyncio.sleep(0.02)
    calls.append("ended")


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


def spin(seconds: float) -> None:
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            time.sleep(0.001)
    finally:
        calls.append(("cleaned up", seconds))


async def sleep_async(seconds: float) -> None:
    try:
        await asyncio.sleep(seconds)
    finally:
        calls.append(("cleaned up", seconds))


@job(timeout="0.1s")
def spin_briefly(seconds: float) -> None:
    spin(seconds)


def extend_then_spin(time: str, seconds: float) -> None:
    current_job().extend(time)
    spin(seconds)


async def cancel_itself() -> None:
    raise asyncio.CancelledError


@job(retries=5, backoff="constant", base="0.01s")
def fail_until(attempt: int) -> None:
    calls.append(current_job().attempt)
    if current_job().attempt < attempt:
        raise OSError("not yet")


def note_attempt() -> None:
    calls.append((current_job().due, current_job().attempt))
    if current_job().attempt == 0:
        raise OSError("not yet")


@job(retries=5, discard_on=OSError)
def discarded_os_error() -> None:
    raise FileNotFoundError("gone")


@job(retries=5, retry_on=(ValueError,))
def only_value_errors() -> None:
    raise OSError("disk full")
