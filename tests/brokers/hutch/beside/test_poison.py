"""A message that kills its process, beside innocent ones: real processes."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tests.brokers.hutch.beside.pair import Pair
from tests.processes import Process, Processes, until

APP = """
import os, signal, redis
from workkit import job
r = redis.Redis.from_url(os.environ["SEEN"])

@job("note")
def note(body):
    r.rpush("begun", body["n"])
    if body["n"] == "poison":
        while r.llen("begun") < int(os.environ["AWAIT"]): pass
        os.kill(os.getpid(), signal.SIGKILL)
    r.rpush("seen", body["n"])
"""


def test_a_message_that_kills_its_process_three_times_is_dead_and_the_others_run(
    pair: Pair, processes: Processes, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    pair.listener().leave()
    for n in ('"poison"', 1, 2, 3):
        pair.on.publish("note", f'{{"n":{n}}}'.encode(), message_id=f"m{n}")
    where = ("--layout", "hutch", "--amqp", pair.on.url, "--redis", pair.server.url)
    started = 0

    def start() -> Process:
        env = {"SEEN": pair.server.url, "AWAIT": "0" if started else "4"}
        return processes.workkit("listen", pair.on.names.exchange, *where, "--import", "app", env=env)

    def is_over(listener: Process) -> bool:
        return pair.on.count(pair.on.names.dead_queue) > 0 or not listener.is_running

    while not pair.on.count(pair.on.names.dead_queue):
        listener = start()
        started += 1
        assert started <= 4, "more listeners died than the poison may kill"
        until(partial(is_over, listener), timeout=20)
    until(lambda: set(pair.client.lrange("seen", 0, -1)) == {b"1", b"2", b"3"}, timeout=20)
    assert started == 4
    assert pair.client.lrange("begun", 0, -1).count(b"poison") == 3
    _, properties, _ = pair.on.got(pair.on.names.dead_queue)
    assert (properties.message_id, properties.headers["workkit-reason"]) == ('m"poison"', "crashed")
