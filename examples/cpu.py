"""Three kinds of handlers in one listener: in a thread, on the event loop, and in a process of its own.

python examples/cpu.py
"""

import asyncio
import os
import time
from pathlib import Path

from workkit import schedule

s = schedule.create("cpu", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def plain(listener: int) -> None:
    """Run in one of the listener's threads."""
    print(f"in a thread of the listener: {os.getpid() == listener}", flush=True)


@s.job
async def waiting(listener: int) -> None:
    """Run on the listener's event loop: thousands may wait at once."""
    await asyncio.sleep(0.01)
    print(f"on its event loop: {os.getpid() == listener}", flush=True)


@s.job(cpu=True)
def computing(listener: int) -> None:
    """Run in a worker process, so that the listener's interpreter stays free."""
    total = sum(n * n for n in range(300_000))
    print(f"in a process of its own: {os.getpid() != listener}, {total}", flush=True)


if __name__ == "__main__":
    with schedule.listener(s, folder=Path(__file__).parent):
        for fn in (plain, waiting, computing, computing):
            fn.send(os.getpid())
        while any(schedule.jobs(s)):
            time.sleep(0.05)
