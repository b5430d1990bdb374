# mypy: ignore-errors
"""What every benchmarked function does: note its number and the time. Imported by the app of each Python peer.

The same for all, and next to nothing: one append of a pair and one count, about 0.3 microseconds. Nothing is asked of
the server. At certain counts (BENCH_MARKS) the time and the CPU time of the process so far are written to a file, by
which the benchmark learns that so many have run; `tell` writes all pairs, from which it sees that each ran once. With
BENCH_PAUSE a function takes so many seconds after that.
"""

import asyncio
import json
import os
from itertools import count
from pathlib import Path
from time import process_time, sleep, time

FOLDER = Path(os.environ.get("BENCH_FOLDER", "."))
MARKS = frozenset(int(word) for word in os.environ.get("BENCH_MARKS", "").split(",") if word)
PAUSE = float(os.environ.get("BENCH_PAUSE", "0"))

seen = []
ordinals = count(1)


def ran(n):
    """Note that number n ran now. Safe in threads: both steps are atomic, and no count is given out twice."""
    seen.append((n, time()))
    if (ordinal := next(ordinals)) in MARKS:
        write(f"mark-{ordinal}", [time(), process_time()])

    if PAUSE:
        sleep(PAUSE)


async def ran_async(n):
    """Do the same in a coroutine."""
    seen.append((n, time()))
    if (ordinal := next(ordinals)) in MARKS:
        write(f"mark-{ordinal}", [time(), process_time()])
    if PAUSE:
        await asyncio.sleep(PAUSE)


def tell():
    """Write what ran, and when."""
    write("told", seen)


def write(name, value):
    """Put it there in one step, so that a reader never finds half of it."""
    partial = FOLDER / f".{name}.{os.getpid()}"
    partial.write_text(json.dumps(value))
    partial.rename(FOLDER / name)
