"""What goes first: priorities within a schedule, weights between schedules.

python examples/order.py
"""

import time
from pathlib import Path

from workkit import current_job, schedule

server = f"embedded://{Path(__file__).parent.resolve()}/.workkit"
s = schedule.create("order", redis=server)
often, seldom = schedule.create("often", redis=server), schedule.create("seldom", redis=server)
ran: list[str] = []


@s.job
def note(text: str) -> None:
    """Note the order."""
    ran.append(text)


def where() -> None:
    """Note the schedule; take long enough that few are claimed at a time."""
    time.sleep(0.002)
    ran.append(current_job().schedule or "")


if __name__ == "__main__":
    for level in (0, 2, 3, 1):
        note.now(priority=level).send(f"priority {level}")
    schedule.drain(s, folder=Path(__file__).parent)
    print(*ran, sep=", ")

    ran.clear()
    for one in (often, seldom):
        one.bind(where).many(() for _ in range(100))
    schedule.listener({often: 9, seldom: 1}, threads=1, burst=True, folder=Path(__file__).parent).run()
    half = ran[:100]
    print(f"of the first hundred, most were {max(set(half), key=half.count)}; then the rest: {len(ran)}")
