"""Listeners on one exchange of RabbitMQ and a producer with confirms, while listeners are killed and stopped, their
connections are cut, and the broker is killed and restarted. In the end nothing may be missing, and nothing may have run
twice but what was delivered and not acknowledged in that moment. What was delayed to a key without a queue waits, and
runs once a listener serves it.

``python -m tests.acceptance.hutch_fleet --jobs 50000 --seed 1 --layout event``; exit status 0 where all held.
Normative: spec/layouts/hutch.md, sections 6 to 8.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pika

from tests.acceptance import fleet_log, hutch_verdict
from tests.acceptance.fleet_process import begun, carried_out, counts, end_all
from tests.acceptance.hutch_cast import EXCHANGE, HERE, JOBS, LATE, WILD
from tests.acceptance.hutch_verdict import Dead, Owed
from tests.acceptance.soak_verdict import Incident
from tests.brokers.hutch.relay import Relay
from tests.processes import until
from tests.rabbit import Rabbit, connected
from workkit import schedule
from workkit.brokers.hutch.names import Dialect, Names
from workkit.brokers.hutch.topology import first_step, ladder
from workkit.errors import ServerError

LISTEN = f"import sys; from {HERE} import listen; listen(*sys.argv[1:])"
CHUNK = 25  # messages of one kind, added in one call
NOTICED = 1.0  # seconds after which a listener surely knows that its connection is gone
FORGOTTEN = 10.0  # seconds: RabbitMQ writes acknowledgements late, so a kill of its node undoes the last ones
RESUMED = 10.0  # seconds after its start in which a broker moves delayed messages on that it had moved before
DRAIN = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of message: its routing key, what steers its handler, when it is due, and how often it is drawn."""

    name: str
    weight: int
    body: Mapping[str, Any] = field(default_factory=dict)
    wait: str = ""
    last: int = 0  # the attempt that ends it


