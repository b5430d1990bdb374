"""What everyday steps cost: Python calls for each, and files of the package that are entered. A figure of speed that a
noisy machine does not change. Run by `test_costs.py` in a process of its own: `python -m tests.costs URL`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import workkit
from tests import handlers
from workkit import schedule

ROOT = str(Path(workkit.__file__).parent)
JOBS, SINGLE = 5_000, 50

calls = 0
entered: set[str] = set()


def profile(frame: FrameType, event: str, arg: Any) -> None:
    """Count a call, and keep the file of the package that it enters."""
    global calls
    if event == "call":
        calls += 1
        if (file := frame.f_code.co_filename).startswith(ROOT) and frame.f_code.co_name != "<module>":
            entered.add(file)


def cost(act: Callable[[], Any], steps: int) -> dict[str, float]:
    """Return the Python calls for each of so many steps, and how many files they enter."""
    global calls
    calls = 0
    entered.clear()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {"calls": round(calls / steps, 1), "files": len(entered)}


def singly(add: Callable[[int], Any]) -> dict[str, float]:
    """Return the cost of one addition, after some that are not counted."""
    for n in range(-5, 0):
        add(n)
    return cost(lambda: [add(n) for n in range(SINGLE)], SINGLE)


def main(url: str) -> None:
    """Print the costs as JSON."""
    s, other = schedule.create("costs", redis=url), schedule.create("costs-single", redis=url)
    schedule.add_many(s, [{"fn": handlers.note, "at": "now", "args": [-1]}])
    schedule.listen(s, burst=True, imports=["tests.handlers"])
    list(schedule.jobs(other))  # its first use imports the verb
    rows = [{"fn": handlers.note, "at": "now", "args": [n]} for n in range(JOBS)]
    send = other.bind(handlers.note).send
    found = {
        "add_many": cost(lambda: schedule.add_many(s, rows), JOBS),
        "add_now": singly(lambda n: schedule.add_now(other, handlers.note, args=[n])),
        "send": singly(lambda n: send(n + 1000)),
        "unique": singly(lambda n: schedule.add_now(other, handlers.note, args=[n], unique_key=f"k{n}")),
        "every": singly(
            lambda n: schedule.add(other, every="weekday at 9am", fn=handlers.note, args=[n], name=f"j{n}")
        ),
        "list": cost(lambda: list(schedule.jobs(s)), JOBS),
        "run": cost(lambda: schedule.listen(s, burst=True, imports=["tests.handlers"]), JOBS),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
