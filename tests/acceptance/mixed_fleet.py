"""A mixed fleet: listeners of ours and pools of the Go peer serve one namespace, both sides add jobs, and processes of
both are killed, frozen and stopped all the time. In the end nothing may be missing, nothing that was superseded may
have run but for a kill of a Go pool, and all locks rest at 0.

``python -m tests.acceptance.mixed_fleet --jobs 20000 --seed 1``; exit status 0 where all held. The Go pools keep the
documented timers. Normative: spec/layouts/gocraft.md; what a Go pool loses by a documented defect is counted apart.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance import fleet_log, soak_verdict
from tests.acceptance import mixed_verdict as verdict
from tests.acceptance.fleet_process import begun, carried_out, counts, end_all
from tests.acceptance.mixed_cast import HERE, LIMIT, NAMESPACE
from tests.acceptance.soak_verdict import Incident
from tests.brokers.gocraft import go_peer
from tests.processes import until
from tests.servers import Server, program
from workkit import schedule
from workkit.brokers.connect import open_broker
from workkit.brokers.gocraft.keys import Keys

KEYS = Keys(NAMESPACE)
LISTEN = f"import sys; from {HERE} import listen; listen(*sys.argv[1:])"
GO_JOBS = f"plain,slow,limited:1:{LIMIT},once,keyed,flaky,dies:1:0:2,theirs"
FREEZE = 14.0  # seconds: longer than either side waits for a heartbeat
YOUNG = 2.0  # seconds after its start in which a process is not hit: a Go pool without a heartbeat is found after 71 s
CHUNK = 25  # jobs of one kind, added in one call
DRAIN = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of job: what it is called, what steers it, when it is due, and how often it is drawn."""

    name: str
    weight: int
    args: Mapping[str, Any] = field(default_factory=dict)
    wait: int = 0  # seconds; a Go producer says 5 more, in which one of our heartbeats has come
    sides: Sequence[Sequence[str]] = (("ours",), ("Go",))  # who may add it; two of them one after the other
    is_unique: bool = False
    is_keyed: bool = False


KINDS = (
    Kind(name="plain", weight=36),
    Kind(name="slow", weight=8, args={"sleep_ms": 300}),
    Kind(name="limited", weight=14, args={"sleep_ms": 15}),
    Kind(name="once", weight=8, sides=(("ours", "Go"), ("Go", "ours")), is_unique=True),
    Kind(name="keyed", weight=4, sides=(("ours",),), is_keyed=True),
    Kind(name="flaky", weight=7, args={"fail": "not yet", "fail_n": 1}),
    Kind(name="dies", weight=3, args={"fail": "never"}),
    Kind(name="plain", weight=8, wait=3),
    Kind(name="ours", weight=5, args={"fail": "not yet", "fail_n": 1}, wait=4),
    Kind(name="theirs", weight=5),
    Kind(name="theirs", weight=4, wait=3),
)


@dataclass(slots=True, kw_only=True)
class Report:
    """What came of it."""

    added: Counter[str] = field(default_factory=Counter)
    ran: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    twice: dict[str, int] = field(default_factory=dict)
    crashed: int = 0
    superseded: Counter[str] = field(default_factory=Counter)
    most: int = 0
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return "\n".join(
            [
                f"added           {sum(self.added.values()):,} by: {counts(self.added)}; {self.seconds:.0f} s",
                f"runs begun      {counts(self.ran)}",
                f"troubles        {counts(self.troubles)}",
                f"run twice       {counts(self.twice)}",
                f"superseded      {counts(self.superseded)}",
                f"dead by kills   {self.crashed}, after three pools died with them",
                f"limited         {self.most} at once; the limit is {LIMIT}",
                *(f"wrong           {complaint}" for complaint in self.complaints),
            ]
        )


