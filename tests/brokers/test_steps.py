"""A wall clock that steps by an hour under a program that runs: its times stay those of the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule

STEPPING = """
import sys, time
sys.path.insert(0, ".")
wall, ahead = time.time, [0.0]
time.time = lambda: wall() + ahead[0]
from workkit import current_job, schedule

def step():
    ahead[0] = float(sys.argv[3])

def note():
    print("late", round(current_job().lateness.total_seconds()), flush=True)
"""
PRODUCER = """
s = schedule.create(sys.argv[1], redis=sys.argv[2])
for _ in range(3):
    added = schedule.add(s, "app:f", in_="1 minute")
    print("in", round(schedule.job(s, added.id).due.timestamp() - wall()), flush=True)
    step()
"""
LISTENER = """
import sys
import stepping
from workkit import schedule
if __name__ == "__main__":
    schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), imports=["stepping"], folder=None)
"""


@pytest.mark.parametrize("seconds", ["3600", "-3600"])
def test_a_length_of_time_is_counted_by_the_server_after_a_step(
    server: Server, name: str, processes: Processes, seconds: str
) -> None:
    producer = processes.python(STEPPING + PRODUCER, name, server.url, seconds)
    assert producer.wait() == 0, producer.transcript()
    said = [int(line.removeprefix("in ")) for line in producer.out]
    assert len(said) == 3
    assert all(55 <= seconds <= 61 for seconds in said), said


@pytest.mark.parametrize("seconds", ["3600", "-3600"])
def test_a_listener_is_not_late_after_a_step(
    server: Server, name: str, processes: Processes, tmp_path: Path, seconds: str
) -> None:
    (tmp_path / "stepping.py").write_text(STEPPING)
    s = schedule.create(name, redis=server.url)
    listener = processes.python(LISTENER, name, server.url, seconds)
    until(lambda: schedule.counts(s).listeners == 1)
    for fn in ("note", "step", "note"):
        schedule.add_now(s, f"stepping:{fn}")
        until(lambda: not list(schedule.jobs(s)), what=f"the end of {fn}")
    until(lambda: sum(line.startswith("late") for line in listener.out) == 2, what="what both notes print")
    said = [int(line.removeprefix("late ")) for line in listener.out if line.startswith("late")]
    assert all(0 <= late <= 10 for late in said), said
