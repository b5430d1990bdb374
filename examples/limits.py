"""Limits over all listeners: of a function for each customer, of a schedule, and a rate.

python examples/limits.py
"""

import threading
import time
from collections import Counter
from pathlib import Path

from workkit import schedule

s = schedule.create("limits", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit", limit=3)
now, most, lock = Counter[str](), Counter[str](), threading.Lock()


@s.job(limit=2, limit_key="customer")
def export(customer: str, part: int) -> None:
    """Run at most twice at once for each customer, and note how many ran."""
    with lock:
        now.update([customer, "all"])
        most.update({who: count - most[who] for who, count in now.items() if count > most[who]})
    time.sleep(0.05)
    with lock:
        now.subtract([customer, "all"])


@s.job(rate="10/second")
def call(number: int) -> None:
    """Start a tenth of a second after the last one."""


if __name__ == "__main__":
    export.many((who, part) for who in ("alice", "bob") for part in range(6))
    call.map(range(6))
    began = time.monotonic()
    with schedule.listener(s, folder=Path(__file__).parent):
        while any(schedule.jobs(s)):
            time.sleep(0.05)
    print("at most", *(f"{who}: {count}" for who, count in sorted(most.items())))
    print(f"six calls took {'half a second' if time.monotonic() - began >= 0.5 else 'too little'}, or more")