class Fleet:
    """One fleet; `run` it, then `close`. `is_quick`: shorter times until a pool counts as dead."""

    def __init__(self, folder: Path, *, seed: int, each: int = 3, is_quick: bool = False) -> None:
        self.folder, self.each, self.is_quick = folder, each, is_quick
        self.chance = random.Random(seed)
        self.peer = go_peer.build(folder)
        (folder / "server").mkdir()
        self.server = Server(program("redis"), folder=folder / "server", is_durable=False)
        self.report = Report()
        self._processes: dict[int, subprocess.Popen[bytes]] = {}  # by number, from 1: 0 is the server in `soak_verdict`
        self._born: dict[int, float] = {}
        self._ours: set[int] = set()
        self._alive: set[int] = set()
        self._frozen: dict[int, tuple[float, float]] = {}  # number -> since (epoch), until (monotonic)
        self._incidents: list[Incident] = []
        self._owed: dict[str, dict[int, int]] = {}  # name -> number -> the attempt that must end
        self._superseded: set[int] = set()  # numbers of `keyed` in whose place the next one runs
        self._number = 0
        self._firsts = [(kind, sides) for kind in KINDS for sides in kind.sides]
        self.chance.shuffle(self._firsts)

    def run(
        self,
        jobs: int,
        *,
        rate: float,
        kill_every: float,
        freeze_every: float | None,
        stop_every: float | None = None,
        least: Collection[str] = (),
    ) -> Report:
        """Add so many jobs at this rate (a second) among troubles, let all of them end, and judge. `least`: troubles
        that must happen; on a slow machine more jobs are added until they have, for two minutes at most.
        """
        self.server.start()
        self.schedule = schedule.create(NAMESPACE, redis=self.server.url, layout="gocraft")
        self.client = self.server.client()
        began = time.monotonic()
        for is_ours in (True, False) * self.each:
            self._start(is_ours=is_ours)
        until(lambda: self.client.scard(KEYS.worker_pools) == 2 * self.each, what="all pools")
        until(lambda: len(self._hittable()) == 2 * self.each)
        kill_at, freeze_at, stop_at = began + kill_every, began + (freeze_every or 1e9), began + (stop_every or 1e9)
        while self._number < jobs or self._frozen or not self._has_seen(least, until=began + 120):
            now = time.monotonic()
            if self._number >= jobs and not self._has_seen(least, until=began + 120):
                jobs += CHUNK
            if now >= kill_at and self._kill():
                kill_at = now + kill_every * self.chance.uniform(0.6, 1.4)
            if now >= freeze_at and self._number < jobs:
                freeze_at = now + (freeze_every or 1e9) * self.chance.uniform(0.6, 1.4)
                self._freeze()
            if now >= stop_at and self._stop():
                stop_at = now + (stop_every or 1e9) * self.chance.uniform(0.6, 1.4)
            self._thaw(now)
            if self._number < jobs:
                self._add(min(CHUNK, jobs - self._number))
            time.sleep(max(0.0, now + CHUNK / rate - time.monotonic()))
        self._drain()
        self.report.seconds = time.monotonic() - began
        self._judge()
        return self.report

    def _has_seen(self, troubles: Collection[str], *, until: float) -> bool:
        return set(troubles) <= self.report.troubles.keys() or time.monotonic() > until

    def close(self) -> None:
        end_all(self._processes.values())
        self.server.close()

    # Who takes part.

    def _start(self, *, is_ours: bool) -> None:
        number = len(self._processes) + 1
        log = self.folder / f"{'ours' if is_ours else 'go'}-{number}.log"
        place = ["--redis", f"127.0.0.1:{self.server.port}"]
        if is_ours:
            command = [sys.executable, "-c", LISTEN, self.server.url, "5s" if self.is_quick else "10s"]
        else:
            command = [
                str(self.peer),
                "pool",
                NAMESPACE,
                "--jobs",
                GO_JOBS,
                "--backoff",
                "1",
                "--log",
                str(log),
                *place,
            ]
            if self.is_quick:
                command += ["--heartbeat", "1s", "--sleeps", "0,10,100"]
        self._processes[number] = begun(command, log=log, output=self.folder / "output")
        self._born[number] = time.monotonic()
        self._alive.add(number)
        if is_ours:
            self._ours.add(number)

    def _hittable(self) -> list[int]:
        """Those that live, move, and have been there for a while."""
        now = time.monotonic()
        return [n for n in sorted(self._alive - self._frozen.keys()) if now - self._born[n] > YOUNG]

    # What they add.

    def _add(self, count: int) -> None:
        """Add jobs of one kind; the first times each kind by each side, then kinds and sides by chance."""
        if self._firsts:
            kind, sides = self._firsts.pop()
        else:
            (kind,) = self.chance.choices(KINDS, [kind.weight for kind in KINDS])
            sides = self.chance.choice(kind.sides)
        numbers = range(self._number, self._number + count)
        self._number += count
        for side in sides:
            self._add_ours(kind, numbers) if side == "ours" else self._add_go(kind, numbers)
            self.report.added[side] += count
        if kind.is_keyed:
            self._superseded |= {n for n in numbers[:-1] if n % 2 == 0}
        last = kind.args.get("fail_n", 0)
        self._owed.setdefault(kind.name, {}).update({n: last for n in numbers if n not in self._superseded})

    def _add_ours(self, kind: Kind, numbers: range) -> None:
        rows: list[dict[str, Any]] = []
        for n in numbers:
            row: dict[str, Any] = {"fn": kind.name, "kwargs": {**kind.args, "n": n}}
            row |= {"in_": f"{kind.wait} seconds"} if kind.wait else {"at": "now"}
            row |= {"unique": True} if kind.is_unique else {}
            row |= {"unique_key": f"pair {n // 2}"} if kind.is_keyed else {}  # the second of two replaces the first
            rows.append(row)
        schedule.add_many(self.schedule, rows)

    def _add_go(self, kind: Kind, numbers: range) -> None:
        command = [str(self.peer), "enqueue", NAMESPACE, kind.name, json.dumps(dict(kind.args)), "--redis"]
        command += [f"127.0.0.1:{self.server.port}", "--first", str(numbers.start), "--count", str(len(numbers))]
        command += ["--in", str(kind.wait + 5)] if kind.wait else []
        command += ["--unique"] if kind.is_unique else []
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    # What happens to them.

    def _kill(self) -> bool:
        """Kill one that has jobs in progress, of the sides in turn, and start another. False if none has any."""
        killed = Counter(one.pid in self._ours for one in self._incidents if one.kind == "killed")
        busy, is_ours = self._busy(), killed[True] <= killed[False]
        candidates = [n for n in self._hittable() if (n in self._ours) == is_ours and self._processes[n].pid in busy]
        if not candidates:
            return False
        number = self.chance.choice(candidates)
        at = time.time()
        self._processes[number].kill()
        self._processes[number].wait()
        self._note(Incident(kind="killed", pid=number, at=at, until=time.time() + 0.001))  # runs are noted by the ms
        self._alive.discard(number)
        self._start(is_ours=number in self._ours)
        return True

    def _stop(self) -> bool:
        """Stop one as a deployment does, of the sides in turn, and start another. False if none has been there long."""
        is_ours = self.report.troubles["ours stopped"] < self.report.troubles["Go stopped"]
        candidates = [n for n in self._hittable() if (n in self._ours) == is_ours]
        if not candidates:
            return False
        number = self.chance.choice(candidates)
        self._start(is_ours=is_ours)
        self._processes[number].send_signal(signal.SIGTERM)
        if status := self._processes[number].wait(30):
            self.report.complaints.append(f"process {number} ended with status {status}")
        self.report.troubles[f"{'ours' if is_ours else 'Go'} stopped"] += 1
        self._alive.discard(number)
        return True

    def _busy(self) -> set[int]:
        """The processes, by their pids, that have jobs in progress now."""
        lists = self.client.scan_iter(match=KEYS.in_progress_pattern, count=1000)
        owners = {owner[1] for key in lists if (owner := KEYS.in_progress_owner(key.decode()))}
        return {int(pid) for pool in owners if (pid := self.client.hget(KEYS.worker_pool(pool), "pid"))}

    def _freeze(self) -> None:
        """Stop one process for so long that it is taken for dead, but never all of a side."""
        sides = {n in self._ours for n in self._frozen}
        candidates = [n for n in self._hittable() if (n in self._ours) not in sides]
        if candidates:
            number = self.chance.choice(candidates)
            self._processes[number].send_signal(signal.SIGSTOP)
            self._frozen[number] = time.time(), time.monotonic() + FREEZE

    def _thaw(self, now: float) -> None:
        for number, (since, end) in list(self._frozen.items()):
            if now >= end:
                del self._frozen[number]
                self._note(Incident(kind="frozen", pid=number, at=since, until=time.time()))
                self._processes[number].send_signal(signal.SIGCONT)

    def _note(self, incident: Incident) -> None:
        self._incidents.append(incident)
        self.report.troubles[f"{'ours' if incident.pid in self._ours else 'Go'} {incident.kind}"] += 1

    # How it ends.

    def _drain(self) -> None:
        def is_idle() -> bool:
            pools = self.client.scard(KEYS.worker_pools)  # one that was killed is reaped, even if it held nothing
            return pools == len(self._alive) and not any(verdict.left(self.client, KEYS, but="keyed"))

        try:
            until(is_idle, timeout=DRAIN, what="the end of all work")
        except AssertionError as vain:
            self.report.complaints += [str(vain).partition(";")[0], *verdict.left(self.client, KEYS)]
        for number in self._alive:
            process = self._processes[number]
            process.send_signal(signal.SIGTERM)
        for number in self._alive:
            if status := self._processes[number].wait(30):
                self.report.complaints.append(f"process {number} ended with status {status}")
        doctor = open_broker(NAMESPACE, redis=self.server.url, layout="gocraft").doctor
        for finding in list(doctor.checkup(patience_ms=0)):
            if finding.kind in ("unlisted", "lock-info"):  # what stopped Go pools have left
                doctor.repair(finding)
        self.report.complaints += verdict.left(self.client, KEYS)
        if pools := self.client.smembers(KEYS.worker_pools):
            self.report.complaints.append(f"pools are listed that have ended: {pools}")

    def _judge(self) -> None:
        report, runs = self.report, fleet_log.read_runs(self.folder)
        incidents = [*self._incidents, *verdict.fenced(self.folder)]
        report.ran = verdict.ran_by(runs, ours=self._ours)
        ended = {(run.name, run.number, run.fails) for run in runs if run.end is not None}
        dead = verdict.dead(self.client, KEYS)
        kept = verdict.superseded(runs, incidents, self._superseded, dead, ours=self._ours, report=report.superseded)
        for name, owed in self._owed.items():
            crashed = {n for n, error in dead.get(name, {}).items() if error.startswith(verdict.CRASHED)}
            report.crashed += len(crashed)
            died = dead.get(name, {}).keys() - crashed
            if name == "keyed":
                died, crashed = died - self._superseded, crashed | kept
            lost = [n for n, last in owed.items() if n not in crashed and (name, n, last) not in ended]
            if name == "dies":
                lost += [n for n in owed if n not in died and n not in crashed]
            elif died:
                errors = Counter(dead[name][n] for n in died)
                report.complaints.append(f"dead, of {name}: {dict(errors)}")
                lost = [n for n in lost if n not in died]
            if lost:
                report.complaints.append(f"{len(lost)} of {name} are lost: {lost[:10]}")
        if report.superseded["after a clean stop"]:
            report.complaints.append(f"superseded jobs ran: {counts(report.superseded)}")
        report.twice, unexplained = soak_verdict.repeated(fleet_log.starts(runs), incidents)
        report.complaints += [f"ran twice without a cause: {one}" for one in unexplained[:20]]
        report.complaints += list(verdict.over_the_limit(runs, incidents, ours=self._ours))[:20]
        report.most = verdict.most_at_once(runs, incidents)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.mixed_fleet")
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=200.0, help="jobs added a second")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)

    def run(folder: Path) -> Report:
        fleet = Fleet(folder, seed=given.seed)
        try:
            return fleet.run(given.jobs, rate=given.rate, kill_every=2.0, freeze_every=12.0, stop_every=6.0)
        finally:
            fleet.close()

    return carried_out("mixed", seed=given.seed, run=run)


if __name__ == "__main__":
    sys.exit(main())
