"""Thousands of jobs that only foreign peers can run, ours beside them, and Python listeners that die, stall and stop
while they look through them: every foreign job stands in S:next within `listener_timeout` + 3 s, its score unchanged.

``python -m tests.acceptance.foreign --rounds 20 --jobs 5000 --place embedded`` plays longer than the suite.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import redis

from tests.acceptance import crash_cast
from tests.acceptance.stage import Stage
from tests.processes import is_alive, is_stopped, until
from tests.servers import PAST, PRODUCTS, Server, program
from workkit import schedule, wire
from workkit.brokers.embedded.attachment import attach

TIMEOUT, MARGIN = 5.0, 3.0  # seconds
FAULTS = ("kill", "stall", "stop")
PLACES = (*PRODUCTS, "embedded")
STALLED = TIMEOUT + 2.0
FUNCTIONS = ("#'clj.app/f", "#'clj.app/tick!", "(fn* [x] (println x))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Faced:
    """One fault: its kind, how many foreign jobs the listener held, and after how many seconds all were back."""

    kind: str
    held: int
    took: float

    def __str__(self) -> str:
        return f"{self.kind:6} with {self.held:3} in hand: all foreign jobs in S:next after {self.took:.1f} s"


class Scene:
    """One schedule on one server, listeners from a warm stage. `client` answers bytes."""

    def __init__(self, *, url: str, client: Callable[[], Any], stage: Stage, folder: Path, name: str) -> None:
        self.url, self.name, self.stage, self.folder = url, name, stage, folder
        self._client = client
        self.history = folder / "history"
        self.history.touch()
        self.schedule = schedule.create(name, redis=url)
        self.scores: dict[bytes, float] = {}
        self.labels: list[str] = []
        self.pids: list[int] = []

    @property
    def client(self) -> Any:
        return self._client()

    def fill(self, jobs: int, *, seed: int = 0) -> None:
        """Store foreign jobs as Clojure producers do, a third each: once, every second, crons of five and six fields;
        all due. Some of ours, too: at once, and every second.
        """
        chance, now = Random(seed), int(time.time() * 1000)
        day = datetime.now(UTC)
        crons = (f"{day.year} {day.month} {day.day} * 0 0 0", "* * * * * * *", "*/5 * * * * *", "0 9 * * 1-5")
        pipe = self.client.pipeline(transaction=False)
        for n in range(jobs):
            cron = crons[n % 3 if n % 6 < 5 else 3]
            data = wire.payload(cron=cron, job=FUNCTIONS[chance.randrange(3)], args=[seed, n])
            item = wire.item(wire.job_id(data))
            self.scores[item] = now - chance.randrange(3_600_000)
            pipe.hset(f"{self.name}:jobs", wire.job_id(data), data)
            pipe.zadd(f"{self.name}:next", {item: self.scores[item]})
        pipe.execute()

    def fill_until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Store foreign jobs, and wait until a condition holds. Where a busy test misses it, store more."""
        for seed in range(1, 11):
            self.fill(3000, seed=seed)
            with contextlib.suppress(AssertionError):
                until(condition, timeout=3, what=what)
                return
        raise AssertionError(f"never seen: {what}")

    def add_ours(self, count: int) -> None:
        """Add jobs that each listener can run."""
        labels = [f"ours-{len(self.labels) + n}" for n in range(count)]
        rows = [{"fn": f"{crash_cast.HERE}:note", "at": "now", "args": [label]} for label in labels]
        schedule.add_many(self.schedule, rows)
        self.labels += labels

    def listen(self) -> int:
        """Start a listener; its pid."""
        env = {"WORKKIT_TEST_HISTORY": str(self.history), "WORKKIT_TEST_FAULT": ""}
        keywords = {"url": self.url, "name": self.name, "threads": 50, "timeout": f"{TIMEOUT:g}s"}
        output = self.folder / f"listener-{len(self.pids)}"
        self.pids.append(self.stage.start(f"{crash_cast.HERE}:listen", env=env, output=output, **keywords))
        return self.pids[-1]

    def held(self, pid: int) -> int:
        """How many foreign jobs a listener holds."""
        fields: list[bytes] = []
        for name in self.client.zrange(f"{self.name}:listeners", 0, -1):
            if f":{pid}:".encode() in name:
                fields += self.client.hkeys(f"{self.name}:running:{name.decode()}")
        return sum(field.partition(b".")[2] in self.scores for field in fields)

    def missing(self) -> int:
        """How many foreign jobs do not stand in S:next with the score that they were written with."""
        found = dict(self.client.zrange(f"{self.name}:next", 0, -1, withscores=True))
        return sum(found.get(item) != score for item, score in self.scores.items())

    def caught(self) -> tuple[int, int]:
        """Start a listener, and freeze it while it holds foreign jobs. Return its pid, and how many it holds.

        It holds them for a short time only. A busy test may miss that, and then starts another listener.
        """
        for _ in range(20):
            pid = self.listen()
            with contextlib.suppress(AssertionError):
                return pid, until(partial(self._stopped, pid), timeout=3, what="foreign jobs in hand")
            os.kill(pid, signal.SIGTERM)
            until(partial(_is_over, pid), what="the end of a listener that was not caught")
        raise AssertionError("no listener of 20 was seen with foreign jobs in hand")

    def _stopped(self, pid: int) -> int:
        if not self.held(pid):
            return 0
        os.kill(pid, signal.SIGSTOP)
        until(partial(is_stopped, pid), what="the listener to stand still")
        if held := self.held(pid):
            return held
        os.kill(pid, signal.SIGCONT)
        return 0

    def suffer(self, kind: str) -> Faced:
        """Have a listener come to harm in the middle of its look, and wait for the foreign jobs."""
        pid, held = self.caught()
        began = time.monotonic()
        if kind == "stall":
            self._back(began)
            took = time.monotonic() - began
            time.sleep(max(0.0, began + STALLED - time.monotonic()))
            os.kill(pid, signal.SIGCONT)  # it holds what it lost for its own, until it hears
            time.sleep(0.5)
            os.kill(pid, signal.SIGTERM)
            until(partial(_is_over, pid), what="its end")
            self._back(time.monotonic())
            return Faced(kind=kind, held=held, took=took)
        if kind == "kill":
            os.kill(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)
            os.kill(pid, signal.SIGCONT)
        self._back(began)
        return Faced(kind=kind, held=held, took=time.monotonic() - began)

    def _back(self, since: float) -> None:
        left = since + TIMEOUT + MARGIN - time.monotonic()
        until(lambda: not self.missing(), timeout=left, what="all foreign jobs to stand in S:next with their scores")

    def check(self) -> None:
        """Our own jobs ran, nothing died, and what is left are the foreign jobs."""
        until(lambda: set(self.labels) <= self._ended(), timeout=30, what="our own jobs")
        for pid in self.pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGTERM)
        until(lambda: not any(map(is_alive, self.pids)), timeout=20, what="the end of the listeners")
        assert not self.missing()
        client, name = self.client, self.name
        assert client.zcard(f"{name}:next") == client.hlen(f"{name}:jobs") == len(self.scores)
        kinds = {key.decode().removeprefix(f"{name}:").partition(":")[0] for key in client.scan_iter(f"{name}:*")}
        assert kinds <= {"jobs", "next", "crashed", "stats", "producer", "watch", "missed", *PAST}, kinds
        printed = [file.read_text() for file in self.folder.glob("listener-*")]
        assert not any(printed), printed

    def _ended(self) -> set[str]:
        with open(self.history, encoding="utf-8") as lines:
            read: list[Mapping[str, Any]] = [json.loads(line) for line in lines]
        return {line["label"] for line in read if line["what"] == "end"}

    def close(self) -> None:
        for pid in self.pids:
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def _is_over(pid: int) -> bool:
    return not is_alive(pid)


