"""Handlers that the tests of `workkit.testing` run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from workkit import current_job, job, schedule

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
