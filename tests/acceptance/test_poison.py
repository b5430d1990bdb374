"""A job that kills its process: it ends in the dead set, and takes nobody with it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.processes import Process, Processes, until
from tests.servers import Server
from workkit import schedule

APP = """
import os, signal, time, redis
r = redis.Redis.from_url(os.environ["SEEN"])
def innocent(n):
    r.rpush("begun", n)
    time.sleep(1.0)
    r.rpush("seen", n)
def poison():
    r.rpush("begun", "poison")
    if os.environ["MANY"] == "yes":
        while r.llen("begun") < 6: time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""
LISTEN = """
import sys
from workkit import schedule
schedule.listen(schedule.create(sys.argv[1], redis=sys.argv[2]), threads=6, listener_timeout="5s", imports=["app"])
"""


def test_a_job_that_kills_its_process_three_times_is_dead_and_the_others_run(
    server: Server, name: str, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    s = schedule.create(name, redis=server.url)
    poison = schedule.add_now(s, "app:poison")
    for n in range(5):
        schedule.add_now(s, "app:innocent", args=[n])
    client, started = server.client(), 0

    def start() -> Process:
        return processes.python(LISTEN, name, server.url, env={"SEEN": server.url, "MANY": "no" if started else "yes"})

    def let_time_pass() -> None:
        """Have the last heartbeats of those that died be old ones, so that nobody waits until they are."""
        for listed in client.zrange(f"{name}:listeners", 0, -1):
            client.zadd(f"{name}:listeners", {listed: 1})

    def is_over(listener: Process) -> bool:
        return bool(schedule.counts(s).dead) or not listener.is_running

    while not schedule.counts(s).dead:
        listener = start()
        started += 1
        assert started <= 4, "more listeners died than the poison may kill"
        until(partial(is_over, listener))
        let_time_pass()
    until(lambda: client.llen("seen") >= 5)
    assert started == 4
    assert {int(n) for n in client.lrange("seen", 0, -1)} == set(range(5))
    until(lambda: not schedule.counts(s).running, what="the last ending")
    (dead,) = schedule.jobs(s)
    assert (dead.id, dead.error) == (poison.id, "Crashed: crashed its listener 3 times")
    assert client.lrange("begun", 0, -1).count(b"poison") == 3
