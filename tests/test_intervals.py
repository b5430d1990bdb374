"""Intervals and lengths on a server: one job whoever adds it, run by real listeners at its instants."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.processes import Processes, until
from tests.servers import Server
from workkit import schedule, wire

PROCESSES, EACH = 5, 10
ADD = """
import sys
from datetime import timedelta
from workkit import schedule
from app import tick

s = schedule.create(sys.argv[1], redis=sys.argv[2], tz=sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
print(sum(schedule.add(s, every=every, fn=tick, start=start).new
          for _ in range(5) for every in ("90 seconds", timedelta(seconds=90))
          for start in (None, "2026-01-01T00:00:30Z")), flush=True)
"""  # fmt: skip
APP = """
from workkit import current_job
def tick():
    with open("ran", "a") as file:
        file.write(f"{current_job().due.timestamp():.3f}\\n")
"""


def test_an_interval_added_fifty_times_by_five_processes_is_one_job(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    zones = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")
    adders = [processes.python(ADD, name, server.url, tz) for tz in zones]
    for adder in adders:
        adder.wait_for("^ready$")
    for adder in adders:
        adder.tell("go")
    assert [adder.wait() for adder in adders] == [0] * PROCESSES
    assert sum(int(adder.out[-1]) for adder in adders) == 2  # without a start, and with one
    stored = [json.loads(payload) for payload in server.client().hvals(f"{name}:jobs")]
    assert sorted((job["interval"]["phase"], job.get("from") is None) for job in stored) == [(0, True), (30, False)]
    assert server.client().zcard(f"{name}:next") == 2


def test_listeners_that_come_and_go_run_each_instant_once(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    job = schedule.add(s, every="7 seconds", fn="app:tick", start="2026-01-01T00:00:02Z")
    phase = round(datetime.fromisoformat("2026-01-01T00:00:02+00:00").timestamp()) % 7
    ran = tmp_path / "ran"
    ran.touch()

    def dues() -> list[float]:
        return [float(line) for line in ran.read_text().split()]

    for others in (0, 1):  # one listener, then two side by side
        before = len(dues())
        listeners = [processes.workkit("listen", name, "-q", "--redis", server.url) for _ in range(1 + others)]
        until(lambda before=before, others=others: len(dues()) > before + others)  # type: ignore[misc]
        for listener in listeners:
            listener.send(signal.SIGINT)
        assert [listener.wait() for listener in listeners] == [0] * len(listeners)
    assert {due % 7 for due in dues()} == {phase}
    assert dues() == sorted(set(dues()))
    waiting = schedule.job(s, job).due
    assert waiting is not None
    assert waiting.timestamp() % 7 == phase
    assert waiting.timestamp() > dues()[-1]


def test_a_length_has_its_milliseconds_in_the_score_and_each_addition_is_a_job(server: Server, name: str) -> None:
    client, s = server.client(), schedule.create(name, redis=server.url)
    until(lambda: client.time()[1] < 200_000)  # microseconds of a second that has just begun
    first = schedule.add(s, in_="1 hour", fn="app:tick")
    again = schedule.add(s, in_="1 hour", fn="app:tick")
    assert (first.new, again.new, again.id == first.id) == (True, True, False)
    score = client.zscore(f"{name}:next", wire.item(first.id))
    cron = json.loads(client.hget(f"{name}:jobs", first.id))["cron"]
    ends = datetime.fromtimestamp(-(-score // 1000), UTC)
    assert cron == f"{ends.year} {ends.month} {ends.day} * {ends.hour} {ends.minute} {ends.second}"
    assert first.due is not None
    assert first.due.timestamp() * 1000 == score
    asked_ms = server_ms(client) - score + 3_600_000  # since the addition, whose clock is an estimate of the server's
    assert -100 < asked_ms < 2_000


def server_ms(client: Any) -> float:
    seconds, micros = client.time()
    return float(seconds * 1000 + micros / 1000)
