"""A namespace of gocraft/work that a Go fleet and Python share: jobs for Go handlers, handlers in Python, and jobs that
recur, which a namespace cannot hold: they live in a native schedule beside it, and are forwarded when they are due.

python examples/gocraft_bridge.py [URL of the fleet's Redis]
"""

import sys
import time
from pathlib import Path

from workkit import current_job, job, schedule

url = sys.argv[1] if len(sys.argv) > 1 else f"embedded://{Path(__file__).parent.resolve()}/.workkit"
fleet = schedule.create("fleet", redis=url, layout="gocraft")
times = schedule.create("fleet-times", redis=url)
sent: list[str] = []


@job("send_email", limit=5)
def send_email(address: str) -> None:
    """Handle what Go, or Python, has enqueued; the limit holds for the pools of both."""
    sent.append(address)
    print(f"mail to {address}", flush=True)


@job("send_digest")
def send_digest(team: str) -> None:
    """Handle what recurs. Every publication of one occurrence has the same id."""
    sent.append(team)
    print(f"digest for {team}, job {current_job().id}", flush=True)


if __name__ == "__main__":
    resize = schedule.add_now(fleet, "resize_image", kwargs={"path": "cat.png", "width": 640})  # Go has its handler
    schedule.add_now(fleet, "send_email", kwargs={"address": "tracy@domain.com"}, unique=True)
    schedule.add(fleet, "send_email", in_="1 second", kwargs={"address": "ada@domain.com"})
    schedule.add(times, "send_digest", every="1 second", count=2, kwargs={"team": "platform"})
    with schedule.forwarder(times, to=fleet), schedule.listener(fleet, folder=None, threads=2):
        while len(sent) < 4:
            time.sleep(0.05)
    left = [one for one in schedule.jobs(fleet) if one.id == resize.id]
    print("resize_image waits for a pool in Go" if left else "a pool in Go has taken resize_image")
    for one in left:
        print(f"its arguments: {one.kwargs}")
