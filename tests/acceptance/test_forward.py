"""Forwarding under faults: forwarders are killed, both servers are pulled. Each occurrence arrives, once where nobody
dies, and a repeated one can be recognised by its id.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.processes import Process, Processes, until
from tests.servers import Server, program
from workkit import Job, schedule
from workkit.brokers.gocraft.codec import short_sha1

FORWARD = """
import sys
from workkit import schedule
s = schedule.create(sys.argv[1], redis=sys.argv[2])
go = schedule.create("go", redis=sys.argv[3], layout="gocraft")
print("begun", flush=True)
schedule.forward(s, to=go, listener_timeout="5s", deadline="5s")
"""


class Place:
    """A schedule on one server, a namespace on another, and forwarders between them."""

    def __init__(self, here: Server, there: Server, *, name: str, processes: Processes, folder: Path) -> None:
        self.here, self.there, self.processes, self.folder = here, there, processes, folder
        self.schedule = schedule.create(name, redis=here.url)

    def forwarder(self, *, fault: str = "") -> Process:
        words = (self.schedule.name, self.here.url, self.there.url)
        script = self.folder / "forward.py"
        script.write_text(FORWARD)
        env = {"WORKKIT_TEST_FAULT": fault, "WORKKIT_TEST_HISTORY": str(self.folder / "history")}
        how = ("-m", "tests.acceptance.faulty") if fault else ()
        process = self.processes.run(sys.executable, *how, str(script), *words, env=env, is_warm=not fault)
        process.wait_for("begun")
        return process

    def arrived(self) -> Counter[str]:
        """Count the arrivals of each id, in all queues."""
        client = self.there.client()
        texts = [text for key in client.keys("go:jobs:*") for text in client.lrange(key, 0, -1)]
        return Counter(json.loads(text)["id"] for text in texts)

    def left(self) -> int:
        """Count the payloads in the schedule: a one-shot's leaves it with the end of its claim."""
        return int(self.here.client().hlen(f"{self.schedule.name}:jobs"))


@pytest.fixture
def place(
    own_server: Server, name: str, processes: Processes, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("there")
    with closing(Server(program("redis"), folder=folder, is_durable=True)) as there:
        there.start()
        yield Place(own_server, there, name=name, processes=processes, folder=tmp_path)


def expected(job: Job, *, until_ms: int) -> set[str]:
    """Compute the ids of all occurrences of a job that recurs each second."""
    assert job.due is not None
    first = round(job.due.timestamp() * 1000)
    return {short_sha1(f"{job.schedule} {job.id}@{due}") for due in range(first, until_ms + 1, 1000)}


@pytest.mark.parametrize("own_server", ["valkey"], indirect=True)
@pytest.mark.parametrize(
    ("fault", "times"), [("add sent|process|1|early", 1), ("add answered|process|2|late", 2)], ids=["before", "after"]
)
# The first request finds that the server does not have the script yet, and is sent again.
def test_a_forwarder_killed_around_its_publication_repeats_it_under_the_same_id(
    place: Place, fault: str, times: int
) -> None:
    schedule.add_many(place.schedule, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(20)])
    killed = place.forwarder(fault=fault)
    assert killed.wait() == -signal.SIGKILL
    place.forwarder()
    until(lambda: len(place.arrived()) == 20 and not place.left(), timeout=30, what="the hand-over")
    arrived = place.arrived()
    assert len(arrived) == 20
    assert set(arrived.values()) == {times}


@pytest.mark.parametrize("own_server", ["valkey"], indirect=True)
def test_every_occurrence_arrives_amid_pulled_servers_and_killed_forwarders(place: Place) -> None:
    s = place.schedule
    jobs = [schedule.add(s, f"tick{n}", every="second", catch_up="all", kwargs={"n": n}) for n in range(3)]
    one: Any = place.forwarder()

    def add(count: int) -> None:
        schedule.add_many(s, [{"fn": "send", "at": "now", "kwargs": {"n": n}} for n in range(count)])

    def settled(ids: int) -> set[str]:
        """Wait until all that is due has arrived, and return what was due of the recurring jobs."""
        due: set[str] = set()
        now_ms = round(time.time()) * 1000 - 1000
        for job in jobs:
            due |= expected(job, until_ms=now_ms)
        until(
            lambda: due <= (found := set(place.arrived())) and len(found - due) >= ids and place.left() == len(jobs),
            timeout=40,
            what="the occurrences to arrive",
        )
        return due

    add(300)
    until(lambda: len(place.arrived()) > 100)
    for server in (place.there, place.here, place.there):
        server.kill()
        time.sleep(0.7)  # an outage has a length
        server.start()
        add(100)
        time.sleep(0.4)
    assert len(settled(600)) > 6
    assert set(place.arrived().values()) == {1}, "no process has died: once"

    for number in range(4):
        add(100)
        time.sleep(0.15 * number)  # amid the hand-over, or before
        one.send(signal.SIGKILL)
        one.wait()
        one = place.forwarder()
    settled(1000)
    assert not schedule.dead(s)
    until(lambda: one.pid in [listener.pid for listener in schedule.listeners(s)], what="the last forwarder")
    one.send(signal.SIGTERM)
    assert one.wait() == 0
