"""Handlers that the tests of `workkit.testing` run."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from workkit import aio, current_job, job, schedule

calls: list[Any] = []
hooks: list[Callable[[], object]] = []
failures: list[Exception] = []  # the next calls of `shaky` raise them


@dataclass
class Order:
    id: int


def pack(order: Order) -> None:
    calls.append(order)


def meet(when: datetime, fee: Decimal = Decimal(0)) -> None:
    calls.append((when, fee))


def note(*args: Any) -> None:
    calls.append(args)


async def note_async(*args: Any) -> None:
    await asyncio.sleep(0)
    calls.append(args)


def tell_start() -> None:
    calls.append((current_job().started, current_job().lateness))


@job(retries=1, backoff="constant", base="24h", cap="24h", jitter=False)
def shaky() -> None:
    if failures:
        raise failures.pop(0)
    calls.append("shaky")


def broken() -> None:
    raise OSError("disk full")


@job(keep="1 day")
def double(number: int) -> int:
    return 2 * number


@job(cpu=True)
def compute() -> None:
    calls.append(os.getpid())


def call_hook() -> None:
    hooks.pop()()


def pass_on(name: str) -> None:
    schedule.add(schedule.create(name), note, in_="1 hour", args=["passed on"])


def wait_for_another(name: str) -> None:
    s = schedule.create(name)
    other = schedule.add_now(s, double, args=[4])
    while schedule.job(s, other).state != "done":
        time.sleep(0.01)


def wait_for_its_result(name: str) -> None:
    s = schedule.create(name)
    schedule.result(s, schedule.add_now(s, double, args=[4]), wait="1 hour")


async def wait_for_another_async(name: str) -> None:
    s = schedule.create(name)
    other = schedule.add_now(s, double, args=[4])
    while (await aio.job(s, other)).state != "done":
        await asyncio.sleep(0.01)


def sleep_long(_: str) -> None:
    time.sleep(3600)


def lifted_v1(user: int) -> tuple[int, str]:
    return user, "monday"


def tell(id: str, error: str) -> None:
    calls.append((id, error.partition(" (")[0]))


@job("testing.lifted", accepts=[lifted_v1], on_failure=tell)
def lifted(user: int, day: str) -> None:
    raise OSError(f"{user} {day}")
