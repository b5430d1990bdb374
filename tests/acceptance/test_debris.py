"""A day's debris: listeners killed while busy, a server that restarted, hostile keys of each kind, what dead listeners
leave. `doctor --fix` clears it, and a second one says that all is well, or names only what a person must decide.
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests import rabbit
from tests.acceptance.hostile_values import Aim, Source
from tests.brokers.gocraft.doctor.checkups import text
from tests.brokers.gocraft.doctor.hostile import IDS, fitting
from tests.brokers.gocraft.serving.fleet import Namespace
from tests.brokers.hutch.beside.pair import Pair
from tests.brokers.hutch.opened import opened
from tests.cli.test_hostile_keys import BESIDE, spoil
from tests.processes import Process, Processes, until
from tests.servers import Server
from workkit import schedule
from workkit.brokers.hutch.names import Names
from workkit.brokers.native.keys import Keys

APP = """
import time
from pathlib import Path
from workkit import job

def touch(name):
    Path(name).touch()

@job("busy", limit=2)
def busy(*args, **kwargs):
    touch(f"begun-{time.monotonic_ns()}")
    time.sleep(0 if Path("killed").exists() else 60)

@job("safe")
def safe(*args, **kwargs):
    touch(f"safe-{time.monotonic_ns()}")

@job("fail")
def fail(*args, **kwargs):
    raise OSError("disk full")
