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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from tests.benchmarks.peers.installing import APPS, Place
from tests.benchmarks.peers.peer import Peer

TELLING = 20.0  # seconds for all workers to tell what ran


class Failed(Exception):
    """A run that did not come to its end, or whose jobs did not run exactly once; says what was seen."""


class Late(Failed):
    """Something that was waited for in vain."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The moment when a worker had run so many jobs, and the CPU seconds that its process had used by then."""

    at: float
    cpu: float


class Stage:
    """One peer on one server, with a folder of its own for what its worker writes."""

    def __init__(self, peer: Peer, where: Place, *, server: str, folder: Path) -> None:
        self.peer = peer
        self.where = where
        self.server = server
        self.folder = folder
        self.workers: list[Path] = []  # the folder of each
        self._children: list[subprocess.Popen[str]] = []
        self._log = (folder / "log").open("a")

    def start_worker(
        self, marks: Sequence[int], *, is_busy: bool, count: int = 1, variables: Mapping[str, str] | None = None
    ) -> None:
        """Start `count` of them, and where one is to wait for scheduled jobs, what else it needs for them."""
        peer = self.peer
        told = {**peer.variables, **(peer.busy_variables if is_busy else {}), **(variables or {})}
        told["BENCH_MARKS"] = ",".join(map(str, marks))
        for _ in range(count):
            self.workers.append(self.folder / f"worker-{len(self.workers)}")
            self.workers[-1].mkdir()
            words = [*peer.worker, *(peer.busy if is_busy else peer.idle)]
            self._start(words, {**told, "BENCH_FOLDER": str(self.workers[-1])})
        if peer.clock and not is_busy:
            self._start(peer.clock, told)

    def start_producer(self) -> Producer:
        words = ("node", self.peer.app, "producer") if self.peer.is_node else ("python", "producing.py", self.peer.app)
        return Producer(self._start(words, self.peer.variables, is_asked=True), self)

    def await_mark(self, count: int, *, timeout: float) -> None:
        """Wait until the one worker has run so many. Raises Failed after `timeout` seconds, or if a process ended."""
        file = self.workers[0] / f"mark-{count}"
        self.until(file.exists, timeout=timeout, what=f"{count:,} jobs to have run")

    def marks(self, worker: int) -> dict[int, Mark]:
        """Read the marks of a worker, by how many jobs it had run."""
        files = {int(file.name.partition("-")[2]): file for file in self.workers[worker].glob("mark-*")}
        return {count: Mark(*json.loads(files[count].read_text())) for count in sorted(files)}

    def await_exactly(self, jobs: int, tell: Callable[[], None]) -> list[list[tuple[int, float]]]:
        """Have each worker tell what ran: numbers, and when each did, in order. `tell` adds a job that makes one of
        them tell. Raises Failed unless each of the numbers from 0 to `jobs` ran once.
        """
        left = [worker / "told" for worker in self.workers]
        deadline = time.monotonic() + TELLING
        while left:
            tell()
            pause = TELLING if len(self.workers) == 1 else 0.15  # the same one may tell twice
            with contextlib.suppress(Late):
                self.until(left[0].exists, timeout=pause, what="")
            left = [file for file in left if not file.exists()]
            if left and time.monotonic() > deadline:
                raise Failed(f"a worker did not tell within {TELLING:g} s what ran; log:\n{self.log()}")
        told = [
            sorted(map(tuple, json.loads((one / "told").read_text())), key=lambda run: run[1]) for one in self.workers
        ]
        times: dict[int, list[float]] = {}
        for n, at in chain.from_iterable(told):
            times.setdefault(n, []).append(at)
        again = {n: runs for n, runs in times.items() if len(runs) > 1}
        if times.keys() != set(range(jobs)) or again:
            what = f"{len(times):,} of {jobs:,} ran, {sum(map(len, told)) - len(times):,} runs too many"
            for n, runs in list(again.items())[:1]:
                what += f": number {n} ran {len(runs)} times, {max(runs) - min(runs):.3g} s apart"
            raise Failed(f"not every job ran exactly once: {what}")
        return told

    def until(self, condition: Callable[[], bool], *, timeout: float, what: str) -> None:
        """Wait for it. Raises Late after `timeout` seconds, Failed if a process has ended."""
        deadline = time.monotonic() + timeout
        while not condition():
            if ended := [child for child in self._children if child.poll() is not None]:
                why = f"a process ended with status {ended[0].returncode}"
                raise Failed(f"{why}, waiting for {what}; log:\n{self.log()}")
            if time.monotonic() > deadline:
                raise Late(f"gave up after {timeout:g} s, waiting for {what}; log:\n{self.log()}")
            time.sleep(0.003)

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
        command = [word.replace("{server}", self.server) for word in self.where.command(words)]
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
        inherited["PYTHONPATH"] = os.pathsep.join(map(str, filter(None, [APPS, self.where.root])))
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"  # the apps' folder stays as it is
        inherited |= {"BENCH_SERVER": self.server, "RQ_REDIS_URL": self.server}
        if self.where.modules is not None:
            inherited["BENCH_MODULES"] = str(self.where.modules)
        return {**inherited, **variables}


class Producer:
    """A process that adds jobs when asked to."""

    def __init__(self, child: subprocess.Popen[str], stage: Stage) -> None:
        self._child = child
        self._stage = stage

    def add(self, jobs: int, *, warm: int) -> tuple[float, float]:
        """Add so many, numbered from 0, the fastest way; return seconds, and CPU seconds, of those after `warm`."""
        took, cpu = self._ask({"do": "add", "jobs": jobs, "warm": warm}, timeout=120)
        return took, cpu

    def each(self, kind: str, first: int, jobs: int) -> tuple[float, float]:
        """Do one of the app's single steps so often; return seconds, and CPU seconds, of all."""
        took, cpu = self._ask({"do": "each", "kind": kind, "first": first, "jobs": jobs}, timeout=120)
        return took, cpu

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
def stage(peer: Peer, where: Place, *, server: str) -> Iterator[Stage]:
    """Give a stage for one run, and end all its processes after it."""
    with tempfile.TemporaryDirectory(prefix=f"workkit-bench-{peer.name}-") as folder:
        it = Stage(peer, where, server=server, folder=Path(folder))
        try:
            yield it
        finally:
            it.close()
