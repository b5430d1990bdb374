"""Functions whose results are kept. Imported by name, as a listener does."""

from __future__ import annotations

import threading
from collections import UserDict
from datetime import UTC, datetime
from typing import Any

from workkit import Discard, current_job, job

gate = threading.Event()


@job(keep="1 hour")
def double(n: int) -> int:
    return 2 * n


def echo(value: Any = None) -> Any:
    return value


async def echo_async(value: Any) -> Any:
    return value


@job(keep="1 hour", cpu=True)
def double_elsewhere(n: int) -> int:
    return 2 * n


@job(keep="1 hour")
def behind_gate() -> str:
    gate.wait(30)
    return "through"


def break_down(text: str = "disk full") -> None:
    raise OSError(text)


def give_up() -> None:
    raise Discard("nothing to do")


def attempt_count() -> int:
    if current_job().attempt < 2:
        raise OSError("not yet")
    return current_job().attempt


class Circle(list[Any]):
    pass


def unkept(what: str) -> Any:
    circle: list[Any] = []
    circle.append(circle)
    return {
        "datetime": {"when": [datetime(2026, 1, 1, tzinfo=UTC)]},
        "key": {1: 2},
        "nan": float("nan"),
        "circle": circle,
        "surrogate": ["\ud800"],
        "large": "x" * 1_000_001,
        "object": UserDict(),
    }[what]


def of_size(size: int) -> str:
    return "x" * (size - 2)