"""
OURS = ("busy", "safe", "fail")
OF_A_PERSON = {
    "nobody-runs": "another machine may have the function",
    "unclear": "a foreign peer may run what is not for us",
    "cron": "a foreign peer may read the times that this dialect cannot",
    "name": "a name that Go cannot serve: whoever registered it takes it away",
    "heartbeat": "a key of Go pools that is no number: the next Go pool writes it",
    "dead": "somebody retries, discards or acknowledges them",
    "dropped": "RabbitMQ counts for as long as the channel lives what led to no queue",
    "unchecked": "no management API answers here",
}
SEED, VALUES = 20261126, 400


class Day:
    """One schedule with its listeners as processes. `words` find its layout and its servers."""

    def __init__(self, processes: Processes, folder: Path, name: str, words: Sequence[str]) -> None:
        self.processes, self.folder, self.name, self.words = processes, folder, name, tuple(words)
        self.last = ""  # the last checkup
        (folder / "app.py").write_text(APP)

    def listen(self, *more: str) -> Process:
        started = self.processes.workkit("listen", self.name, "--import", "app", *more, *self.words)
        started.wait_for("may run")
        return started

    def kill_busy(self) -> None:
        """Kill two listeners in the middle of their jobs, as the kernel does."""
        listeners = [self.listen() for _ in range(2)]
        until(lambda: self._begun() >= 2)
        for one in listeners:
            one.send(signal.SIGKILL)
            one.wait()
        (self.folder / "killed").touch()

    def take_over(self) -> None:
        """Let a listener take over what the dead ones held, as one that is there in the night does."""
        before = self._begun()
        self.listen()
        until(lambda: self._begun() > before and list(self.folder.glob("safe-*")), timeout=60)
        until(lambda: not self.doctor()[1].keys() & {"stale", "half-listed"}, timeout=60, what=self.last)

    def _begun(self) -> int:
        return len(list(self.folder.glob("begun-*")))

    def is_well(self, *, but: Mapping[str, str]) -> None:
        """Repair, and look again: only what a person must decide is left, each kind with its reason in `but`."""
        self.fix()
        status, found = self.doctor()
        assert (found.keys() - but.keys(), status) == (set(), 1 if found else 0), self.last

    def doctor(self, *more: str) -> tuple[int, Counter[str]]:
        """Check, as JSON; the exit status, and how many findings of each kind."""
        ran = self.processes.workkit("doctor", self.name, "--json", "--older-than", "0s", *more, *self.words)
        status = ran.wait(timeout=60)
        assert status in (0, 1), ran.transcript()
        self.last = ran.transcript()
        return status, Counter(one["kind"] for one in json.loads("\n".join(ran.out)))

    def fix(self) -> None:
        ran = self.processes.workkit("doctor", self.name, "--fix", "--yes", "--older-than", "0s", *self.words)
        assert ran.wait(timeout=60) in (0, 1), ran.transcript()


def test_native(own_server: Server, name: str, tmp_path: Path, processes: Processes) -> None:
    s, day = schedule.create(name, redis=own_server.url), Day(processes, tmp_path, name, ["--redis", own_server.url])
    for n in range(6):
        schedule.add_now(s, "@busy", args=[n], retries=1)
        schedule.add_now(s, "@safe", args=[n], unique_key=f"key {n}", keep="1 hour")
    schedule.add(s, "@busy", every="second", name="often", overlap="queue")
    schedule.add_now(s, "@fail")
    day.kill_busy()
    own_server.end(signal.SIGKILL)
    own_server.start()
    client: Any = own_server.client()
    aim, keys = Aim(now_ms=1000 * int(client.time()[0])), Keys(name)
    for value in Source(seed=SEED).values(VALUES, aim):
        value.write(client, value.key(keys))
    _, found = day.doctor()
    assert found.keys() > {"unlisted", "half-listed", "no-item", "no-job", "unreadable", "slot", "unread"}
    day.take_over()
    # Some of the values are runs that have begun, of a function that no listener has. They wait in S:again.
    day.is_well(but=OF_A_PERSON | {"overdue": "another machine may have the function"})


def test_gocraft(own_server: Server, name: str, tmp_path: Path, processes: Processes) -> None:
    with closing(Namespace(own_server, name)) as ns:
        day = Day(processes, tmp_path, name, ["--layout", "gocraft", "--redis", own_server.url])
        for n in range(6):
            ns.add("busy", {"n": n})
            ns.add("safe", {"n": n}, once=True)
        day.kill_busy()
        own_server.end(signal.SIGKILL)
        own_server.start()
        random, dead = Random(SEED), ns.go_pool("busy", "safe", id="d" * 24)
        ns.raw.hset(ns.keys.worker_pool(dead), "heartbeat_at", 1)
        ns.raw.lpush(ns.keys.in_progress("safe", dead), text(name="safe", id="e" * 24, unique=True))
        ns.raw.set(ns.keys.lock("busy"), 7)
        ns.raw.hset(ns.keys.lock_info("busy"), dead, 7)
        ns.raw.sadd(ns.keys.worker_pools, *IDS)
        ns.push("safe", b"{no job")
        for _ in range(4):
            fitting(ns.raw, ns.keys, random)
        _, found = day.doctor()
        assert found.keys() > {"unreadable", "no-heartbeat", "stale", "lock"}, day.last
        day.take_over()
        day.is_well(but=OF_A_PERSON)
        ns.raw.srem(ns.keys.known_jobs, *(ns.raw.smembers(ns.keys.known_jobs) - {each.encode() for each in OURS}))
        ns.raw.delete(ns.keys.last_periodic_enqueue, ns.keys.dead)  # what a person decides
        status, found = day.doctor()
        assert (status, found) == (0, Counter()), day.last


@pytest.mark.parametrize("layout", ["hutch", "event"])
def test_rabbitmq(
    rabbitmq: rabbit.Shared, own_server: Server, layout: Any, name: str, tmp_path: Path, processes: Processes
) -> None:
    amqp, names = rabbitmq.url, Names(exchange=name, dialect=layout)
    with opened(amqp, names) as on:
        pair = Pair(on, own_server)
        s = schedule.create(name, amqp=amqp, redis=own_server.url, layout=layout)
        words = ["--layout", layout, "--amqp", amqp, "--redis", own_server.url]
        words += ["--management", rabbitmq.management] if rabbitmq.management else []
        day = Day(processes, tmp_path, name, words)
        first = day.listen()
        first.send(signal.SIGKILL)
        first.wait()
        for n in range(6):
            schedule.add_now(s, "busy", args=[{"n": n}])
            schedule.add_now(s, "safe", args=[{"n": n}], unique_key=f"key {n}")
        schedule.add_now(s, "fail", args=[{}])
        on.publish("safe", b"{no object")
        on.publish("nobody.serves", b"{}")
        try:
            day.kill_busy()
            own_server.end(signal.SIGKILL)
            own_server.start()
            random = Random(SEED)
            for each, kind in BESIDE.items():
                found = getattr(pair.keys, each)
                for how in ("value", "score"):
                    spoil(pair.client, found if isinstance(found, str) else found("nobody"), kind, how, random)
            _, kinds = day.doctor()
            assert kinds.keys() > {"half-listed", "unlisted", "unread"}, day.last
            day.take_over()
            day.is_well(but=OF_A_PERSON)
            schedule.discard(s)
            _, kinds = day.doctor()
            assert kinds.keys() <= {"unchecked", "dropped"}, day.last
        finally:
            rabbit.forget(amqp, names, *(names.queue(each) for each in ("busy", "safe", "fail")))
