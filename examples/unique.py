"""One job at a time under a key, and one job of many additions in a moment.

python examples/unique.py
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from workkit import schedule

s = schedule.create("unique", redis=f"embedded://{Path(__file__).parent.resolve()}/.workkit")


@s.job
def rebuild(index: str, rows: int) -> None:
    """Pretend to rebuild an index."""
    print(f"{index} rebuilt from {rows} rows", flush=True)


if __name__ == "__main__":
    first = rebuild.now(unique_key="index:1").send("kept", 1)
    second = rebuild.now(unique_key="index:1").send("kept", 2)  # answered with the first
    assert second.id == first.id
    assert not second.new

    first = rebuild.now(unique_key="index:2").send("replaced", 1)
    second = rebuild.now(unique_key="index:2", on_conflict="replace").send("replaced", 2)
    assert second.replaced == first.id

    for rows in (1, 2, 3):
        rebuild.now(unique_key="index:3", throttle="1 minute").send("throttled", rows)
        rebuild.now(unique_key="index:4", debounce="1 minute").send("debounced", rows)
    schedule.drain(s, now=datetime.now(UTC) + timedelta(minutes=2), folder=Path(__file__).parent)
