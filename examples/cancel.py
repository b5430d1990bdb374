"""Cancel what waits, and what runs: in a thread, on the event loop, in a process of its own.

python examples/cancel.py
"""

import asyncio
import time
from pathlib import Path

from workkit import current_job, schedule
from workkit.errors import JobCancelled

s = schedule.create("cancel", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def in_a_thread() -> None:
    """Notice it at the next step in Python."""
    try:
        while True:
            time.sleep(0.01)
    except JobCancelled:
        print("a thread has tidied up", flush=True)
        raise


@s.job
async def on_the_loop() -> None:
    """Notice it where it awaits."""
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        print("a coroutine has tidied up", flush=True)
        raise


@s.job(cpu=True)
def in_a_process() -> None:
    """Be killed, wherever it is."""
    current_job().checkin("begun")
    sum(n for n in range(10**12))


if __name__ == "__main__":
    later = in_a_thread.at("7pm tomorrow", name="later").send()
    print(later.cancel().name, "is gone", flush=True)
    with schedule.listener(s, folder=Path(__file__).parent):
        jobs = [in_a_thread.send(), on_the_loop.send(), in_a_process.send()]
        while len(list(schedule.jobs(s, state="running"))) < 3 or not any(j.progress for j in schedule.jobs(s)):
            time.sleep(0.05)
        for running in jobs:
            running.cancel()
        while any(schedule.jobs(s)):
            time.sleep(0.05)
    print("all three are over")
