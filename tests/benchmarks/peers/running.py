"""Start a peer's worker and its producer as processes, and end them with all their children."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.installing import APPS, Place
from tests.benchmarks.peers.peer import Peer
from tests.processes import ROOT


class Failed(Exception):
    """A run that did not come to its end, or whose jobs did not run exactly once; says what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The moment when a worker had run so many jobs, and the CPU seconds that its process had used by then."""

    at: float
    cpu: float


class Stage:
    """One peer on one server, with a folder of its own for what its worker writes."""

    def __init__(self, peer: Peer, where: Place, *, redis: str, folder: Path) -> None:
        self.peer = peer
        self.where = where
        self.redis = redis
        self.folder = folder
        self._children: list[subprocess.Popen[str]] = []
        self._log = (folder / "log").open("a")

    def start_worker(self, marks: Sequence[int], *, is_busy: bool) -> None:
        """Start it, and where it is to wait for scheduled jobs, what else it needs for them."""
        peer = self.peer
        variables = {**peer.variables, **(peer.busy_variables if is_busy else {})}
        variables["BENCH_MARKS"] = ",".join(map(str, marks))
        self._start([*peer.worker, *(peer.busy if is_busy else peer.idle)], variables)
        if peer.clock and not is_busy:
            self._start(peer.clock, variables)

    def start_producer(self) -> Producer:
        words = ("node", self.peer.app, "producer") if self.peer.is_node else ("python", "producing.py", self.peer.app)
        return Producer(self._start(words, {}, is_asked=True), self)

    def await_mark(self, count: int, *, timeout: float) -> Mark:
        """Wait until so many jobs have run. Raises Failed after `timeout` seconds, or if a process has ended."""
        at, cpu = self._await(f"mark-{count}", timeout=timeout, what=f"{count:,} jobs to have run")
        return Mark(at=at, cpu=cpu)

    def await_told(self) -> list[tuple[int, float]]:
        """Wait until the worker has told what ran: numbers, and when each did."""
        return [(n, at) for n, at in self._await("told", timeout=20, what="the worker to tell what ran")]

    def await_exactly(self, jobs: int) -> list[tuple[int, float]]:
        """Do so, and raise Failed unless each of the numbers from 0 to `jobs` ran once."""
        told = self.await_told()
        times: dict[int, list[float]] = {}
        for n, at in told:
            times.setdefault(n, []).append(at)
        again = {n: runs for n, runs in times.items() if len(runs) > 1}
        if times.keys() != set(range(jobs)) or again:
            what = f"{len(times):,} of {jobs:,} ran, {len(told) - len(times):,} runs too many"
            for n, runs in list(again.items())[:1]:
                what += f": number {n} ran {len(runs)} times, {max(runs) - min(runs):.3g} s apart"
            raise Failed(f"not every job ran exactly once: {what}")
        return told

    def close(self) -> None:
        """End every process, with its children."""
        for child in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        self._log.close()

    def log(self) -> str:
        """Return the last lines of what the processes said."""
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-8:])

    def _start(
        self, words: Sequence[str], variables: Mapping[str, str], *, is_asked: bool = False
    ) -> subprocess.Popen[str]:
        command = [word.replace("{redis}", self.redis) for word in self.where.command(words)]
        pipe = subprocess.PIPE if is_asked else None
        child = subprocess.Popen(
            command,
            cwd=APPS,
            env=self._environment(variables),
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or self._log,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._children.append(child)
        return child

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("WORKKIT_", "PYTHON"))}
        inherited["PYTHONPATH"] = os.pathsep.join(
            [str(APPS), str(ROOT)] if self.peer.name == "workkit" else [str(APPS)]
        )
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"  # the apps' folder stays as it is
        inherited |= {"BENCH_REDIS": self.redis, "BENCH_FOLDER": str(self.folder), "RQ_REDIS_URL": self.redis}
        if self.where.modules is not None:
            inherited["BENCH_MODULES"] = str(self.where.modules)
        return {**inherited, **variables}

    def _await(self, name: str, *, timeout: float, what: str) -> Any:
        file = self.folder / name
        deadline = time.monotonic() + timeout
        while not file.exists():
            ended = [child for child in self._children if child.poll() is not None]
            if ended or time.monotonic() > deadline:
                why = f"a process ended with status {ended[0].returncode}" if ended else f"gave up after {timeout:g} s"
                raise Failed(f"{why}, waiting for {what}; log:\n{self.log()}")
            time.sleep(0.003)
        return json.loads(file.read_text())


class Producer:
    """A process that adds jobs when asked to."""

    def __init__(self, child: subprocess.Popen[str], stage: Stage) -> None:
        self._child = child
        self._stage = stage

    def add(self, jobs: int) -> float:
        """Add so many, numbered from 0, the fastest way; return the seconds it took."""
        return float(self._ask({"do": "add", "jobs": jobs}, timeout=120))

    def now(self, first: int, jobs: int, *, gap: float) -> dict[int, float]:
        """Add one by one, about `gap` seconds apart; return when the addition of each number began."""
        asked = {"do": "now", "first": first, "jobs": jobs, "gap": gap}
        return dict(self._ask(asked, timeout=30 + jobs * gap * 2))

    def later(self, first: int, dues: Sequence[float]) -> None:
        """Add one job for each due time, in seconds since 1970."""
        self._ask({"do": "later", "first": first, "dues": list(dues)}, timeout=30)

    def tell(self) -> None:
        """Add the job that tells."""
        self._ask({"do": "tell"}, timeout=20)

    def _ask(self, asked: dict[str, object], *, timeout: float) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(json.dumps(asked) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"the producer ended; log:\n{self._stage.log()}") from None
        ready, _, _ = select.select([self._child.stdout], [], [], timeout)
        line = self._child.stdout.readline() if ready else ""
        if not line:
            why = "ended" if ready else f"did not answer within {timeout:g} s"
            raise Failed(f"the producer {why}, asked to {asked['do']}; log:\n{self._stage.log()}")
        return json.loads(line)


@contextlib.contextmanager
def stage(peer: Peer, where: Place, *, redis: str) -> Iterator[Stage]:
    """Give a stage for one run, and end all its processes after it."""
    with tempfile.TemporaryDirectory(prefix=f"workkit-bench-{peer.name}-") as folder:
        it = Stage(peer, where, redis=redis, folder=Path(folder))
        try:
            yield it
        finally:
            it.close()
