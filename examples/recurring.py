"""Jobs that recur: what becomes of a run while the last one goes on, and of those that nobody was there for.

python examples/recurring.py
"""

import time
from pathlib import Path

from workkit import current_job, schedule

s = schedule.create("recurring", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def poll() -> None:
    """Take longer than the time between two runs."""
    time.sleep(1.5)
    while not any(missed.name == "poll" for missed in schedule.missed(s)):  # a busy listener may notice it later
        time.sleep(0.1)
    print("polled", flush=True)


@s.job
def meter(text: str) -> None:
    """Say for which second this is."""
    print(f"{text} {current_job().due:%H:%M:%S}", flush=True)


if __name__ == "__main__":
    every = "1 second"
    meter.every(every, name="all", catch_up="all", count=2).send("every second:")
    meter.every(every, name="once", count=1).send("once, late:")
    meter.every("day at 3am", name="apart", spread="1 hour", start="in 2 days").send("apart")
    time.sleep(2)  # no listener is there: runs of both are due
    poll.every(every, name="poll", overlap="skip", count=2).send()
    with schedule.listener(s, folder=Path(__file__).parent):
        while len(list(schedule.jobs(s))) > 1:
            time.sleep(0.05)
    for missed in schedule.missed(s):
        print(f"missed: {missed.name}, {missed.reason}, {missed.times}")
    schedule.cancel(s, "apart")