def play(scene: Scene, *, jobs: int, rounds: int, kinds: tuple[str, ...] = FAULTS) -> Iterator[Faced]:
    """Fill a schedule, let one listener live throughout, and have others come to harm beside it."""
    scene.fill(jobs)
    keeper = scene.listen()
    for number in range(rounds):
        scene.add_ours(20)
        yield scene.suffer(kinds[number % len(kinds)])
    assert is_alive(keeper)
    scene.check()


@contextmanager
def staged(place: str, *, folder: Path, name: str = "foreign") -> Iterator[Scene]:
    """A scene on a server of its own: of a product, or the private one of a folder."""
    with closing(Stage()) as stage:
        if place == "embedded":
            server = attach(folder / "private")
            with redis.Redis.from_url(server.url) as client:
                url = f"embedded://{folder / 'private'}"
                with closing(Scene(url=url, client=lambda: client, stage=stage, folder=folder, name=name)) as scene:
                    yield scene
            return
        (folder / "server").mkdir()
        with closing(Server(program(place), folder=folder / "server", is_durable=True)) as own:
            own.start()
            client = own.client()
            with closing(Scene(url=own.url, client=lambda: client, stage=stage, folder=folder, name=name)) as scene:
                yield scene


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.foreign")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--place", nargs="*", choices=PLACES, default=PLACES)
    given = parser.parse_args()
    for place in given.place:
        folder, began = Path(tempfile.mkdtemp(prefix="foreign-")), time.monotonic()
        with staged(place, folder=folder) as scene:
            for faced in play(scene, jobs=given.jobs, rounds=given.rounds):
                print(f"{place:8} {faced}", flush=True)
        print(f"{place}: {given.rounds} rounds among {given.jobs} jobs, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