KINDS = (
    Kind(name="fleet.plain", weight=50),
    Kind(name="fleet.slow", weight=6, body={"sleep_ms": 120}),
    Kind(name="fleet.plain", weight=12, body={"sleep_ms": 10}),
    Kind(name="fleet.flaky", weight=8, body={"fail": "not yet", "fail_n": 1}, last=1),
    Kind(name="fleet.asks", weight=5, last=1),
    Kind(name="fleet.drops", weight=4),
    Kind(name="fleet.dies", weight=4, body={"fail": "never"}, last=1),
    Kind(name="fleet.plain", weight=6, wait="0.5 seconds"),
    Kind(name="fleet.plain", weight=5, wait="3 seconds"),
    Kind(name=LATE, weight=4, wait="1 second"),
    Kind(name="fleet.wild.a.b", weight=6),  # the layout hutch alone
    Kind(name="", weight=1),  # malformed
)
HIGHEST = first_step(3000)  # of the ladder that is used


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of it."""

    added: int = 0
    ran: int = 0
    troubles: Counter[str] = field(default_factory=Counter)
    unheard: int = 0
    twice: Mapping[str, int] = field(default_factory=dict)
    waited: str = ""
    lost: int = 0
    dead: int = 0
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return "\n".join(
            [
                f"confirmed       {self.added:,}; {self.unheard:,} of them published again, as no confirm was heard",
                f"runs begun      {self.ran:,} in {self.seconds:.0f} s",
                f"troubles        {counts(self.troubles)}",
                f"run twice       {counts(self.twice)}",
                f"waited          {self.waited}",
                f"dead queue      {self.dead:,}",
                f"lost            {self.lost:,}",
                *(f"wrong           {complaint}" for complaint in self.complaints),
            ]
        )


class Producer(threading.Thread):
    """Publishes so many messages of all kinds, and again what may not have been taken, until each is confirmed."""

    def __init__(self, url: str, layout: Dialect, chance: random.Random, *, jobs: int, rate: float) -> None:
        super().__init__(daemon=True)
        self.owed = Owed(dying=("fleet.dies",))
        self.added = 0
        self._url, self._chance, self._jobs, self._rate = url, chance, jobs, rate
        self._schedule = schedule.create(EXCHANGE, amqp=url, layout=layout)
        self._kinds = [kind for kind in KINDS if layout == "hutch" or "wild" not in kind.name]
        self._firsts = list(self._kinds)

    def run(self) -> None:
        while self.added < self._jobs:
            began = time.monotonic()
            count = min(CHUNK, self._jobs - self.added)
            if self._firsts:
                kind = self._firsts.pop()
            else:
                (kind,) = self._chance.choices(self._kinds, [kind.weight for kind in self._kinds])
            numbers = range(self.added, self.added + count)
            self._publish(kind, numbers)
            self.added += count
            time.sleep(max(0.0, began + count / self._rate - time.monotonic()))

    def _publish(self, kind: Kind, numbers: range) -> None:
        publish: Callable[[], Any] = lambda: _publish_malformed(self._url, numbers)  # noqa: E731
        if kind.name:
            when = {"in_": kind.wait} if kind.wait else {"at": "now"}
            rows = [{"fn": kind.name, "args": [{**kind.body, "n": n}], **when} for n in numbers]
            publish = lambda: schedule.add_many(self._schedule, rows)  # noqa: E731
            self.owed.add(kind.name, numbers, last=kind.last)
            self.owed.delayed.update(numbers if kind.wait else ())
        else:
            self.owed.malformed.update(numbers)
        while True:
            try:
                publish()
                return
            except (ServerError, pika.exceptions.AMQPError, OSError):
                self.owed.again.update(numbers)
                time.sleep(0.1)


def _publish_malformed(url: str, numbers: range) -> None:
    """Publish as another program does, each message with its number as its id."""
    with connected(url) as channel:
        channel.confirm_delivery()
        for n in numbers:
            properties = pika.BasicProperties(delivery_mode=2, message_id=str(n))
            channel.basic_publish(EXCHANGE, "fleet.plain", b"{", properties, mandatory=True)


class Fleet:
    """One fleet on a broker of its own; `run` it, then `close`."""

    def __init__(self, folder: Path, broker: Rabbit, *, seed: int, each: int = 4, layout: Dialect = "hutch") -> None:
        self.folder, self.each, self.layout = folder, each, layout
        self.names = Names(exchange=EXCHANGE, dialect=layout)
        self.jobs = (*JOBS, WILD) if layout == "hutch" else JOBS
        self.chance = random.Random(seed)
        self.broker = broker
        self.report = Report()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._relays: dict[int, Relay] = {}  # 0: the producer's
        self._alive: set[int] = set()
        self._incidents: list[Incident] = []

    def run(self, jobs: int, *, rate: float, troubles: Mapping[str, float], most: int | None = None) -> Report:
        """Publish so many messages at this rate (a second) among troubles, each every so many seconds, at least once
        and at most `most` times; let all runs end, and judge.
        """
        self._relays[0] = Relay(self.broker.port)
        for _ in range(self.each):
            self._start(*self.jobs)
        until(self._are_all_there, timeout=DRAIN, what="all listeners")
        began = time.monotonic()
        url = f"amqp://guest:guest@127.0.0.1:{self._relays[0].port}/"
        producer = Producer(url, self.layout, random.Random(self.chance.random()), jobs=jobs, rate=rate)
        producer.start()
        act: dict[str, Callable[[], None]] = {
            "killed": self._kill, "stopped": self._stop, "cut": self._cut, "producer cut": self._relays[0].cut,
            "broker killed": lambda: self._restart(self.broker.kill, "broker killed"),
            "broker restarted": lambda: self._restart(self.broker.stop, "broker restarted"),
        }  # fmt: skip
        at = {what: began + every * self.chance.uniform(0.5, 1.0) for what, every in troubles.items()}
        while producer.is_alive() or any(not self.report.troubles[what] for what in troubles):
            for what, every in troubles.items():
                if time.monotonic() >= at[what] and (most is None or self.report.troubles[what] < most):
                    act[what]()
                    self.report.troubles[what] += 1
                    at[what] = time.monotonic() + every * self.chance.uniform(0.6, 1.4)
            time.sleep(0.02)
        self.report.added, self.report.unheard = producer.added, len(producer.owed.again)
        try:
            self._drain(producer.owed)
        except AssertionError as vain:
            self.report.complaints.append(str(vain).partition(";")[0])
        self._end()
        self.report.seconds = time.monotonic() - began
        self._judge(producer.owed)
        return self.report

    def close(self) -> None:
        end_all(self._processes.values())
        for relay in self._relays.values():
            relay.__exit__()

    # Who takes part.

    def _start(self, *jobs: str) -> None:
        number = len(self._processes) + 1
        self._relays[number] = relay = Relay(self.broker.port)
        command = [sys.executable, "-c", LISTEN, f"amqp://guest:guest@127.0.0.1:{relay.port}/", self.layout, *jobs]
        log, output = self.folder / f"listener-{number}.log", self.folder / f"output-{number}"
        self._processes[number] = begun(command, log=log, output=output)
        self._alive.add(number)

    def _are_all_there(self) -> bool:
        return len(self._listening()) == len(self._alive)

    def _listening(self) -> list[int]:
        return [n for n in sorted(self._alive) if (self.folder / f"listener-{n}.log").stat().st_size]

    def _one(self) -> int | None:
        """A listener that has begun to listen."""
        return self.chance.choice(found) if (found := self._listening()) else None

    # What happens to them.

    def _kill(self) -> None:
        """Kill a listener, and start another."""
        if (number := self._one()) is not None:
            at = time.time()
            self._processes[number].kill()
            self._processes[number].wait()
            self._incidents.append(Incident(kind="listener killed", pid=number, at=at, until=time.time() + 0.001))
            self._alive.discard(number)
            self._start(*self.jobs)

    def _stop(self) -> None:
        """Stop a listener in order, and start another. That explains no duplicate."""
        if (number := self._one()) is not None:
            self._processes[number].terminate()
            self._alive.discard(number)
            self._start(*self.jobs)

    def _cut(self) -> None:
        """Cut both connections of a listener."""
        if (number := self._one()) is not None:
            at = time.time()
            self._relays[number].cut()
            self._incidents.append(Incident(kind="connection cut", pid=number, at=at, until=time.time() + NOTICED))

    def _restart(self, end: Callable[[], None], kind: str) -> None:
        until(
            self._are_all_there, timeout=DRAIN, what="all listeners"
        )  # one that starts without a broker ends with an error
        at, alive = time.time(), list(self._processes)
        end()
        gone = time.time()
        self.broker.start()
        moved = "moved again by a broker that was away"
        self._incidents.append(Incident(kind=moved, pid=0, at=at - NOTICED, until=time.time() + RESUMED))
        for number in alive:
            self._incidents.append(Incident(kind=kind, pid=number, at=at, until=gone + NOTICED))
            if end == self.broker.kill:
                forgot = "forgotten by a killed broker"
                late = Incident(kind=forgot, pid=number, at=at - FORGOTTEN, until=gone)
                self._incidents.append(late)

    # How it ends.

    def _drain(self, owed: Owed) -> None:
        dead = len(owed.must_die())

        def is_over() -> bool:
            with suppress(pika.exceptions.AMQPError):
                with connected(self.broker.url) as channel:
                    if _counted(channel, self.names.dead_queue) < dead or any(self._left(channel)):
                        return False
                return hutch_verdict.lost(owed, fleet_log.read_runs(self.folder)).keys() <= waits
            return False

        waits = {LATE}
        until(is_over, timeout=DRAIN, what="the end of all work")
        if self.broker.manages:
            until(self._doctor_names, timeout=DRAIN, what="the doctor to name what waits and what is dead")
        away = [one for one in self._incidents if not one.pid]
        self._start(LATE)
        number = len(self._processes)  # what was moved twice while the broker was away runs only now
        self._incidents += [replace(one, pid=number, until=time.time() + DRAIN) for one in away]
        waits = set()
        until(is_over, timeout=DRAIN, what="the end of what had waited for a queue")

    def _doctor_names(self) -> bool:
        """Whether `workkit doctor` tells of the messages without a queue, and of the dead ones."""
        words = ["doctor", EXCHANGE, "--layout", self.layout, "--amqp", self.broker.url]
        command = [sys.executable, "-m", "workkit", *words, "--management", self.broker.management, "--json"]
        said = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, timeout=60).stdout
        named = {finding["kind"]: finding["what"] for finding in json.loads(said or "[]")}
        self.report.waited = named.get("undelivered", "")
        return "undelivered" in named and "dead" in named

    def _end(self) -> None:
        for number in self._alive:
            self._processes[number].terminate()
        for number, process in self._processes.items():
            status = process.wait(30)
            if status not in (0, -signal.SIGKILL):
                self.report.complaints.append(f"listener {number} ended with status {status}")
            if said := (self.folder / f"output-{number}").read_text():
                self.report.complaints.append(f"listener {number} printed: {said.splitlines()[-1]}")
        with connected(self.broker.url) as channel:
            self.report.complaints += [f"{count} messages are left in {queue}" for queue, count in self._left(channel)]

    def _left(self, channel: Any) -> list[tuple[str, int]]:
        """The queues that are not empty: work queues, and those of the ladder that were declared."""
        steps = (queue.name for queue in ladder(self.names, highest=HIGHEST).queues)
        return [(name, count) for name in (*map(self.names.queue, self.jobs), *steps)
                if (count := _counted(channel, name))]  # fmt: skip

    def _judge(self, owed: Owed) -> None:
        runs = fleet_log.read_runs(self.folder)
        with connected(self.broker.url) as channel:
            dead = list(_dead(channel, self.names.dead_queue))
        self.report.lost = sum(map(len, hutch_verdict.lost(owed, runs).values()))
        self.report.ran, self.report.dead = len(runs), len(dead)
        self.report.twice = hutch_verdict.repeated(owed, runs, self._incidents)[0]
        self.report.complaints += list(hutch_verdict.complaints(owed, runs, dead, self._incidents))


def _counted(channel: Any, queue: str) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def _dead(channel: Any, queue: str) -> list[Dead]:
    """Take what is in the dead queue."""
    found = []
    for _ in range(_counted(channel, queue)):
        _, properties, body = channel.basic_get(queue, auto_ack=True)
        said, is_malformed = properties.headers, body == b"{"
        found.append(
            Dead(
                name="" if is_malformed else said["workkit-key"],
                number=int(properties.message_id) if is_malformed else json.loads(body)["n"],
                id=properties.message_id,
                reason=said["workkit-reason"],
            )
        )
    return found


EVERY = {
    "killed": 4.0,
    "stopped": 9.0,
    "cut": 5.0,
    "producer cut": 7.0,
    "broker killed": 30.0,
    "broker restarted": 45.0,
}


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.hutch_fleet")
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--rate", type=float, default=600.0, help="messages published a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layout", choices=("hutch", "event"), default="hutch")
    given = parser.parse_args(words)

    def run(folder: Path) -> Report:
        broker = Rabbit(folder / "node", manages=True)
        fleet = Fleet(folder, broker, seed=given.seed, layout=given.layout)
        try:
            broker.start()
            return fleet.run(given.jobs, rate=given.rate, troubles=EVERY)
        finally:
            fleet.close()
            broker.close()

    return carried_out(given.layout, seed=given.seed, run=run)


if __name__ == "__main__":
    sys.exit(main())
