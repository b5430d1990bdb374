"""The soak: listeners are killed, frozen and deployed anew, the server is killed, connections are cut and scripts
forgotten, all at random, while producers add without a pause. In the end nothing may be missing.

``python -m tests.acceptance.soak --minutes 15 --rate 700 --seed 1``; exit status 0 where all held. With ``--hostile``
values that mean nothing are written into all keys meanwhile.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import redis

from tests.acceptance import soak_cast, soak_verdict
from tests.acceptance.fleet_process import carried_out
from tests.acceptance.leftovers import check_keys, look
from tests.acceptance.scene import DURABLE
from tests.acceptance.soak_hostile import Hostile, is_good, is_owned
from tests.acceptance.soak_verdict import Incident
from tests.processes import ROOT, until
from tests.servers import Server, program
from tests.warm import Program, clean_environ
from workkit import Job, schedule
from workkit.errors import ServerError

LISTENERS = 3  # the first is never killed: its memory is watched
PRODUCERS = 2
FREEZE = 8.0  # seconds: longer than listener_timeout
PROGRESS = 10.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One kind of trouble and how many seconds lie between two, on average."""

    act: Callable[[Soak], None]
    every: float


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of it."""

    acknowledged: int = 0
    lost: list[int] = field(default_factory=list)
    buried: int = 0  # in the dead set, as three of their listeners were killed
    twice: dict[str, int] = field(default_factory=dict)
    troubles: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    growth: float = 0.0
    memory: tuple[float, float] = (0.0, 0.0)
    seconds: float = 0.0
    runs: int = 0

    def __str__(self) -> str:
        what = ", ".join(f"{number} {kind}" for kind, number in sorted(self.troubles.items()))
        twice = ", ".join(f"{number} {cause}" for cause, number in sorted(self.twice.items())) or "none"
        first, last = self.memory
        return "\n".join(
            [
                f"troubles        {what}",
                f"acknowledged    {self.acknowledged:,} in {self.seconds:,.0f} s",
                f"runs begun      {self.runs:,}",
                f"lost            {len(self.lost)} {self.lost[:10] or ''}",
                f"in the dead set {self.buried}, after three of their listeners were killed",
                f"run twice       {sum(self.twice.values())}: {twice}",
                f"memory          {first:.1f} MB to {last:.1f} MB, {self.growth:+.2f} MB a minute",
                *(f"wrong           {complaint}" for complaint in self.complaints),
            ]
        )


class Soak:
    """One soak; `run` it, then `close`."""

    def __init__(self, folder: Path, *, rate: float, seed: int, product: str = "redis") -> None:
        self.folder, self.rate, self.chance = folder, rate, random.Random(seed)
        (folder / "server").mkdir()
        self.server = Server(program(product), folder=folder / "server", is_durable=True, options=DURABLE)
        self.listeners: list[subprocess.Popen[bytes]] = []
        self.producers: list[subprocess.Popen[bytes]] = []
        self.report = Report()
        self.seed = seed
        self.hostile: Hostile | None = None
        self._frozen: list[tuple[float, float, subprocess.Popen[bytes]]] = []
        self._dead: list[Job] = []
        self._memory: list[tuple[float, float]] = []
        self._ended: list[subprocess.Popen[bytes]] = []

    def run(self, seconds: float, *, troubles: Sequence[Trouble]) -> Report:
        """Soak for so long, then let it drain, and judge."""
        self.server.start()
        self.schedule = schedule.create(soak_cast.NAME, redis=self.server.url)
        self.client = self.server.client()
        recurring = [
            schedule.add(self.schedule, f"{soak_cast.HERE}:tick", every="second", args=[f"tick-{n}"])
            for n in range(soak_cast.RECURRING)
        ]
        self.listeners = [self._listen() for _ in range(LISTENERS)]
        for n in range(PRODUCERS):
            self.producers.append(self._start("produce", str(n * 10**9), str(self.rate / PRODUCERS)))
        # One that cannot reach the server as it starts ends, and the first is not started again.
        until(lambda: schedule.counts(self.schedule).listeners == LISTENERS, timeout=60, what="the listeners")
        self._trouble(seconds, troubles)
        for producer in self.producers:
            assert producer.stdin is not None
            producer.stdin.close()
            producer.wait(30)
        for job in recurring:
            schedule.cancel(self.schedule, job)
        cancelled_at = time.time()
        self._drain([job.id for job in recurring])
        self._judge(cancelled_at)
        self.report.seconds = seconds
        return self.report

    def close(self) -> None:
        for process in [*self.listeners, *self.producers, *self._ended]:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
        self.server.close()

    # The troubles.

    def kill_listener(self) -> None:
        place = self._victim()
        if place is None:
            return
        process = self.listeners[place]
        process.kill()
        process.wait()
        self._happened("killed", process.pid)
        self._replace(place)

    def deploy(self) -> None:
        """Tell a listener to stop, and start its successor at once, as a deployment does."""
        place = self._victim()
        if place is None:
            return
        process = self.listeners[place]
        process.send_signal(signal.SIGTERM)
        self._happened("stopped", process.pid, until=time.time() + 6)  # deadline and farewell
        self._replace(place)

    def freeze(self) -> None:
        place = self._victim()
        if place is not None:
            process = self.listeners[place]
            process.send_signal(signal.SIGSTOP)
            self._frozen.append((time.time(), time.monotonic() + FREEZE, process))

    def kill_server(self) -> None:
        at = time.time()
        self.server.kill()
        time.sleep(self.chance.uniform(0.0, 1.0))
        self.server.start()
        self._happened("killed", 0, at=at, until=time.time())

    def cut_connections(self) -> None:
        self.report.troubles["connections cut"] += int(self.client.client_kill_filter(_type="normal", skipme=True))

    def flush_scripts(self) -> None:
        self.client.script_flush()
        self.report.troubles["scripts flushed"] += 1

    def write_hostile(self) -> None:
        self.hostile = self.hostile or Hostile(self.server.client(), self.server.url, seed=self.seed)
        written = self.hostile.write()
        self.report.troubles["hostile values"] += len(written)
        pids = {process.pid for process in self.listeners}
        for pid in [value.fences for value in written if value.fences in pids]:
            self._note(soak_verdict.fenced(pid), "listeners fenced")

    # How it goes on.

    def _trouble(self, seconds: float, troubles: Sequence[Trouble]) -> None:
        began = time.monotonic()
        due = [began + self.chance.uniform(0.3, 1.0) * trouble.every for trouble in troubles]
        said = sampled = began
        while (now := time.monotonic()) < began + seconds:
            for place, trouble in enumerate(troubles):
                if now >= due[place]:
                    due[place] = now + trouble.every * self.chance.uniform(0.6, 1.4)
                    trouble.act(self)
            self._thaw(now)
            self._supervise()
            if now - sampled >= 1:
                sampled = now
                self._memory.append((now - began, _memory(self.listeners[0].pid)))
            if now - said >= PROGRESS:
                said = now
                self._say(now - began)
            time.sleep(0.05)
        self._thaw(float("inf"))

    def _thaw(self, now: float) -> None:
        for frozen in [one for one in self._frozen if one[1] <= now]:
            since, _, process = frozen
            self._frozen.remove(frozen)
            self._happened("frozen", process.pid, at=since, until=time.time())
            process.send_signal(signal.SIGCONT)

    def _supervise(self) -> None:
        """One that could not even start, as the server was away, is started again."""
        for place, process in enumerate(self.listeners):
            if place and process.poll() is not None:
                self.report.troubles["listeners refused a start"] += 1
                self._replace(place)

    def _victim(self) -> int | None:
        """One that may be hit: not the one whose memory is watched, and none that is frozen."""
        frozen = [process for _, _, process in self._frozen]
        places = [n for n, process in enumerate(self.listeners) if n and process not in frozen]
        return self.chance.choice(places) if places else None

    def _happened(self, kind: str, pid: int, *, at: float | None = None, until: float | None = None) -> None:
        at = time.time() if at is None else at
        incident = Incident(kind=kind, pid=pid, at=at, until=at if until is None else until)
        self._note(incident, f"{'listeners' if pid else 'server'} {kind}")

    def _note(self, incident: Incident, trouble: str) -> None:
        with open(self.folder / "incidents", "a", encoding="utf-8") as file:
            file.write(f"{incident}\n")
        self.report.troubles[trouble] += 1

    def _replace(self, place: int) -> None:
        self._ended.append(self.listeners[place])
        self.listeners[place] = self._listen()

    def _listen(self) -> subprocess.Popen[bytes]:
        return self._start("listen")

    def _start(self, role: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{role}.log", "ab") as log:
            return Program(
                [sys.executable, "-m", soak_cast.HERE, role, self.server.url, *arguments],
                cwd=ROOT,
                env=clean_environ(**{soak_cast.FOLDER: str(self.folder)}),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def _say(self, elapsed: float) -> None:
        added = soak_cast.CHUNK * sum(file.read_bytes().count(b"\n") for file in self.folder.glob("acks-*"))
        stored = self._length("jobs")
        memory = self._memory[-1][1] if self._memory else 0.0
        troubles = sum(self.report.troubles.values())
        print(
            f"{elapsed:6.0f} s  acknowledged {added:9,}  stored {stored:6,}  {memory:6.1f} MB  troubles {troubles:4}",
            flush=True,
        )

    def _length(self, key: str) -> int:
        try:
            return int(self.client.hlen(f"{soak_cast.NAME}:{key}"))
        except redis.ConnectionError:
            return -1

    # How it ends.

    def _drain(self, cancelled: list[str]) -> None:
        if self.hostile:
            self.report.complaints += self.hostile.clear()
        try:
            until(self._is_idle, timeout=180, what="the end of all work")
        except AssertionError as vain:
            left = self.client.hkeys(f"{soak_cast.NAME}:jobs")
            self.report.complaints.append(f"{vain}; {len(left)} jobs are left: {left[:5]}")
        if self.listeners[0].poll() is not None:
            self.report.complaints.append(f"the first listener ended with {self.listeners[0].returncode}")
        for process in self.listeners:
            process.send_signal(signal.SIGTERM)
        for process in [*self.listeners, *self._ended]:
            process.wait(30)
        if self.hostile:
            with patch.dict(os.environ, {soak_cast.FOLDER: str(self.folder)}):  # what is taken back runs here
                self.report.complaints += self.hostile.sweep()
        dead = schedule.jobs(self.schedule, state="dead")
        self._dead = [job for job in dead if not self.hostile or is_good(job)]
        died = [job.id for job in self._dead]
        left_over = check_keys(look(self.client, soak_cast.NAME), cancelled=cancelled, dead=died)
        self.report.complaints += [one for one in left_over if not self.hostile or is_owned(one)]

    def _is_idle(self) -> bool:
        try:
            counts = schedule.counts(self.schedule)
        except ServerError:
            return False
        alive = sum(process.poll() is None for process in self.listeners)
        if counts.listeners != alive:
            return False
        if self.hostile:  # what nobody here can run stays where it is, for others
            return not any(is_good(job) for job in schedule.jobs(self.schedule) if job.state != "dead")
        waiting = counts.waiting + counts.due + counts.running + counts.retrying
        return waiting == 0 and self._length("jobs") == 0

    def _judge(self, cancelled_at: float) -> None:
        runs = soak_verdict.read_runs(self.folder)
        acknowledged = soak_verdict.read_acknowledged(self.folder)
        report = self.report
        report.acknowledged, report.runs = len(acknowledged), sum(map(len, runs.values()))
        report.lost = soak_verdict.lost(acknowledged - self._buried(), runs)
        if report.lost:
            report.complaints.append(f"{len(report.lost)} jobs are lost")
        report.twice, unexplained = soak_verdict.repeated(runs, soak_verdict.read_incidents(self.folder))
        report.complaints += [f"ran twice without a cause: {one}" for one in unexplained[:20]]
        ticks = [f"tick-{n}" for n in range(soak_cast.RECURRING)]
        report.complaints += soak_verdict.broken_chains(runs, ticks, until=cancelled_at - 6)
        report.growth = soak_verdict.slope(self._memory)
        if self._memory:
            report.memory = self._memory[len(self._memory) // 3][1], self._memory[-1][1]
        if report.growth > soak_verdict.SLOPE:
            report.complaints.append(f"the memory of a listener grows by {report.growth:.1f} MB a minute")

    def _buried(self) -> set[int]:
        """The numbers of jobs that are dead, as they had been in flight at three kills; of others it complains."""
        for job in self._dead:
            if not (job.error or "").startswith("Crashed: crashed its listener 3 times"):
                self.report.complaints.append(f"dead: {job.fn} {job.args} {job.error}")
        self.report.buried = len(self._dead)
        return {number for job in self._dead if isinstance(number := job.args[0], int)}


USUAL = (
    Trouble(act=Soak.kill_listener, every=8),
    Trouble(act=Soak.deploy, every=25),
    Trouble(act=Soak.freeze, every=40),
    Trouble(act=Soak.kill_server, every=60),
    Trouble(act=Soak.cut_connections, every=15),
    Trouble(act=Soak.flush_scripts, every=20),
)
HOSTILE = Trouble(act=Soak.write_hostile, every=1)
HASTY = tuple(Trouble(act=trouble.act, every=max(2.5, trouble.every / 6)) for trouble in USUAL)


def _memory(pid: int) -> float:
    """The resident memory of a process in MB; 0 where the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.soak")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--rate", type=float, default=700.0, help="jobs added a second")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--product", choices=("redis", "valkey"), default="redis")
    parser.add_argument("--hostile", action="store_true", help="write hostile values into all keys meanwhile")
    given = parser.parse_args()

    def run(folder: Path) -> Report:
        soak = Soak(folder, rate=given.rate, seed=given.seed, product=given.product)
        try:
            return soak.run(given.minutes * 60, troubles=(*USUAL, HOSTILE) if given.hostile else USUAL)
        finally:
            soak.close()

    return carried_out("soak", seed=given.seed, run=run)


if __name__ == "__main__":
    sys.exit(main())
