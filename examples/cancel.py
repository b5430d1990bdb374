"""Cancel what waits, and what runs: in a thread, on the event loop, in a process of its own.

python examples/cancel.py
"""

import asyncio
import time
from pathlib import Path

from workkit import current_job, job, schedule
from workkit.errors import JobCancelled

s = schedule.create("cancel", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


def in_a_thread() -> None:
    """Notice it at the next step in Python."""
    try:
        while True:
            time.sleep(0.01)
    except JobCancelled:
        print("a thread has tidied up", flush=True)
        raise


async def on_the_loop() -> None:
    """Notice it where it awaits."""
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        print("a coroutine has tidied up", flush=True)
        raise


@job(cpu=True)
def in_a_process() -> None:
    """Be killed, wherever it is."""
    current_job().checkin("begun")
    sum(n for n in range(10**12))


if __name__ == "__main__":
    later = schedule.add(s, at="7pm tomorrow", fn=in_a_thread, name="later")
    print(schedule.cancel(s, later).name, "is gone", flush=True)
    with schedule.listener(s, folder=Path(__file__).parent):
        jobs = [schedule.add_now(s, fn) for fn in (in_a_thread, on_the_loop, in_a_process)]
        while len(list(schedule.jobs(s, state="running"))) < 3 or not any(j.progress for j in schedule.jobs(s)):
            time.sleep(0.05)
        for running in jobs:
            schedule.cancel(s, running)
        while any(schedule.jobs(s)):
            time.sleep(0.05)
    print("all three are over")
