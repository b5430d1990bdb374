"""One job at a time under a key, and one job of many additions in a moment.

python examples/unique.py
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from workkit import schedule

s = schedule.create("unique", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


def rebuild(index: str, rows: int) -> None:
    """Pretend to rebuild an index."""
    print(f"{index} rebuilt from {rows} rows", flush=True)


if __name__ == "__main__":
    first = schedule.add_now(s, rebuild, args=["kept", 1], unique_key="index:1")
    second = schedule.add_now(s, rebuild, args=["kept", 2], unique_key="index:1")  # answered with the first
    assert second.id == first.id
    assert not second.new

    first = schedule.add_now(s, rebuild, args=["replaced", 1], unique_key="index:2")
    second = schedule.add_now(s, rebuild, args=["replaced", 2], unique_key="index:2", on_conflict="replace")
    assert second.replaced == first.id

    for rows in (1, 2, 3):
        schedule.add_now(s, rebuild, args=["throttled", rows], unique_key="index:3", throttle="1 minute")
        schedule.add_now(s, rebuild, args=["debounced", rows], unique_key="index:4", debounce="1 minute")
    schedule.drain(s, now=datetime.now(UTC) + timedelta(minutes=2), folder=Path(__file__).parent)
